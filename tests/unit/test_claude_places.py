"""Where Claude Code keeps a conversation: the folders here are those that the real program (2.1.197) made."""

from __future__ import annotations

import pytest

from rekindle.agents.base.transcript import NoPlace
from rekindle.agents.claude.transcript import ClaudeTranscript

TOKEN = "00000000-0000-4000-8000-000000000000"
LONG = "/home/dev/long/" + "a" * 100 + "/"
DEEP = "/home/dev/deep" + ("/" + "d" * 40) * 8


def place(cwd: str, **environment: str) -> str:
    return ClaudeTranscript().place(environment, cwd, TOKEN)


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/dev/project", "-home-dev-project"),
        ("/home/dev/my_project.v2 (old)", "-home-dev-my-project-v2--old-"),
        ("/home/dev/zażółć/gęślą jaźń", "-home-dev-za-----g--l--ja--"),
        ("/home/dev/smile😀y", "-home-dev-smile--y"),
        ("/home/dev/cafe\u0301", "-home-dev-cafe-"),
        (LONG + "b" * 84, "-home-dev-long-" + "a" * 100 + "-" + "b" * 84),
        (LONG + "b" * 85, "-home-dev-long-" + "a" * 100 + "-" + "b" * 84 + "-wkfwol"),
        (
            "/home/dev/long/" + "ż" * 60 + "/" + "😀" * 50 + "/" + "c" * 60,
            "-home-dev-long" + "-" * 163 + "c" * 23 + "-bzy8qm",
        ),
        (DEEP, "-home-dev-deep" + ("-" + "d" * 40) * 4 + "-" + "d" * 21 + "-gv44g7"),
    ],
)
def test_the_folder_is_named_after_the_project(cwd: str, folder: str) -> None:
    assert place(cwd, HOME="/home/dev") == f"/home/dev/.claude/projects/{folder}/{TOKEN}.jsonl"


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("/etc/agent/", "/etc/agent"),
        ("", "/home/dev/project"),
        ("inside/of", "/home/dev/project/inside/of"),
        ("~/conf", "/home/dev/project/~/conf"),
        ("/etc/x/../agent", "/etc/agent"),
        ("/etc/e\u0301", "/etc/\u00e9"),
    ],
)
def test_the_agents_own_folder_can_be_elsewhere(named: str, folder: str) -> None:
    found = place("/home/dev/project", HOME="/home/dev", CLAUDE_CONFIG_DIR=named)
    assert found == f"{folder}/projects/-home-dev-project/{TOKEN}.jsonl"


def test_without_a_home_there_is_no_place() -> None:
    with pytest.raises(NoPlace, match="HOME"):
        place("/home/dev/project")


@pytest.mark.parametrize("token", ["", "..", "../other", "a/b", "a\0b", "ü"])
def test_a_token_that_is_no_name_of_a_file_has_no_place(token: str) -> None:
    with pytest.raises(NoPlace):
        ClaudeTranscript().place({"HOME": "/home/dev"}, "/home/dev/project", token)
