"""A runbook as typed values: agents with their reactions, and the steps of a pipeline. Pure data."""

from __future__ import annotations

import msgspec

from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.triggers import Trigger

#: Where the prompt goes in `run`.
PROMPT = "${prompt}"


class Reactions(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rules for each trigger, in order. None: whatever applies without this runbook."""

    idle: tuple[Reaction, ...] | None = None
    dead: tuple[Reaction, ...] | None = None
    error: tuple[Reaction, ...] | None = None
    stall: tuple[Reaction, ...] | None = None
    ask: tuple[Reaction, ...] | None = None
    limit: tuple[Reaction, ...] | None = None
    context: tuple[Reaction, ...] | None = None

    def of(self, trigger: Trigger) -> tuple[Reaction, ...] | None:
        """The rules for one trigger."""
        found: tuple[Reaction, ...] | None = getattr(self, trigger)
        return found

    def over(self, other: Reactions) -> Reactions:
        """These rules, and those of `other` where these have none."""
        return Reactions(
            *(mine if mine is not None else theirs for mine, theirs in zip(_all(self), _all(other), strict=True))
        )


class AgentRun(msgspec.Struct, frozen=True):
    """One agent of a runbook. `template` is the prompt with `${prompt}` in it, if `run` says more than that.

    `limits` has only what the file sets.
    """

    name: str
    kind: str
    program: str = ""
    arguments: tuple[str, ...] = ()
    template: str = ""
    prompt: str = ""
    model: str = ""
    env: dict[str, str] = {}
    cwd: str = ""
    permission: str = "edits"
    limits: dict[str, float | int] = {}
    reactions: Reactions = Reactions()

    def told(self, prompt: str) -> str:
        """What the agent is told for a prompt; without one, the agent's own."""
        text = prompt or self.prompt
        return self.template.replace(PROMPT, text) if self.template else text

    def limited(self, base: Limits) -> Limits:
        """The limits, overridden by those of the file."""
        return msgspec.structs.replace(base, **self.limits)


class PipelineStep(msgspec.Struct, frozen=True):
    """One step of a pipeline."""

    name: str
    agent: str
    prompt: str = ""
    needs: tuple[str, ...] = ()


class Runbook(msgspec.Struct, frozen=True):
    """A runbook file that was read without a complaint. `warnings` are for its author."""

    agents: dict[str, AgentRun] = {}
    steps: tuple[PipelineStep, ...] = ()
    default: Reactions = Reactions()
    warnings: tuple[str, ...] = ()


def _all(one: Reactions) -> tuple[tuple[Reaction, ...] | None, ...]:
    return (one.idle, one.dead, one.error, one.stall, one.ask, one.limit, one.context)
