"""A runbook says what is meant, or is refused with the file, the line, the key and what is allowed there."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.runbook.built_in import TEXT, built_in
from rekindle.core.runbook.complaint import BadRunbook
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions, Runbook
from rekindle.core.runbook.runbook_file import parse
from rekindle.core.runbook.shape import json_schema
from rekindle.core.runbook.triggers import ALLOWED, ERROR_CLASSES, MEANING, TRIGGERS, Action, Trigger
from rekindle.core.session.rules import BUILT_IN, Rules, governed

KINDS = ("claude", "codex", "scripted")
WORKER = '[agent.worker]\nrun = "claude"\n'
EVERY: tuple[Action, ...] = tuple(MEANING)
#: What goes with an action that cannot stand alone.
WITH = {"gate": ', run = "make test"'}


def read(text: str) -> Runbook:
    return parse(text.encode(), "book.toml", KINDS)


def complaint(text: str) -> BadRunbook:
    with pytest.raises(BadRunbook) as raised:
        read(text)
    return raised.value


def reactions(text: str) -> Reactions:
    return read(WORKER + text).agents["worker"].reactions


def test_the_runbook_of_the_manual_verification_is_read_as_it_is_meant() -> None:
    found = read(
        """
[agent.worker]
run = "claude"
on_dead = { action = "resume", message = "Continue from where you left off.", append = true }
on_error = [
  { match = "rate_limited", action = "resume", cooldown = "60s" },
]
"""
    )
    worker = found.agents["worker"]
    assert (worker.kind, worker.program, worker.arguments) == ("claude", "claude", ())
    assert worker.reactions.dead == (Reaction("resume", message="Continue from where you left off.", append=True),)
    assert worker.reactions.error == (Reaction("resume", "rate_limited", cooldown=(60.0,)),)
    assert found.warnings == ()


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("action", EVERY)
@pytest.mark.parametrize("form", ["word", "table", "list"])
def test_every_pair_of_trigger_and_action_is_allowed_or_refused_by_the_table(
    trigger: Trigger, action: Action, form: str
) -> None:
    if form == "list" and trigger not in ("error", "ask"):
        return
    more = "" if trigger == "ask" else WITH.get(action, "")
    table = f'{{ action = "{action}"{more} }}'
    text = f"on_{trigger} = " + {"word": f'"{action}"', "table": table, "list": f"[{table}]"}[form]
    if action in ALLOWED[trigger] and not (form == "word" and action in WITH):
        [rule] = reactions(text).of(trigger) or ()
        assert rule.action == action
    elif action in ALLOWED[trigger]:
        assert "needs a command" in complaint(WORKER + text).message
    else:
        wrong = complaint(WORKER + text)
        assert (wrong.line, wrong.allowed) == (3, ALLOWED[trigger])
        assert f"on_{trigger}" in wrong.key
        assert f"on_{trigger} does not allow the action {action!r}" in wrong.message
        assert all(one in wrong.hint for one in ALLOWED[trigger])


def test_the_table_is_that_of_the_resume_protocol_and_ours() -> None:
    theirs = {
        "nudge": {"idle"},
        "done": {"idle", "dead"},
        "fail": {"idle", "dead", "error"},
        "resume": {"dead", "error"},
        "escalate": {"idle", "dead", "error"},
        "gate": {"idle", "dead", "error"},
    }
    for action, triggers in theirs.items():
        assert {one for one in ("idle", "dead", "error") if action in ALLOWED[one]} == triggers


def test_recover_is_read_as_resume_with_a_warning() -> None:
    found = read(WORKER + 'on_dead = "recover"\non_error = [{ match = "other", action = "recover" }]')
    assert [rule.action for rule in (found.agents["worker"].reactions.dead or ())] == ["resume"]
    assert [rule.action for rule in (found.agents["worker"].reactions.error or ())] == ["resume"]
    assert [re.search(r"line (\d+)", one)[1] for one in found.warnings] == ["3", "4"]  # type: ignore[index]


def test_an_idle_agent_is_nudged_where_no_action_is_named_and_a_dead_one_needs_an_action() -> None:
    worker = read(WORKER + 'on_idle = { message = "Go on." }').agents["worker"]
    [rule] = worker.reactions.idle or ()
    assert (rule.action, rule.message) == ("nudge", "Go on.")
    with pytest.raises(BadRunbook, match="action"):
        read(WORKER + 'on_dead = { message = "Go on." }')


def test_a_message_that_replaces_the_prompt_is_warned_of() -> None:
    found = read(WORKER + 'on_dead = { action = "resume", message = "start over" }')
    assert "history" in found.warnings[0]
    [rule] = found.agents["worker"].reactions.dead or ()
    assert not rule.keeps_history


@pytest.mark.parametrize(
    ("run", "arguments", "told"),
    [
        ('"claude"', (), "fix it"),
        ('"claude --model opus ${prompt}"', ("--model", "opus"), "fix it"),
        ('["claude", "Be brief. ${prompt} Thanks."]', (), "Be brief. fix it Thanks."),
        ("\"claude 'a b'\"", ("a b",), "fix it"),
    ],
)
def test_the_prompt_goes_where_run_says_or_last(run: str, arguments: tuple[str, ...], told: str) -> None:
    worker = read(f"[agent.worker]\nrun = {run}").agents["worker"]
    assert (worker.arguments, worker.told("fix it")) == (arguments, told)


def test_the_program_picks_the_agent_and_kind_overrides_it() -> None:
    assert read('[agent.a]\nrun = "/opt/beta/codex"').agents["a"].kind == "codex"
    assert read('[agent.a]\nrun = "my-wrapper"\nkind = "claude"').agents["a"].kind == "claude"
    assert complaint('[agent.a]\nrun = "my-wrapper"').allowed == KINDS


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        (WORKER + "on_idel = 3", 3, "agent.worker.on_idel", "did you mean on_idle"),
        (WORKER + "on_idle = 3", 3, "agent.worker.on_idle", "an action, or a table"),
        (WORKER + 'on_idle = { action = "sleep", atempts = 3 }', 3, "agent.worker.on_idle.atempts", "attempts"),
        (WORKER + 'on_dead = { message = "x" }', 3, "agent.worker.on_dead", "'action' is missing"),
        (WORKER + 'on_idle = { action = "sleep", attempts = 0 }', 3, "agent.worker.on_idle.attempts", "1 or more"),
        (WORKER + 'on_idle = { action = "sleep", attempts = "x" }', 3, "agent.worker.on_idle.attempts", "forever"),
        (WORKER + 'on_idle = { action = "sleep", cooldown = "5x" }', 3, "agent.worker.on_idle.cooldown", "duration"),
        (WORKER + 'on_idle = { action = "sleep", run = "x" }', 3, "agent.worker.on_idle.run", "runs no command"),
        (WORKER + 'on_idle = { action = "sleep", message = "x" }', 3, "agent.worker.on_idle.message", "message"),
        (WORKER + 'on_dead = [{ action = "done" }]', 3, "agent.worker.on_dead", "not a list"),
        (
            WORKER + 'on_error = [\n  { action = "fail" },\n  { match = "rate", action = "fail" },\n]',
            5,
            "agent.worker.on_error[1].match",
            "rate_limited",
        ),
        (WORKER + "limits = { max_cost = -1 }", 3, "agent.worker.limits.max_cost", "dollars"),
        (WORKER + "limits = { max_tokens = 0 }", 3, "agent.worker.limits.max_tokens", "1 or more"),
        (WORKER + 'limits = { stall = "soon" }', 3, "agent.worker.limits.stall", "duration"),
        (WORKER + "env = { A = 1 }", 3, "agent.worker.env", "table of texts"),
        (WORKER + 'env = { "A B" = "1" }', 3, "agent.worker.env.A B", "environment variable"),
        (WORKER + 'permission = "root"', 3, "agent.worker.permission", "edits, ask, deny, all"),
        ("[agent.worker]\nmodel = 'x'", 1, "agent.worker", "has no run"),
        ('[agent.worker]\nrun = ""', 2, "agent.worker.run", "empty"),
        ('[agent.worker]\nrun = "claude \'x"', 2, "agent.worker.run", "quote"),
        ('[agent."a/b"]\nrun = "claude"', 1, "agent.a/b", "letters"),
        ("[agnt.worker]\nrun = 'x'", 1, "agnt", "did you mean agent"),
        ("agent = 3", 1, "agent", "not a table"),
        ("x = 1\n[agent", 2, "", "not valid TOML"),
        ("", None, "", "no agent"),
        (WORKER + '[[step]]\nname = "a"', 3, "step[0]", "'agent' is missing"),
        (WORKER + '[[step]]\nname = "a"\nagent = "b"\nprompt = "x"', 5, "step[0].agent", "worker"),
        (WORKER + '[[step]]\nname = "a"\nagent = "worker"', 3, "step[0]", "no prompt"),
        (
            WORKER + '[[step]]\nname = "a"\nagent = "worker"\nprompt = "x"\nneeds = ["c"]',
            7,
            "step[0].needs",
            "no step 'c'",
        ),
    ],
)
def test_whatever_is_wrong_is_named_with_its_line_its_key_and_the_remedy(
    text: str, line: int | None, key: str, words: str
) -> None:
    wrong = complaint(text)
    assert (wrong.line, wrong.key) == (line, key)
    assert words in f"{wrong.message} — {wrong.hint}"
    assert wrong.message.startswith("book.toml" if line is None else f"book.toml, line {line}:")


def test_steps_that_need_one_another_are_refused() -> None:
    steps = [f'[[step]]\nname = "{a}"\nagent = "worker"\nprompt = "x"\nneeds = ["{b}"]\n' for a, b in ("ab", "ba")]
    assert "need one another" in complaint(WORKER + "".join(steps)).message


def test_agents_share_the_defaults_of_their_file() -> None:
    found = read(f'[default]\non_dead = "fail"\non_idle = "done"\n{WORKER}on_idle = "sleep"')
    assert found.agents["worker"].reactions == Reactions(idle=(Reaction("sleep"),), dead=(Reaction("fail"),))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    with contextlib.suppress(BadRunbook):
        parse(content, "book.toml", KINDS)


def test_the_built_in_runbook_is_what_a_session_does_by_itself() -> None:
    for trigger in TRIGGERS:
        assert BUILT_IN.of(trigger) == built_in().of(trigger), trigger
    assert governed(Rules(), built_in()).policy == "ask"


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("continue", 'on_dead = { action = "resume", attempts = 3, cooldown = ["0s", "2s", "8s"] }'),
        ("never", 'on_dead = "stop"'),
    ],
)
def test_a_policy_is_shorthand_for_on_dead(policy: str, text: str) -> None:
    """The comment in the built-in runbook says the same."""
    assert re.sub(r"\s+", " ", text) in re.sub(r"[\s#]+", " ", TEXT)
    ruled = governed(Rules(), reactions(text))
    assert (ruled.policy, ruled.of("dead")) == (policy, Rules(policy=policy).of("dead"))


def test_editors_get_a_schema_of_the_types() -> None:
    defined = json_schema()["$defs"]
    assert set(defined["OnDead"]["properties"]["action"]["enum"]) == set(ALLOWED["dead"])
    assert set(ERROR_CLASSES) <= set(defined["OnError"]["properties"]["match"]["anyOf"][0]["enum"])
    assert set(defined["AgentTable"]["required"]) == {"run"}
