"""Settings as a user makes them: defaults of `run`. An option wins over them, and no session that exists changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.daemon import Machine


def config(machine: Machine) -> Path:
    return Path(machine.ok("config", "path").strip())


def rules(machine: Machine, session: str) -> tuple[str, str, float | None, float | None]:
    found = machine.show(session)["session"]
    limits = found["rules"]["limits"]
    return found["rules"]["policy"], found["permission"], limits["cost"], limits["turn_seconds"]


def test_settings_are_defaults_of_run_options_win_and_old_sessions_keep_their_rules(machine: Machine) -> None:
    for key, value in {"policy": "never", "permission": "deny", "max_cost": "5", "timeout": "30m"}.items():
        machine.ok("config", "set", key, value)
    assert machine.json("config", "get", "max_cost")["value"] == 5
    first = machine.begin("say x")
    second = machine.begin("say x", options=("--policy", "ask", "--max-cost", "7"))
    assert rules(machine, first) == ("never", "deny", 5.0, 1800.0)
    assert rules(machine, second) == ("ask", "deny", 7.0, 1800.0)
    machine.ok("config", "set", "policy", "continue")
    machine.ok("config", "unset", "max_cost")
    assert rules(machine, first) == ("never", "deny", 5.0, 1800.0)
    assert rules(machine, machine.begin("say x")) == ("continue", "deny", None, 1800.0)


def test_a_bad_setting_stops_run_with_its_line_and_nothing_else(machine: Machine) -> None:
    file = config(machine)
    file.parent.mkdir(parents=True)
    file.write_text('# mine\nagent = "clippy"\n')
    refused = machine.run("run", "say x")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{file}, line 2: 'clippy' is not a valid value of agent" in refused.stderr
    told = json.loads(machine.run("run", "say x", "--json").stdout)["error"]
    assert (told["file"], told["line"], told["key"]) == (str(file), 2, "agent")
    assert "scripted" in told["allowed"]
    for words in (["ps"], ["run", "--help"], ["config", "path"]):
        machine.ok(*words)
    machine.ok("config", "set", "agent", "scripted")
    machine.ok("run", "say x")


def test_a_repository_cannot_set_what_run_does(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", machine.work], check=True)
    machine.work.joinpath(".rekindle.toml").write_text('permission = "all"\n')
    refused = machine.run("features")
    assert refused.returncode == 2
    assert "a repository cannot set permission" in refused.stderr


def test_edit_opens_the_file_and_checks_it(machine: Machine) -> None:
    editor = machine.work / "editor"
    editor.write_text('#!/bin/sh\necho \'policy = "maybe"\' >> "$1"\n')
    editor.chmod(0o755)
    refused = machine.run("config", "edit", EDITOR=str(editor))
    assert refused.returncode == 2
    assert "'maybe' is not a valid value of policy" in refused.stderr
    assert "#agent = " in config(machine).read_text()


def test_keys_and_values_are_completed(machine: Machine) -> None:
    def completed(*words: str) -> str:
        line = " ".join(["rekindle", *words])
        asked = {"_REKINDLE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
        return machine.ok(**asked)

    assert "max_cost" in completed("config", "set", "max")
    assert "claude" in completed("config", "set", "agent", "cl")
    assert "continue" in completed("config", "set", "policy", "c")
