"""What a person looks at first: `rekindle`, `ps` and `features` on a real terminal, by the real commands."""

from __future__ import annotations

from tests.e2e.daemon import Machine
from tests.e2e.terminal import shown_on_terminal


def test_nobody_who_wants_no_colours_gets_any(machine: Machine) -> None:
    session = machine.begin("say hello")
    machine.until_said(session, "finished")
    for words in (("logs", session),):
        coloured, plain = (shown_on_terminal(machine, *words, NO_COLOR=value) for value in ("", "1"))
        assert "\x1b[" in coloured, words
        assert "\x1b" not in plain, words
        assert "\x1b" not in shown_on_terminal(machine, *words, TERM="dumb"), words


def test_resuming_all_does_not_tell_of_what_is_finished(machine: Machine) -> None:
    done, cut = machine.begin("say hello"), machine.begin("say begun\nsleep 600")
    machine.until_said(done, "finished")
    machine.ok("stop", "--completed", done)
    machine.until_said(cut, "begun")
    machine.kill(machine.pids(cut)["agent"])
    machine.until_status(cut, "interrupted")
    told = machine.ok("resume", "--all")
    assert cut in told and done not in told
    assert done in [one["id"] for one in machine.json("resume", "--all")["skipped"]]
