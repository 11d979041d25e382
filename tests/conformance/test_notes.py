"""What one conversation leaves for the next: the notes of its skill session, and files of its work tree."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from rekindle.adapters.skill_folder.conversation_notes import ConversationNotes
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skill_folder.supervised import SupervisedSkillsHere
from rekindle.core.session.state import Session
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.lifecycle import begun, closed, continued, proved
from rekindle.core.skill.state import SkillResume
from rekindle.ports.notes import ContextNotes, NoNotes
from tests.sessions import created, folded
from tests.skills import claimant, skill

NOTES = DehydratedContext("Find the leak", "read it", ["fix it"], ["pool.py"])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """One whose agent works in a repository."""
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (work / ".git" / name).mkdir()
    (work / "pool.py").write_text("def pool():\n    return 1\n")
    return msgspec.structs.replace(folded([created("brave-otter")]), cwd=str(work))


@pytest.fixture
def folders(tmp_path: Path) -> SkillFoldersHere:
    stamp = {"REKINDLE_STAMP": "rekindle-0123456789ab-brave-otter"}
    return SkillFoldersHere(str(tmp_path / "work" / "sessions"), str(tmp_path / "state"), stamp, time.time)


@pytest.fixture
def notes(tmp_path: Path, folders: SkillFoldersHere) -> ContextNotes:
    state = str(tmp_path / "state")
    return ConversationNotes(SupervisedSkillsHere(state, folders.read), folders, state, time.time)


def _claimed(folders: SkillFoldersHere, session: Session) -> str:
    folder = os.path.join(session.cwd, "sessions", "login")
    folders.change(folder, lambda _: begun(skill(), folders.me(os.getpid()), {}))
    folders.remember(folder, folders.me(os.getpid()))
    return folder


@pytest.mark.parametrize("real", [True, False])
def test_without_a_skill_session_nothing_is_left_or_given(notes: ContextNotes, session: Session, real: bool) -> None:
    there: ContextNotes = notes if real else NoNotes()
    there.asked(session, 0.8)
    there.leave(session, NOTES)
    assert there.skill_of(session) is None and there.skill_text(session, None) is None


def test_notes_are_left_once_and_given_until_they_are_acknowledged(
    notes: ContextNotes, folders: SkillFoldersHere, session: Session
) -> None:
    folder = _claimed(folders, session)
    held = notes.skill_of(session)
    assert held is not None and held.context is None and notes.skill_text(session, None) is None
    notes.leave(session, NOTES)
    notes.leave(session, DehydratedContext("something else"))
    held = notes.skill_of(session)
    assert held is not None and held.context == NOTES, "notes that are there stay"
    notes.leave(session, DehydratedContext("something else"), DehydratedContext("others"))
    assert notes.skill_of(session) == held
    notes.leave(session, DehydratedContext("something else"), NOTES)
    notes.leave(session, NOTES, DehydratedContext("something else"))
    assert notes.skill_of(session) == held, "unless they were used: then they give way"
    text = notes.skill_text(session, None)
    assert text is not None and "| Find the leak" in text and "|     return 1" in text
    folders.change(folder, lambda state: continued(state or begun(skill(), claimant(), {}), folders.me(os.getpid())))
    assert notes.skill_text(session, None) is None


def test_notes_are_left_for_a_conversation_that_came_back_with_some_and_finished_no_turn(
    notes: ContextNotes, folders: SkillFoldersHere, session: Session
) -> None:
    folder = _claimed(folders, session)
    back = SkillResume("now", "Continue", {"resumePath": "fast"})
    folders.change(folder, lambda state: proved(state or begun(skill(), claimant(), {}), back))
    notes.leave(session, NOTES)
    text = notes.skill_text(session, None)
    assert text is not None and "| Find the leak" in text, "that conversation is left, whatever came of it"
    folders.change(folder, lambda state: closed(state or begun(skill(), claimant(), {}), "now"))
    notes.leave(session, DehydratedContext("something else"), NOTES)
    state = folders.read(folder)
    assert state is not None and state.dehydrated_context == NOTES, "what is over takes none"


def test_while_the_agent_is_asked_its_skill_session_is_dehydrating_and_notes_that_are_there_stay(
    notes: ContextNotes, folders: SkillFoldersHere, session: Session
) -> None:
    folder = _claimed(folders, session)
    for _ in range(2):
        notes.asked(session, 0.8)
        state = folders.read(folder)
        assert state is not None and state.overflowed
        assert (state.lifecycle, state.context_usage) == ("dehydrating", 0.8)
    notes.leave(session, NOTES)
    notes.asked(session, 0.9)
    state = folders.read(folder)
    assert state is not None and (state.lifecycle, state.dehydrated_context) == ("restarting", NOTES)


def test_a_damaged_state_counts_as_none(notes: ContextNotes, folders: SkillFoldersHere, session: Session) -> None:
    folder = _claimed(folders, session)
    Path(folder, ".state.json").write_text('{"pid": ')
    notes.leave(session, NOTES)
    assert notes.skill_of(session) is None and notes.skill_text(session, None) is None
    assert Path(folder, ".state.json").read_text() == '{"pid": '


def test_files_of_the_work_tree_are_given_and_no_others(notes: ContextNotes, session: Session) -> None:
    Path(session.cwd).parent.joinpath("secret").write_text("TOP-SECRET")
    given = "\n".join(notes.files(session, ["pool.py", "../secret", "missing.py"], None, "5c1d9a0b7e3f2468"))
    assert "|     return 1" in given and "TOP-SECRET" not in given and "missing.py" in given
    assert NoNotes().files(session, ["pool.py"], None, "5c1d9a0b7e3f2468") == []
