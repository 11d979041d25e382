"""What the HTTP door keeps: its papers, and the answers to requests that carried a key."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rekindle.adapters.http_door.door_files import DoorFiles
from rekindle.adapters.http_door.kept_answers import AnswerFiles
from rekindle.ports.http_door import DoorPapers, DoorRecord
from rekindle.ports.kept_answers import KeptAnswer, KeptAnswers
from tests.unit.test_http_repeats import Kept


@pytest.fixture(params=["memory", "files"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> KeptAnswers:
    return Kept() if request.param == "memory" else AnswerFiles(str(tmp_path / "answers"))


def test_an_answer_is_found_as_it_was_kept_until_it_is_replaced_or_dropped(kept: KeptAnswers) -> None:
    assert kept.get("a") is None
    kept.drop("a")
    kept.put("a", KeptAnswer(digest="d"))
    kept.put("b", KeptAnswer(digest="e", status=200, kind="application/json", body=b"{}"))
    kept.put("a", KeptAnswer(digest="d", status=404))
    assert kept.get("a") == KeptAnswer(digest="d", status=404)
    kept.drop("a")
    assert kept.get("a") is None and kept.get("b") == KeptAnswer(
        digest="e", status=200, kind="application/json", body=b"{}"
    )


def test_answers_on_disk_are_for_this_user_only_and_half_a_file_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    AnswerFiles(str(folder)).put("a", KeptAnswer(digest="d", status=200, body=b"x" * 100))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and stat.S_IMODE((folder / "a").stat().st_mode) == 0o600
    assert AnswerFiles(str(folder)).get("a") is not None, "the next daemon knows it"
    (folder / "a").write_bytes((folder / "a").read_bytes()[:20])
    assert AnswerFiles(str(folder)).get("a") is None


@pytest.fixture
def papers(tmp_path: Path) -> DoorPapers:
    return DoorFiles(str(tmp_path / "run" / "http"))


def test_a_door_that_nobody_closed_is_found_again_in_its_place(papers: DoorPapers) -> None:
    assert not papers.is_open() and papers.record() is None
    papers.closed()
    there = DoorRecord(address="127.0.0.1", port=8400, behind=("work.example.net",))
    papers.keep(there)
    assert papers.is_open() and papers.record() == there
    papers.closed()
    assert not papers.is_open() and papers.record() is None


def test_the_secrets_stay_until_new_ones_are_asked_for_and_nobody_else_reads_them(papers: DoorPapers) -> None:
    first = papers.secrets()
    assert papers.secrets() == first and first[0] != first[1] and min(map(len, first)) >= 32
    for path, secret in zip((papers.secret_file, papers.reading_file), first, strict=True):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert Path(path).read_text().strip() == secret
    there = papers.secrets("127.0.0.1:8400")
    assert papers.secrets("127.0.0.1:8400") == there
    assert set(papers.secrets("127.0.0.1:8401")).isdisjoint(there), "those of another place are over"
    assert set(papers.secrets(new=True)).isdisjoint(first)
    Path(papers.secret_file).write_text("short\n")
    assert len(papers.secrets()[0]) >= 32, "a damaged secret is not used"


def test_a_link_is_a_file_for_this_user_that_leads_on_and_goes(papers: DoorPapers) -> None:
    path = papers.redirect('http://127.0.0.1:8400/#code="><script>')
    text = Path(path).read_text()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and "<script>" not in text and "#code=" in text
    papers.drop(path)
    papers.drop(path)
    assert not os.path.exists(path)
    left = papers.redirect("http://127.0.0.1:8400/")
    papers.closed()
    assert not os.path.exists(left)
