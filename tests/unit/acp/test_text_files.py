"""The file callbacks with real files: what is inside is served, what leads out is refused, races included."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.callbacks import confined
from rekindle.adapters.callbacks.confined import ConfinedFolder, Outside
from rekindle.adapters.callbacks.serving import Callbacks
from rekindle.adapters.callbacks.text_files import MOST_BYTES
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "work-too").mkdir()
    return folder


@pytest.fixture
def callbacks(work: Path, tmp_path: Path) -> Callbacks:
    return Callbacks(str(tmp_path / "session"), str(work), "stamp", 1, str(tmp_path / "run"), {})


def read(callbacks: Callbacks, path: Path | str, **params: Any) -> CallbackResult:
    answer = callbacks.serve("fs/read_text_file", {"sessionId": "s", "path": str(path), **params}, 1)
    assert answer is not None
    return answer


def write(callbacks: Callbacks, path: Path | str, content: str = "new") -> CallbackResult:
    answer = callbacks.serve("fs/write_text_file", {"sessionId": "s", "path": str(path), "content": content}, 1)
    assert answer is not None
    return answer


def refused(answer: CallbackResult, reason: str, words: str) -> None:
    assert isinstance(answer, CallbackRefused)
    assert answer.reason == reason
    assert words in answer.message


@pytest.mark.parametrize(
    ("params", "content"),
    [
        ({}, "one\ntwo\nthree"),
        ({"line": 2}, "two\nthree"),
        ({"line": 0}, "one\ntwo\nthree"),
        ({"limit": 1}, "one\n"),
        ({"line": 2, "limit": 1}, "two\n"),
        ({"line": 3, "limit": 9}, "three"),
        ({"line": 4}, ""),
        ({"limit": 0}, ""),
        ({"line": None, "limit": None}, "one\ntwo\nthree"),
    ],
)
def test_lines_are_read(callbacks: Callbacks, work: Path, params: dict[str, Any], content: str) -> None:
    (work / "a").write_text("one\ntwo\nthree")
    assert read(callbacks, work / "a", **params) == {"content": content}


def test_a_large_file_is_read_in_part_only(callbacks: Callbacks, work: Path) -> None:
    (work / "big").write_text("x" * MOST_BYTES + "\nlast\n")
    refused(read(callbacks, work / "big"), "bad_request", "line and limit")
    assert read(callbacks, work / "big", line=2) == {"content": "last\n"}
    (work / "bells").write_bytes(b"\7" * (MOST_BYTES // 2))
    refused(read(callbacks, work / "bells"), "bad_request", "too large for one answer")


def test_bytes_that_are_no_text_are_said(callbacks: Callbacks, work: Path) -> None:
    (work / "b").write_bytes(b"ok\n\xff\xfe")
    refused(read(callbacks, work / "b"), "bad_request", "byte 3")
    assert read(callbacks, work / "b", limit=1) == {"content": "ok\n"}


@pytest.mark.parametrize("params", [{"line": -1}, {"limit": "3"}, {"line": True}, {"path": 7}, {"path": ""}])
def test_odd_parameters_are_refused(callbacks: Callbacks, work: Path, params: dict[str, Any]) -> None:
    (work / "a").write_text("x")
    answer = callbacks.serve("fs/read_text_file", {"path": str(work / "a"), **params}, 1)
    assert isinstance(answer, CallbackRefused)
    refused(answer, "bad_request", "must be")


def test_what_is_not_there_is_said(callbacks: Callbacks, work: Path) -> None:
    refused(read(callbacks, work / "none"), "not_found", "does not exist")
    refused(read(callbacks, work / "no" / "ne"), "not_found", "does not exist")


def test_a_write_replaces_and_keeps_the_mode(callbacks: Callbacks, work: Path) -> None:
    script = work / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    before = script.stat().st_ino
    assert write(callbacks, script) == {}
    assert script.read_text() == "new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert script.stat().st_ino != before
    assert [one.name for one in work.iterdir()] == ["run.sh"]


def test_folders_are_made_inside(callbacks: Callbacks, work: Path) -> None:
    assert write(callbacks, work / "a" / "b" / "c.txt", "ü\n") == {}
    assert (work / "a" / "b" / "c.txt").read_bytes() == "ü\n".encode()
    assert write(callbacks, work / "a" / "." / "b" / ".." / "d.txt") == {}
    assert (work / "a" / "d.txt").read_text() == "new"


def test_a_working_folder_that_is_itself_reached_by_a_link(work: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(work)
    callbacks = Callbacks(str(tmp_path / "session"), str(tmp_path / "link"), "stamp", 1, str(tmp_path / "run"), {})
    assert write(callbacks, tmp_path / "link" / "a") == {}
    assert read(callbacks, work / "a") == {"content": "new"}


def test_a_link_that_stays_inside_is_followed(callbacks: Callbacks, work: Path) -> None:
    (work / "real").mkdir()
    (work / "real" / "a").write_text("a")
    (work / "alias").symlink_to("real")
    (work / "a").symlink_to("alias/a")
    assert read(callbacks, work / "a") == {"content": "a"}
    assert write(callbacks, work / "a") == {}
    assert (work / "a").is_symlink()
    assert (work / "real" / "a").read_text() == "new"


def ways_out(work: Path) -> list[str]:
    (work / "sub").mkdir()
    (work / "to-file").symlink_to("../secret")
    (work / "to-folder").symlink_to("..")
    (work / "to-root").symlink_to("/")
    (work / "dangling").symlink_to("../not-yet")
    (work / "sub" / "chain").symlink_to("../to-folder")
    return [
        "../secret",
        "sub/../../secret",
        "to-file",
        "to-folder/secret",
        "to-folder/new/file",
        "to-root/etc/passwd",
        "dangling",
        "sub/chain/secret",
        "../work-too/file",
        "to-folder",
    ]


def test_nothing_outside_is_read_or_written(callbacks: Callbacks, work: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    paths = [f"{work}/{way}" for way in ways_out(work)]
    made = [one for one in sorted(tmp_path.rglob("*")) if one not in before]
    for path in [*paths, "/etc/passwd", str(tmp_path / "secret")]:
        refused(read(callbacks, path), "bad_request", "out of the working folder")
        refused(write(callbacks, path), "bad_request", "out of the working folder")
    assert (tmp_path / "secret").read_text() == "secret"
    assert sorted(tmp_path.rglob("*")) == sorted([*before, *made])


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "~/a.txt", "/w\0x"])
def test_a_path_that_is_not_absolute_is_refused(callbacks: Callbacks, path: str) -> None:
    refused(read(callbacks, path), "bad_request", "no absolute path")
    refused(write(callbacks, path), "bad_request", "no absolute path")


def test_only_regular_files_are_opened(callbacks: Callbacks, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(work / "pipe")
    (work / "folder").mkdir()
    monkeypatch.chdir(work)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("door")
        for name in ("pipe", "door"):
            refused(read(callbacks, work / name), "bad_request", "no regular file")
            refused(write(callbacks, work / name), "bad_request", "no regular file")
    for path in (work / "folder", work):
        refused(read(callbacks, path), "bad_request", "is a folder")
        refused(write(callbacks, path), "bad_request", "is a folder")


def test_a_device_is_refused(tmp_path: Path) -> None:
    callbacks = Callbacks(str(tmp_path / "session"), "/dev", "stamp", 1, str(tmp_path / "run"), {})
    refused(read(callbacks, "/dev/zero"), "bad_request", "no regular file")
    refused(write(callbacks, "/dev/null"), "bad_request", "no regular file")


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_that_is_put_into_the_way_after_the_check_is_refused(
    work: Path, tmp_path: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack at the worst moment: between resolving and opening."""
    (work / "sub").mkdir()
    target = work / "sub" / "secret"
    target.write_text("harmless")
    folder = ConfinedFolder(str(work))
    resolve = folder.resolve

    def resolve_and_swap(path: str) -> str:
        real = resolve(path)
        victim = target if swapped == "file" else target.parent
        victim.rename(work / "moved")
        victim.symlink_to(tmp_path / "secret" if swapped == "file" else tmp_path)
        return real

    monkeypatch.setattr(folder, "resolve", resolve_and_swap)
    with pytest.raises(Outside, match="became a link"), folder.open_to_read(str(target)):
        pytest.fail("it was opened")
    monkeypatch.undo()
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_folder_that_is_moved_out_during_a_write_gets_nothing(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "sub").mkdir()
    folder = ConfinedFolder(str(work))
    named = confined._temporary

    def name_and_move(name: str) -> str:
        (work / "sub").rename(tmp_path / "taken")
        return named(name)

    monkeypatch.setattr(confined, "_temporary", name_and_move)
    with pytest.raises(Outside, match="moved out"):
        folder.replace(str(work / "sub" / "a"), b"x")
    assert list((tmp_path / "taken").iterdir()) == []


