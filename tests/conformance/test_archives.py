"""The promises of archives. Nobody has a fake of them: what has to come along are files, a repository and a record."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.adapters.moving.archives_here import ArchivesHere
from rekindle.core.moving import Manifest
from rekindle.core.session import facts as f
from rekindle.places import Places
from rekindle.ports.archives import Archives, ImportTarget
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.settings import load
from tests.packing import Ground

#: Neither a command nor the options of a question are the archive's to give.
STAY_BEHIND = {"gate_wanted", "escalated"}
SECRET = "hush-8f2e41d07c5b"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(load({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}, None))


@pytest.fixture
def archives(places: Places) -> Archives:
    return ArchivesHere(places)


@pytest.fixture
def ground(tmp_path: Path, places: Places) -> Ground:
    return Ground(tmp_path, Path(places.sessions))


def written(archives: Archives, ground: Ground, *, with_secrets: bool = False) -> Manifest:
    environment = {**ground.environment, "SHOP_API_KEY": SECRET}
    done = archives.write("s1", ground.texts(), str(ground.archive), environment, with_secrets=with_secrets)
    assert done.notes == [], "nothing is missing"
    return done.manifest


def everything(*folders: Path) -> dict[str, bytes]:
    """All files below some folders, and what is in them."""
    return {str(path): path.read_bytes() for top in folders for path in sorted(top.rglob("*")) if path.is_file()}


def told_in(staged: str) -> list[dict[str, Any]]:
    """The facts of a session that waits for the daemon to take it over."""
    return [json.loads(line) for line in (Path(staged) / "imported.jsonl").read_bytes().splitlines()]


def test_what_is_written_can_be_put_in_place_under_another_name(archives: Archives, ground: Ground) -> None:
    assert archives.sessions == str(ground.sessions)
    manifest = written(archives, ground)
    asked: list[Manifest] = []
    taken: list[tuple[ImportTarget, list[str]]] = []

    def choose(found: Manifest) -> ImportTarget:
        asked.append(found)
        return ground.place("s9", "new-token")

    def take_over(place: ImportTarget, staged: str) -> None:
        taken.append((place, sorted(os.listdir(staged))))
        facts = told_in(staged)
        assert facts[0]["session"] == "s9"
        assert {one["fact"] for one in facts} == {json.loads(text)["fact"] for text in ground.texts()} - STAY_BEHIND
        assert facts[-1]["fact"] == "imported"

    arrival = archives.put_in_place(str(ground.archive), choose, take_over)
    assert asked == [arrival.manifest] == [manifest]
    assert (manifest.session, manifest.agent, manifest.counts["facts"]) == ("s1", "scripted", len(ground.facts))
    [(place, staged)] = taken
    assert (place.session, "imported.jsonl" in staged, "session.json" in staged) == ("s9", True, True)
    assert (ground.home / "new-token.jsonl").read_bytes() == ground.record.read_bytes()
    assert "refs/rekindle/s9/" in ground.git("for-each-ref")
    assert arrival.notes == []


@pytest.mark.parametrize("trusted", [frozenset(), frozenset({"permission"})])
def test_what_an_archive_asks_for_is_told_and_counts_only_if_it_is_trusted(
    archives: Archives, ground: Ground, trusted: frozenset[str]
) -> None:
    created = ground.facts[0]
    assert isinstance(created, f.Created)
    ground.facts[0] = replace(created, permission="all")
    written(archives, ground)
    permissions: list[str] = []

    def take_over(_: ImportTarget, staged: str) -> None:
        permissions.append(told_in(staged)[0].get("permission", "edits"))

    place = replace(ground.place("s9", "t9"), trusted=trusted)
    arrival = archives.put_in_place(str(ground.archive), lambda _: place, take_over)
    assert {wish.key: (wish.value, wish.counts) for wish in arrival.wishes}["permission"] == ("all", bool(trusted))
    assert permissions == (["all"] if trusted else ["edits"])


@pytest.mark.parametrize("with_secrets", [False, True])
def test_secrets_of_the_caller_stay_here_unless_they_are_wanted(
    archives: Archives, ground: Ground, with_secrets: bool
) -> None:
    ground.record.write_text(json.dumps({"kind": "user", "text": f"the key is {SECRET}"}) + "\n")
    manifest = written(archives, ground, with_secrets=with_secrets)
    with tarfile.open(ground.archive) as packed:
        contents = [member.read() for one in packed.getmembers() if (member := packed.extractfile(one)) is not None]
    assert any(SECRET.encode() in content for content in contents) is with_secrets
    assert (manifest.with_secrets, bool(manifest.masked)) == (with_secrets, not with_secrets)


def test_writing_changes_nothing_of_the_session(archives: Archives, ground: Ground) -> None:
    before = everything(ground.sessions, ground.home), ground.git("for-each-ref"), ground.git("status", "--porcelain")
    written(archives, ground)
    assert before == (
        everything(ground.sessions, ground.home),
        ground.git("for-each-ref"),
        ground.git("status", "--porcelain"),
    )


def test_an_archive_that_cannot_be_written_leaves_nothing(archives: Archives, ground: Ground, tmp_path: Path) -> None:
    with pytest.raises((RekindleError, OSError)):
        archives.write("s1", ground.texts(), str(tmp_path / "no" / "a.tar.gz"), {}, with_secrets=False)
    for facts in ([], ["no fact at all"]):
        with pytest.raises(RekindleError):
            archives.write("s1", facts, str(ground.archive), {}, with_secrets=False)
    assert not list(tmp_path.glob("**/a.tar.gz*"))


@pytest.mark.parametrize("who", ["choose", "take_over", "nobody"])
def test_an_import_that_is_refused_leaves_nothing(archives: Archives, ground: Ground, places: Places, who: str) -> None:
    """The one who chooses refuses, or the daemon does, or it is no archive: then nobody is asked at all."""
    written(archives, ground)
    asked: list[str] = []

    def choose(_: Manifest) -> ImportTarget:
        asked.append("choose")
        if who == "choose":
            raise UsageError("not here", "nowhere")
        return ground.place("s9", "new-token")

    def take_over(_: ImportTarget, staged: str) -> None:
        asked.append("take_over")
        assert os.path.isdir(staged)
        raise OwnedError("somebody was quicker")

    if who == "nobody":
        ground.archive.write_bytes(b"no archive" * 100)
    before = everything(ground.sessions, ground.home), ground.git("for-each-ref")
    with pytest.raises(RekindleError):
        archives.put_in_place(str(ground.archive), choose, take_over)
    assert asked == {"choose": ["choose"], "take_over": ["choose", "take_over"], "nobody": []}[who]
    assert before == (everything(ground.sessions, ground.home), ground.git("for-each-ref"))
    assert everything(Path(places.state)).keys() <= before[0].keys(), "nothing is left of what was unpacked"
