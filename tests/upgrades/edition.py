"""An edition in its folder: made, put back, and what was recorded of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rekindle
from tests.e2e.features import Shop
from tests.upgrades import disguise, packing, place, stories
from tests.upgrades.told import tell

EDITIONS = Path(__file__).parent / "editions"
#: Of which session the archive is.
_EXPORTED = "interrupted"


@dataclass(frozen=True)
class Edition:
    """What one version has left."""

    folder: Path

    @property
    def machine(self) -> Path:
        """The user's home and repository."""
        return self.folder / "machine.tar.gz"

    @property
    def archive(self) -> Path:
        """A session, as `rekindle export` wrote it."""
        return self.folder / "session.tar.gz"

    @property
    def told(self) -> Path:
        """What rekindle said of it, and by which story each session came about."""
        return self.folder / "told.json"

    def recorded(self) -> dict[str, Any]:
        """The content of `told`."""
        found: dict[str, Any] = json.loads(self.told.read_bytes())
        return found

    def put_back(self) -> None:
        """Have it be this machine's own: all that ran is dead, and nothing else has changed. The place is held."""
        place.make()
        packing.unpack(self.machine, place.PLACE)
        disguise.move(place.PLACE, disguise.here())


def editions() -> list[Edition]:
    """Those that are committed, by name."""
    return [Edition(folder) for folder in sorted(EDITIONS.iterdir()) if folder.is_dir()]


def make(name: str) -> Edition:
    """Make an edition with the version that runs now, in place of one of the same name."""
    edition = Edition(EDITIONS / name)
    edition.folder.mkdir(parents=True, exist_ok=True)
    with place.held():
        named, status = _made(edition)
    told = {"rekindle": rekindle.__version__, "named": named, "exported": named[_EXPORTED], **_recorded(edition)}
    now = {session: about["status"] for session, about in told["sessions"].items()}
    assert status == now, "it is not any more what was packed"
    edition.told.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    _refuse_traces(edition)
    return edition


def _made(edition: Edition) -> tuple[dict[str, str], dict[str, str]]:
    """Pack what the stories leave; returns the sessions by story, and their status when everything had ended."""
    workshop = place.workshop()
    try:
        named = stories.tell(Shop(workshop))
    finally:
        Shop(workshop).kill_everything()
    status = {row["id"]: row["status"] for row in workshop.json("ps", "--all")["sessions"]}
    disguise.move(place.PLACE, disguise.NOWHERE)
    edition.archive.unlink(missing_ok=True)
    workshop.ok("export", named[_EXPORTED], "-o", str(edition.archive))
    edition.archive.chmod(0o644)
    packing.pack(place.PLACE, place.KEPT, edition.machine)
    return named, status


def _refuse_traces(edition: Edition) -> None:
    with place.held():
        place.make()
        packing.unpack(edition.machine, place.PLACE)
        found = [one for root in (place.PLACE, edition.folder) for one in disguise.traces(root, place.WORK)]
    assert not found, f"this machine can be recognised: {found}"


def _recorded(edition: Edition) -> dict[str, Any]:
    with place.held():
        edition.put_back()
        machine = place.machine()
        try:
            return tell(machine)
        finally:
            machine.clean_up()
