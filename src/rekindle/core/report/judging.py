"""What an agent's claim is worth: proved, contradicted, or neither. Pure.

A claim is proved only by a command that rekindle ran itself, that ended with 0, that checks what the claim is about,
and that ran on the very state of the files in which the session was left. The agent's own tools prove nothing: their
results come through the agent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekindle.core.report.claims import SpokenClaim
from rekindle.core.report.commands import shown
from rekindle.core.report.contents import Check, Subject, Verdict
from rekindle.core.report.sources import KeptState, SaidTool
from rekindle.core.report.turns import WalkedTurn
from rekindle.core.report.words import in_words


class Judged(msgspec.Struct, frozen=True):
    """A verdict with its reason, and the check that it rests on."""

    verdict: Verdict
    why: str
    check: Check | None = None


class WorkStates:
    """The states of the files after each turn, as far as snapshots show them.

    A turn without a snapshot of its own changed nothing, unless snapshots could not be taken (`complete` is False).
    """

    def __init__(self, turns: Sequence[WalkedTurn], states: Sequence[KeptState], *, complete: bool) -> None:
        by_reason = {one.reason: one for one in states}
        last = states[0] if states and complete else None
        self._after: list[KeptState | None] = []
        for turn in turns:
            own = by_reason.get(turn.mark) if turn.mark else None
            last = own if own is not None else last if complete and turn.how != "running" else None
            self._after.append(last)

    def after(self, turn: int) -> KeptState | None:
        """The state after a turn (from 1); None: not known."""
        return self._after[turn - 1] if 0 < turn <= len(self._after) else None

    def are_same(self, one: int, other: int) -> bool:
        """Whether the files after two turns are known to be the same."""
        if one == other:
            return True
        first, second = self.after(one), self.after(other)
        return first is not None and second is not None and first.tree == second.tree


def judge(
    claim: SpokenClaim,
    said_in: WalkedTurn,
    turns: Sequence[WalkedTurn],
    states: WorkStates,
    found: Sequence[Check],
    tools: Sequence[SaidTool] = (),
) -> Judged:
    """What the claim is worth at the end. `found` are the checks of the session, or of its task, in order."""
    if turns[-1].how == "running":
        return Judged("unproved", "the agent is still working, so nothing is known about what it leaves")
    fitting = [one for one in found if claim.subject in shown(one.command).subjects]
    final = [one for one in fitting if _is_about(one, turns, states)]
    if final:
        return _by_checks(claim.subject, final)
    if fitting:
        last = fitting[-1]
        on = f" (commit {last.commit[:10]})" if last.commit else ""
        how = "passed" if last.passed else "failed"
        return Judged("unproved", f"`{last.command}` {how} on another state of the files{on}: they changed since", last)
    if found:
        return Judged("unproved", f"rekindle ran only {_named(found)}, which does not check that")
    cut = "; the agent was cut off in that turn" if said_in.how == "cut" else ""
    used = next((one for one in reversed(tools) if claim.subject in shown(one.title).subjects), None)
    if used is not None:
        how = used.status or "without an end"
        tool = in_words(used.title)
        return Judged("unproved", f"only the agent's own tool says so ({tool}: {how}); rekindle ran no check{cut}")
    return Judged("unproved", f"nothing was run{cut}")


def _by_checks(subject: Subject, found: Sequence[Check]) -> Judged:
    """What checks on the final state of the files show. The newest one that decides counts."""
    for one in reversed(found):
        told = shown(one.command)
        if one.passed and subject in told.whole:
            return Judged("proved", f"rekindle ran `{one.command}` on this work, and it ended with 0", one)
        if not one.passed and subject in told.fails:
            return Judged("contradicted", f"rekindle ran `{one.command}` on this work, and it failed", one)
    last = found[-1]
    if last.passed:
        why = f"`{last.command}` ended with 0 on this work, but it may have checked only a part of it"
    else:
        why = f"`{last.command}` failed on this work, and does more than one thing: nobody knows which of them failed"
    return Judged("unproved", why, last)


def _is_about(check: Check, turns: Sequence[WalkedTurn], states: WorkStates) -> bool:
    """Whether a check ran on the state in which the session was left."""
    last = turns[-1].number
    state = states.after(last)
    if check.of == "feature":
        if state is not None and state.head and check.commit:
            return check.commit == state.head
        ended = turns[-1].ended_at
        return ended is not None and check.at >= ended
    return states.are_same(check.turns, last)


def _named(found: Sequence[Check]) -> str:
    return ", ".join(dict.fromkeys(f"`{one.command}`" for one in found))