def test_links_that_change_all_the_time_never_lead_out(work: Path, tmp_path: Path) -> None:
    (work / "real").mkdir()
    (work / "real" / "secret").write_text("harmless")
    (work / "way").symlink_to("real")
    folder = ConfinedFolder(str(work))
    done = threading.Event()

    def flip() -> None:
        for n in range(3000):
            (work / "next").symlink_to(tmp_path if n % 2 else "real")
            (work / "next").rename(work / "way")
        done.set()

    flipper = threading.Thread(target=flip)
    flipper.start()
    seen = set()
    while not done.is_set():
        try:
            with folder.open_to_read(str(work / "way" / "secret")) as fd:
                seen.add(os.read(fd, 100))
            folder.replace(str(work / "way" / "secret"), b"written")
        except (Outside, OSError):
            continue
    flipper.join()
    assert seen <= {b"harmless", b"written"}
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_temporary_file_of_a_dead_writer_is_no_obstacle(callbacks: Callbacks, work: Path) -> None:
    (work / confined._temporary("a")).write_text("half")
    assert write(callbacks, work / "a") == {}
    assert [one.name for one in work.iterdir()] == ["a"]


def test_a_method_that_is_not_served_is_refused(callbacks: Callbacks) -> None:
    answer = callbacks.serve("fs/delete", {}, 1)
    assert isinstance(answer, CallbackRefused)
    assert answer.reason == "not_served"
