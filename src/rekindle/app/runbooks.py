"""Using runbooks: checks a file, shows it, and turns it into the rules of a session.

`[default]` in the user's own `runbook.toml` applies to every new session. A repository has no say: only a file that a
person names, or the user's own, is ever read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.app.requests import ResumeRequest
from rekindle.core.runbook.built_in import TEXT
from rekindle.core.runbook.complaint import BadRunbook
from rekindle.core.runbook.runbook import AgentRun, Reactions, Runbook
from rekindle.core.runbook.runbook_file import parse
from rekindle.core.session import facts as f
from rekindle.core.session.rules import Rules
from rekindle.core.session.state import Session
from rekindle.ports.errors import UsageError
from rekindle.ports.settings_file import SettingsFile


class ShownRunbook(msgspec.Struct, frozen=True):
    """The default for every session: the text, and the file that it comes from (None: ours)."""

    text: str
    file: str | None


class GivenRules(msgspec.Struct, frozen=True):
    """What a person's runbook says about one session. `prompt` is what its agent is told, with its template."""

    agent: AgentRun | None
    reactions: Reactions
    source: str
    digest: str
    prompt: str = ""


class Runbooks:
    """Raises UsageError that names file, line, key and what is allowed."""

    def __init__(self, own: SettingsFile, kinds: Collection[str], read: Callable[[str], bytes]) -> None:
        """`read` gives the bytes of a file, and raises OSError."""
        self._own = own
        self._read = read
        self._kinds = kinds

    def check(self, content: bytes, name: str) -> Runbook:
        """Read a runbook. Uses nothing but its text."""
        try:
            return parse(content, name, self._kinds)
        except BadRunbook as error:
            about: dict[str, object] = {"file": name, "line": error.line, "key": error.key}
            about["allowed"] = list(error.allowed)
            raise UsageError(error.message, error.hint, code="bad_runbook", details=about) from error

    def shown(self) -> ShownRunbook:
        """The runbook that applies by default."""
        text = self._own.read()
        return ShownRunbook(TEXT, None) if text is None else ShownRunbook(text, self._own.path)

    def default(self) -> GivenRules:
        """What the user's own runbook says about every session."""
        text = self._own.read()
        if text is None:
            return GivenRules(None, Reactions(), "built-in", "")
        found = self.check(text.encode(), self._own.path)
        return GivenRules(None, found.default, self._own.path, digest(text.encode()))

    def given(self, content: bytes, name: str, words: list[str]) -> GivenRules:
        """The agent or step of a runbook that `words` name, and the prompt after the name, if there is one."""
        found = self.check(content, name)
        steps = {step.name: step for step in found.steps}
        step = steps.get(words[0]) if words else None
        if step is not None:
            agent, prompt = found.agents[step.agent], step.prompt
            rest = words[1:]
        elif words and words[0] in found.agents:
            agent, prompt, rest = found.agents[words[0]], "", words[1:]
        elif len(found.agents) == 1:
            agent, prompt, rest = next(iter(found.agents.values())), "", words
        else:
            known = [*steps, *found.agents]
            if not known:
                raise UsageError(f"{name} has no agent", 'add [agent.worker] with run = "claude", or another one')
            what = f"{words[0]!r} is neither an agent nor a step of {name}" if words else f"{name} has several agents"
            raise UsageError(what, f"name one of: {', '.join(known)}", details={"allowed": known})
        if len(rest) > 1:
            raise UsageError(f"unexpected argument {rest[1]!r}", "put the prompt in quotes")
        told = agent.told(rest[0] if rest else prompt)
        if not told.strip():
            raise UsageError(f"agent {agent.name!r} of {name} has no prompt", "give one behind its name")
        return GivenRules(agent, agent.reactions.over(self.default().reactions), name, digest(content), told)

    def for_session(self, content: bytes, name: str, kind: str) -> GivenRules:
        """New rules for a session of this kind of agent."""
        found = self.check(content, name)
        fitting = [one for one in found.agents.values() if one.kind == kind]
        if len(fitting) != 1:
            problem = "no agent" if not fitting else f"{len(fitting)} agents"
            raise UsageError(f"{name} has {problem} of the kind {kind}", "have one [agent.NAME] of that kind in it")
        reactions = fitting[0].reactions.over(self.default().reactions)
        return GivenRules(fitting[0], reactions, name, digest(content))

    def since(self, source: str, known: str) -> str:
        """How the file behind a session's rules has changed; empty: it is unchanged, or there was none."""
        if not known:
            return ""
        try:
            return "" if digest(self._read(source)) == known else "the file has changed since"
        except OSError:
            return "the file is gone"


def digest(content: bytes) -> str:
    """A fingerprint that shows whether a file is still the one that rules came from."""
    return hashlib.sha256(content).hexdigest()


def new_rules(asked: ResumeRequest, session: Session, at: float, limits: f.Limits | None = None) -> list[f.AnyFact]:
    """The rules given to a session when it is resumed, with these limits; None: its own stay."""
    given = rules_in(asked.rules)
    kept = replace(given or session.rules, limits=limits or session.limits)
    if given is None:
        source, mark = session.rules_source, session.rules_digest
        return [f.RulesSet(at=at, rules=kept, source=source, digest=mark)] if kept != session.rules else []
    return [f.RulesSet(at=at, rules=kept, source=asked.rules_source, digest=asked.rules_digest)]


def rules_in(given: dict[str, Any] | None) -> Rules | None:
    """Rules as they come over the wire."""
    if given is None:
        return None
    try:
        return msgspec.convert(given, Rules)
    except msgspec.ValidationError as error:
        raise UsageError(f"these are not the rules of a session: {error}", "leave them to `rekindle run`") from error
