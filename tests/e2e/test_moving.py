"""A session moves from one machine to another: two HOMEs, two clones, the real scripted agent."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)
SECRET = "tr0ub4dor&3-and-more"


def git(machine: Machine, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
        cwd=machine.work,
        env=machine.environment(GIT_OPTIONAL_LOCKS="0"),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    """Two machines with a clone each of one repository."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        here = Machine(Path(folder, "a", "home"), Path(folder, "a", "work"))
        there = Machine(Path(folder, "b", "house"), Path(folder, "b", "elsewhere"))
        for one in (here, there):
            one.home.mkdir(parents=True)
        here.work.mkdir()
        git(here, "init", "-q", "-b", "main")
        (here.work / "tracked.txt").write_text("one\n")
        git(here, "add", "-A")
        git(here, "commit", "-q", "-m", "begin")
        subprocess.run(["git", "clone", "-q", str(here.work), str(there.work)], check=True)
        yield here, there
        for one in (here, there):  # both first: on one machine, processes of one id are told apart by nobody
            one.run("stop", "--all")
        for one in (here, there):
            one.clean_up()
            assert one.stamped() == []


def exported(machine: Machine, session: str, *options: str) -> Path:
    target = machine.home.parent / f"{session}.tar.gz"
    machine.ok("export", session, "-o", str(target), *options)
    return target


