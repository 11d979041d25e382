"""A session's folder: every file is named once, and everybody means the same one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder, attempt_of, session_folder
from rekindle.adapters.vault import lengths
from rekindle.core.moving import FOLDER, SNAPSHOTS, why_not_member
from rekindle.keeper.spec import Layout

SOURCES = Path(__file__).parents[2] / "src" / "rekindle"
NAMED = ("session.json", "imported.jsonl", "environment.json", "handovers.json", "snapshot.owed", "vault.json")


def test_the_spools_are_those_of_the_keeper() -> None:
    there = Layout("")
    assert (there.input, there.out) == SPOOLS


def test_what_an_archive_takes_is_what_lies_there() -> None:
    here = SessionFolder("")
    taken = {here.session_file, here.imported, here.handovers}
    assert {one for one in NAMED if why_not_member(FOLDER + one) is None} == taken
    assert all(why_not_member(os.path.join(FOLDER, here.attempt(1), name)) is None for name in SPOOLS)
    assert here.snapshots == SNAPSHOTS
    assert lengths.place(here.vault) == "vault.json"


def test_attempts_are_listed_in_their_order_and_nothing_else_is(tmp_path: Path) -> None:
    own = session_folder(str(tmp_path), "s")
    assert own.attempts() == []
    for name in ("10", "9", "1", "01", "x", "٣", "vault", "terminals"):
        os.makedirs(os.path.join(own.path, name))
    assert own.attempts() == [1, 9, 10]
    found, number = attempt_of(own.attempt(9))
    assert (found.path, number) == (own.path, 9)


def test_no_other_module_names_the_files_of_a_session() -> None:
    """An archive has names of its own, which `test_what_an_archive_takes_is_what_lies_there` holds to these."""
    allowed = {"adapters/session_folder/layout.py", "core/moving.py"}
    naming = re.compile("|".join(f'"{re.escape(one)}"' for one in NAMED))
    found = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if naming.search(path.read_text("utf-8"))}
    assert found - allowed == set()
