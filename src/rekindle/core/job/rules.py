"""The rules of a job's session: what the session does by itself, and what it leaves to its job. Pure.

A session waits for limits and shortens its own conversation, as any other. A dead agent, and an error that does not
pass, end the try: whether there is another one is the job's decision (`retrying`). A runbook's own rules come first.
"""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.session.rules import BUILT_IN, Rules, governed


def job_rules(policy: str, given: Reactions, limits: Limits) -> Rules:
    """The rules for the session of a step. With the policy `ask`, a person decides where a job would."""
    asks = policy == "ask"
    dead = (Reaction("escalate" if asks else "stop", attempts=None),)
    ours = Reactions(dead=dead, error=BUILT_IN.of("error") if asks else _ends_at_last())
    return replace(governed(BUILT_IN, given.over(ours)), limits=limits)


def _ends_at_last() -> tuple[Reaction, ...]:
    """The usual rules for errors. Where those ask a person because nothing else is left, the try has failed."""
    usual = [one for one in BUILT_IN.of("error") if one.match]
    last = [Reaction("fail", match, attempts=None) for match in dict.fromkeys(one.match for one in usual)]
    return (*usual, *last, Reaction("fail", attempts=None))


def ends_by_rule(rules: Rules) -> bool:
    """Whether a rule for idle agents decides that the task is finished; if not, a turn that ended well does."""
    return any(one.action != "sleep" for one in rules.of("idle"))