def contents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def test_a_conversation_goes_on_on_another_machine(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.ok("run", "say my favourite bird is the albatross\nwrite notes.txt precious")
    [row] = here.json("ps")["sessions"]
    session = row["id"]
    archive = exported(here, session)
    assert archive.read_bytes() == exported(here, session).read_bytes()

    told = there.ok("import", str(archive), "--cwd", str(there.work))
    assert f"{session}: imported, asleep" in told
    assert there.status(session) == "asleep"
    assert there.show(session)["cwd"] == str(there.work)
    assert "albatross" in there.said(session)
    assert [one["session"] for one in there.json("search", "albatross", "--limit", "1")["hits"]] == [session]
    [*_, last] = there.json("snapshots", session)["snapshots"]
    assert "the same conversation" in there.ok("resume", session)
    there.ok("send", session, "recall", "--follow")
    assert 'I have seen: ["say my favourite bird is the albatross' in there.said(session)

    there.ok("stop", session, "--sleep")
    there.ok("restore", session, "--at", last["id"], "--to", str(there.work.parent / "back"))
    assert (there.work.parent / "back" / "notes.txt").read_text() == "precious"
    assert here.status(session) == "asleep"


def test_a_session_that_worked_is_interrupted_there_and_can_be_told_to_go_on(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    session = here.begin("write a.txt 1", "stream 4000 0.05 word", "say done at last", options=("--policy", "continue"))
    here.until_said(session, "word3")
    archive = exported(here, session)
    assert here.status(session) == "working"
    here.ok("stop", session)
    told = json.loads(there.ok("import", str(archive), "--cwd", str(there.work), "--json"))
    assert (told["id"], told["status"]) == (session, "interrupted")
    assert there.show(session)["attempt"] == 1
    assert "the same conversation" in there.ok("resume", session)
    there.until_said(session, "done at last")
    assert "its outcome is unknown; I do not repeat it" in there.said(session)


def test_secrets_stay_behind_unless_they_are_asked_for(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.ok("run", f"say my phrase is {SECRET}\nwrite .env API_TOKEN={SECRET}\nwrite ok.txt fine", DEPLOY_TOKEN=SECRET)
    [row] = here.json("ps")["sessions"]
    archive = exported(here, row["id"])
    for name, data in contents(archive).items():
        assert SECRET.encode() not in data, name
        assert "environment.json" not in name
    manifest = json.loads(contents(archive)["manifest.json"])
    assert manifest["masked_files"] == [".env"]
    assert "DEPLOY_TOKEN" in manifest["environment"]
    assert manifest["masked"]["DEPLOY_TOKEN"] > 3
    there.ok("import", str(archive), "--cwd", str(there.work))
    assert "my phrase is [masked:DEPLOY_TOKEN]" in there.said(row["id"])
    assert "the same conversation" in there.ok("resume", row["id"])
    there.ok("restore", row["id"], "--at", "~0", "--to", str(there.work.parent / "back"))
    assert (there.work.parent / "back" / ".env").read_text() == "API_TOKEN=[masked:DEPLOY_TOKEN]"
    assert (there.work.parent / "back" / "ok.txt").read_text() == "fine"

    whole = contents(exported(here, row["id"], "--with-secrets"))
    assert SECRET.encode() in whole["transcript"] and SECRET.encode() in whole["session/1/out"]
    assert SECRET.encode() not in whole["session/1/spec.json"] or b'"env": {}' in whole["session/1/spec.json"]


def test_what_only_the_vault_has_is_found_and_goes_along(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.ok("run", "say my favourite bird is the albatross")
    [row] = here.json("ps")["sessions"]
    here.ok("serve", "--stop")
    here.ok("gc")
    assert not Path(here.folder(row["id"]), "out").exists()
    assert [one["kind"] for one in here.json("search", "albatross")["hits"]] == ["said", "prompt"]
    archive = exported(here, row["id"])
    assert b"albatross" in contents(archive)["session/1/out"]
    there.ok("import", str(archive))
    assert "albatross" in there.said(row["id"])


def test_an_id_that_is_here_is_refused_and_a_new_one_has_a_conversation_of_its_own(
    machines: tuple[Machine, Machine],
) -> None:
    here, _ = machines
    here.ok("run", "say one")
    [row] = here.json("ps")["sessions"]
    archive = exported(here, row["id"])
    refused = here.run("import", str(archive))
    assert (refused.returncode, "--as-new" in refused.stderr) == (4, True)
    told = json.loads(here.ok("import", str(archive), "--as-new", "--json"))
    assert told["id"] != row["id"]
    assert "the same conversation" in here.ok("resume", told["id"])
    here.ok("send", told["id"], "say only in the copy", "--follow")
    here.ok("stop", told["id"], "--sleep")
    assert "the same conversation" in here.ok("resume", row["id"])
    tokens = {here.show(one)["session"]["token"] for one in (row["id"], told["id"])}
    assert len(tokens) == 2
    assert "only in the copy" not in here.said(row["id"])


def state(machine: Machine) -> list[str]:
    """Everything below a home that an import could leave behind."""
    daemon = ("daemon.", "store.db", "errors.log", "search.db")
    found = [str(path.relative_to(machine.home)) for path in machine.home.rglob("*")]
    return sorted(one for one in found if not os.path.basename(one).startswith(daemon))


def repacked(archive: Path, change: dict[str, tarfile.TarInfo | bytes | None]) -> Path:
    """The archive with some members replaced, added or (None) left out."""
    target = archive.with_name("changed.tar.gz")
    with tarfile.open(target, "w:gz") as tar:
        for name, data in [*contents(archive).items(), *((name, b"") for name in change if name.startswith("+"))]:
            new = change.get(name, data)
            if isinstance(new, tarfile.TarInfo):
                tar.addfile(new)
            elif new is not None:
                info = tarfile.TarInfo(name)
                info.size = len(new)
                tar.addfile(info, io.BytesIO(new))
    return target


def info(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def test_a_bad_archive_is_refused_and_nothing_is_left(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.ok("run", "say one\nwrite a.txt 1")
    [row] = here.json("ps")["sessions"]
    archive = exported(here, row["id"])
    assert there.run("import", "/nonexistent").returncode == 2
    assert there.run("import", os.devnull).returncode == 2  # it makes the folders of a first daemon, which stay
    before, refs = state(there), git(there, "for-each-ref")
    manifest = json.loads(contents(archive)["manifest.json"])

    def with_manifest(**changes: object) -> Path:
        return repacked(archive, {"manifest.json": json.dumps({**manifest, **changes}).encode()})

    def with_path(path: str) -> Path:
        members = [*manifest["members"], {"path": path, "size": 0, "sha256": ""}]
        return with_manifest(members=members)

    def written(data: bytes) -> Path:
        target = archive.with_name("written.tar.gz")
        target.write_bytes(data)
        return target

    whole = archive.read_bytes()
    bad: dict[str, Callable[[], Path]] = {
        "empty": lambda: written(b""),
        "text": lambda: written(b"hello" * 100),
        "cut": lambda: written(whole[: len(whole) // 2]),
        "cut at the end": lambda: written(whole[:-30]),
        "empty tar": lambda: written(gzip.compress(bytes(10240))),
        "flipped": lambda: written(whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:]),
        "version": lambda: with_manifest(version=3),
        "an earlier version": lambda: with_manifest(version=1),
        "format": lambda: with_manifest(format="else"),
        "id": lambda: with_manifest(session="../../x"),
        "traversal": lambda: with_path("session/../../x"),
        "absolute": lambda: with_path("/etc/passwd"),
        "size": lambda: with_manifest(members=[{**one, "size": one["size"] + 1} for one in manifest["members"]]),
        "huge": lambda: with_manifest(members=[{"path": "facts.jsonl", "size": 1 << 50, "sha256": ""}]),
        "missing": lambda: repacked(archive, {"transcript": None}),
        "content": lambda: repacked(archive, {"facts.jsonl": b"x" * len(contents(archive)["facts.jsonl"])}),
        "link": lambda: repacked(archive, {"transcript": info("transcript", tarfile.SYMTYPE, "/etc/passwd")}),
        "hard link": lambda: repacked(archive, {"transcript": info("transcript", tarfile.LNKTYPE, "facts.jsonl")}),
        "device": lambda: repacked(archive, {"transcript": info("transcript", tarfile.CHRTYPE)}),
        "extra": lambda: repacked(archive, {"+extra": b"x"}),
        "no agent": lambda: with_manifest(agent="nosuch"),
    }
    for why, make in bad.items():
        done = there.run("import", str(make()))
        assert (done.returncode, "Traceback" in done.stderr, bool(done.stderr)) == (2, False, True), (why, done.stderr)
        assert (state(there), git(there, "for-each-ref")) == (before, refs), why
    assert there.run("import", str(archive), "--cwd", "/nonexistent").returncode == 2
    assert f"{row['id']}: imported" in there.ok("import", str(archive))
    assert until(lambda: there.json("snapshots", row["id"])["snapshots"])
