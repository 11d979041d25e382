"""What starts the daemon with the machine: the texts are right for those who read them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.boot import (
    MARK,
    BootStart,
    BootState,
    chosen,
    entry,
    needed,
    own_entry,
    unit,
    with_entry,
    without_entry,
)
from rekindle.doors.cli.commands.boot import without_any

_words = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=1, max_size=20)
_lines = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=30), max_size=6)
STARTS = st.builds(
    BootStart,
    st.lists(_words, min_size=1, max_size=3).map(tuple),
    st.lists(_words, min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["XDG_STATE_HOME", "XDG_RUNTIME_DIR"]), _words),
)
START = BootStart(
    ("/opt/a b/python", "-m", "rekindle.entry", "serve"),
    ("/opt/a b/python", "-m", "x"),
    {"HOME": "/home/me", "PATH": "/usr/bin:/opt/100%/bin:$HOME", "XDG_STATE_HOME": '/srv/"s"'},
)


@given(_lines, STARTS)
def test_a_crontab_keeps_all_other_lines_and_has_ours_once(lines: list[str], start: BootStart) -> None:
    table = "".join(f"{line}\n" for line in lines if not line.rstrip().endswith(MARK))
    once = with_entry(table, entry(start))
    assert with_entry(once, entry(start)) == once
    assert own_entry(once) == entry(start)
    assert without_entry(once) == table
    assert without_entry(table) == table


@given(STARTS)
def test_a_shell_reads_the_words_of_the_entry_as_they_were(start: BootStart) -> None:
    command = entry(start).split(" ", 5)[5].replace("\\%", "%").removesuffix(f" {MARK}")
    words = shlex.split(command)
    assert tuple(words[len(start.environment) :]) == start.check
    assert dict(word.split("=", 1) for word in words[: len(start.environment)]) == start.environment


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program = tmp_path / "a b" / "rekindle"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "rekindle.service"
    file.write_text(unit(BootStart((str(program), "serve"), (), START.environment)))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if "rekindle.service" in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_unit_ends_the_daemon_alone_and_starts_it_again() -> None:
    lines = unit(START).splitlines()
    assert {"Restart=always", "KillMode=process", "OOMPolicy=continue", "WantedBy=default.target"} <= set(lines)
    assert 'ExecStart="/opt/a b/python" "-m" "rekindle.entry" "serve"' in lines
    assert 'Environment="PATH=/usr/bin:/opt/100%%/bin:$HOME"' in lines, "in a variable, $ is only a $ (systemd.exec)"
    odd = BootStart(("/opt/$a/python",), (), {})
    assert 'ExecStart="/opt/$$a/python"' in unit(odd).splitlines()
    assert 'Environment="XDG_STATE_HOME=/srv/\\"s\\""' in lines


def test_no_secret_of_the_caller_gets_into_an_entry() -> None:
    kept = needed({"HOME": "/h", "PATH": "/bin", "ANTHROPIC_API_KEY": "k", "REKINDLE_STAMP": "s", "LANG": "a\nb"})
    assert kept == {"HOME": "/h", "PATH": "/bin"}


def test_the_first_way_that_there_is_or_the_one_that_was_asked_for() -> None:
    none, cron = BootState("systemd", usable=False, why="not here"), BootState("cron", usable=True)
    assert chosen([none, cron], None) == cron
    assert chosen([none, cron], "systemd") == "systemd cannot be used here: not here"
    assert "not here" in str(chosen([none], None))


@pytest.mark.parametrize("usable", [True, False])
def test_nobody_is_told_to_install_what_cannot_be_installed_here(usable: bool) -> None:
    ways = [BootState("systemd", usable=False, why="not here"), BootState("cron", usable=usable, why="not here")]
    told = "\n".join(without_any(ways))
    assert told.startswith("Nothing starts rekindle after a reboot")
    assert ("next: rekindle boot install" in told) is usable
    assert list(without_any([BootState("cron", usable=True, installed=True)])) == []
