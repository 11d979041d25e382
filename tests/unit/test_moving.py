"""Sessions that move: what their facts become, which paths an archive may have, and that a failure leaves nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.moving.importing import put_in_place
from rekindle.adapters.session_folder.rebuild import rebuild
from rekindle.adapters.session_folder.session_file import write_session_file
from rekindle.adapters.snapshots import taking
from rekindle.core.moving import FOLDER, at_rest, folded, is_id, moved, why_not_member
from rekindle.core.session import facts as f
from rekindle.core.session.facts import Cut
from rekindle.ports.archives import ImportTarget
from rekindle.ports.errors import OwnedError, RekindleError
from tests.packing import Ground
from tests.sessions import a_life

LIFE = a_life("s1")


@given(st.integers(1, len(LIFE)))
def test_wherever_a_session_is_cut_it_is_at_rest_on_the_other_machine(length: int) -> None:
    before = folded(LIFE[:length])
    assert before is not None
    facts = moved(LIFE[:length], session="s2", cwd="/there", folder="/state/s2")
    arrived = folded(facts)
    assert arrived is not None
    rest = at_rest(arrived, 99.0, Cut(said="half"))
    after = folded([*facts, *rest])
    assert after is not None
    assert not after.is_up
    assert (after.id, after.cwd, after.token, len(after.prompts)) == ("s2", "/there", before.token, len(before.prompts))
    assert all(attempt.folder in ("", f"/state/s2/{attempt.number}") for attempt in after.attempts)
    assert at_rest(after, 100.0, Cut()) == []
    if before.is_up and before.turn is not None and before.attempt and before.attempt.status != "launching":
        assert after.turn is not None and after.turn.state == "cut"


def test_nothing_starts_by_itself_after_a_move() -> None:
    created = f.Created(at=1.0, session="s1", agent="scripted", cwd="/w", policy="continue", worktree="/w", branch="b")
    [found] = moved([created], session="s1", cwd="/there", folder="/x")
    assert isinstance(found, f.Created)
    assert (found.policy, found.worktree, found.branch) == ("ask", None, None)


@given(st.text(max_size=30) | st.lists(st.sampled_from(["session", "/", "..", ".", "a", "\\", "\0", "-"])).map("".join))
def test_no_path_of_an_archive_leads_out_of_its_folder(text: str) -> None:
    for path in (text, FOLDER + text):
        if why_not_member(path) is None:
            place = os.path.normpath(os.path.join("/stage", *path.split("/")))
            assert place == f"/stage/{path}"


@given(st.text(max_size=45))
def test_an_id_can_be_a_folder_and_a_ref(text: str) -> None:
    if is_id(text):
        assert text.isalnum() and "/" not in text and taking.namespace_of(text) == f"refs/rekindle/{text}/"


def test_an_archive_that_finds_no_room_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rekindle.adapters.moving.archive._add", full)
    with pytest.raises(RekindleError, match=r"a\.tar\.gz could not be written \(No space"):
        ground.export()
    assert not list(tmp_path.glob("a.tar.gz*"))


def test_an_import_that_fails_at_its_end_leaves_nothing(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    manifest = ground.export()
    assert (manifest.counts["snapshots"], manifest.status) == (1, "interrupted")
    staging = tmp_path / "imports"
    refs, files = ground.git("for-each-ref"), sorted(ground.home.iterdir())

    def refuse(_: ImportTarget, folder: str) -> None:
        assert (Path(folder) / "imported.jsonl").exists()
        assert len(list(ground.home.iterdir())) == 2
        assert "refs/rekindle/s9/" in ground.git("for-each-ref")
        raise OwnedError("somebody was quicker")

    with pytest.raises(OwnedError):
        put_in_place(str(ground.archive), lambda _: ground.place("s9", "new-token"), refuse, str(staging), 5.0)
    assert ground.git("for-each-ref") == refs
    assert sorted(ground.home.iterdir()) == files
    assert list(staging.iterdir()) == []


def test_an_import_that_fails_takes_nothing_from_another_of_the_same_session(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.export()
    ground.record.unlink()
    (tmp_path / "i" / "import-of-one-that-was-killed").mkdir(parents=True)

    def start(take_over: Callable[[ImportTarget, str], None]) -> None:
        put_in_place(str(ground.archive), lambda _: ground.place("s9"), take_over, str(tmp_path / "i"), 5.0)

    with ThreadPoolExecutor(1) as pool:
        others: list[Future[None]] = []

        def lose(_: ImportTarget, __: str) -> None:
            others.append(pool.submit(start, lambda *_: None))
            wait(others, timeout=1.0)
            raise OwnedError("somebody was quicker")

        with pytest.raises(OwnedError):
            start(lose)
        others[0].result()
    assert ground.record.exists()
    assert "refs/rekindle/s9/" in ground.git("for-each-ref")
    assert list((tmp_path / "i").iterdir()) == []


def test_a_record_that_says_something_else_is_never_overwritten(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.export()
    ground.record.write_text('{"kind":"user","text":"it has gone on"}\n')
    with pytest.raises(RekindleError, match="says something else"):
        put_in_place(str(ground.archive), lambda _: ground.place("s9"), lambda *_: None, str(tmp_path / "i"), 5.0)
    assert "gone on" in ground.record.read_text()
    assert "refs/rekindle/s9/" not in ground.git("for-each-ref")


def test_an_imported_session_can_be_rebuilt_from_its_folder(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.export()

    def keep(place: ImportTarget, folder: str) -> None:
        os.rename(folder, ground.sessions / place.session)
        created = json.loads((ground.sessions / "s9" / "imported.jsonl").read_bytes().splitlines()[0])
        assert (created["session"], created["cwd"]) == ("s9", str(ground.repo))
        write_session_file(
            ground.sessions / "s9", f.Created(at=1.0, session="s9", agent="scripted", cwd=created["cwd"])
        )

    put_in_place(str(ground.archive), lambda _: ground.place("s9", "new-token"), keep, str(tmp_path / "i"), 5.0)
    [one] = rebuild(ground.sessions, known={"s1"}).sessions
    before = folded(ground.facts)
    assert before is not None
    assert (one.session.id, one.session.token) == ("s9", "new-token")
    assert [prompt.text for prompt in one.session.prompts] == [prompt.text for prompt in before.prompts]
