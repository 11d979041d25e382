"""Reads a runbook as a person writes it: TOML. Looks at the text only, never at the machine.

Every complaint names the file, the line, the key and what is allowed there.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from rekindle.core.names import why_not
from rekindle.core.quantities import dollars_in, seconds_in
from rekindle.core.runbook import shape
from rekindle.core.runbook.complaint import TAKES, BadRunbook, RunbookText, trigger_of
from rekindle.core.runbook.limits import OVERFLOWS, PRIORITIES, is_share
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import PROMPT, AgentRun, PipelineStep, Reactions, Runbook
from rekindle.core.runbook.triggers import ALLOWED, RECOVER, TRIGGERS, Trigger
from rekindle.core.toml_places import TomlPath, places

_LINE: Final = re.compile(r"\(at line (\d+)")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REACTIONS: Final = tuple(f"on_{one}" for one in TRIGGERS)
_TYPES: Final = {field.name: field.type for field in msgspec.structs.fields(shape.AgentTable)}
_STEP_TYPES: Final = {field.name: field.type for field in msgspec.structs.fields(shape.StepTable)}
#: The type of a rule for each trigger.
_RULES: Final[dict[Trigger, type[msgspec.Struct]]] = {
    "idle": shape.OnIdle,
    "dead": shape.OnDead,
    "error": shape.OnError,
    "stall": shape.OnStall,
    "ask": shape.OnAsk,
    "limit": shape.OnLimit,
    "context": shape.OnContext,
}
#: The names that limits have in a session.
_LIMITS: Final = {
    "max_cost": "cost",
    "max_tokens": "tokens",
    "timeout": "turn_seconds",
    "stall": "stall_seconds",
    "max_age": "age_seconds",
    "max_resumes": "resumes",
    "max_windows": "windows",
    "priority": "priority",
    "dehydrate_at": "dehydrate_at",
    "overflow": "dehydrate_first",
}


def parse(content: bytes, name: str, kinds: Collection[str]) -> Runbook:
    """Read a runbook file. `name` is what complaints call it, `kinds` are the known agents."""
    table, found = _decoded(content, name)
    reader = _Reader(found, kinds)
    for key in table:
        if key not in ("agent", "step", "default"):
            raise found.not_one_of((key,), f"there is no key {key!r} here", key, ("agent", "step", "default"))
    default = reader.reactions(reader.table(table.get("default", {}), ("default",)), ("default",), _REACTIONS)
    agents = {
        key: reader.agent(key, reader.table(value, ("agent", key)), default)
        for key, value in reader.table(table.get("agent", {}), ("agent",)).items()
    }
    steps = reader.steps(table.get("step", []), agents)
    if not agents and default == Reactions():
        raise found.wrong((), "the runbook has no agent", 'add [agent.NAME] with run = "claude"')
    return Runbook(agents, steps, default, tuple(reader.warnings))


def _decoded(content: bytes, name: str) -> tuple[dict[str, Any], RunbookText]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRunbook(f"{name}, line {line}: this is not UTF-8", "save it as UTF-8", line=line, key="") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _LINE.search(str(error))
        # At the end of the file tomllib gives no line.
        line = int(at[1]) if at is not None else text.count("\n") + 1
        raise BadRunbook(
            f"{name}, line {line}: this is not valid TOML ({error})", "repair it", line=line, key=""
        ) from error
    except RecursionError:
        raise BadRunbook(f"{name}: it is nested too deeply", "repair it", line=None, key="") from None
    return table, RunbookText(name, places(text))


class _Reader:
    """Turns tables into values, and complains about the first that is not valid."""

    def __init__(self, text: RunbookText, kinds: Collection[str]) -> None:
        self._text = text
        self._kinds = kinds
        self.warnings: list[str] = []

    def table(self, value: object, path: TomlPath) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._text.wrong(path, f"{path[-1]} is not a table", f"write [{'.'.join(map(str, path))}]")
        return value

    def agent(self, name: str, table: Mapping[str, Any], default: Reactions) -> AgentRun:
        path: TomlPath = ("agent", name)
        if (problem := why_not(name)) is not None:
            raise self._text.wrong(path, f"the name {name!r} {problem}", "use letters, digits, dashes and dots")
        if "run" not in table:
            raise self._text.wrong(path, f"agent {name!r} has no run", 'add run = "claude", or another agent')
        reactions = self.reactions(table, path, tuple(_TYPES))
        program, arguments, template = self._run(table["run"], (*path, "run"))
        return AgentRun(
            name=name,
            kind=self._kind(table.get("kind"), program, path),
            program=program,
            arguments=arguments,
            template=template,
            prompt=self._typed(table, "prompt", path, ""),
            model=self._typed(table, "model", path, ""),
            env=self._environment(table, path),
            cwd=self._typed(table, "cwd", path, ""),
            permission=self._typed(table, "permission", path, "edits"),
            limits=self._limits(table, path),
            reactions=reactions.over(default),
        )

    def reactions(self, table: Mapping[str, Any], path: TomlPath, keys: Sequence[str]) -> Reactions:
        for key in table:
            if key not in keys:
                raise self._text.not_one_of((*path, key), f"there is no key {key!r} here", key, keys)
        found = {
            one: self._rules(table[f"on_{one}"], one, (*path, f"on_{one}")) for one in TRIGGERS if f"on_{one}" in table
        }
        return Reactions(**found)

    def steps(self, value: object, agents: Mapping[str, AgentRun]) -> tuple[PipelineStep, ...]:
        if not isinstance(value, list):
            raise self._text.wrong(("step",), "step is not a list of tables", "write [[step]]")
        found: list[PipelineStep] = []
        for number, table in enumerate(value):
            found.append(self._step(self.table(table, ("step", number)), ("step", number), agents))
        names = [one.name for one in found]
        for number, step in enumerate(found):
            path: TomlPath = ("step", number)
            if step.name in names[:number]:
                raise self._text.wrong((*path, "name"), f"there are two steps {step.name!r}", "give one another name")
            for need in step.needs:
                if need not in names:
                    raise self._text.not_one_of((*path, "needs"), f"there is no step {need!r}", need, names)
        circle = _circle({one.name: one.needs for one in found})
        if circle:
            raise self._text.wrong(
                ("step", names.index(circle[0]), "needs"),
                f"the steps {', '.join(map(repr, circle))} need one another",
                "take one of the needs out",
            )
        return tuple(found)

    def _step(self, table: Mapping[str, Any], path: TomlPath, agents: Mapping[str, AgentRun]) -> PipelineStep:
        for key in table:
            if key not in _STEP_TYPES:
                raise self._text.not_one_of((*path, key), f"there is no key {key!r} here", key, tuple(_STEP_TYPES))
        for key in ("name", "agent"):
            if key not in table:
                raise self._text.wrong(path, f"the key {key!r} is missing", "every step has a name and an agent")
        values = {key: self._converted(value, _STEP_TYPES[key], (*path, key)) for key, value in table.items()}
        if (problem := why_not(values["name"])) is not None:
            raise self._text.wrong((*path, "name"), f"the name {values['name']!r} {problem}", "use letters and digits")
        agent = agents.get(values["agent"])
        if agent is None:
            what = f"there is no agent {values['agent']!r} in this runbook"
            raise self._text.not_one_of((*path, "agent"), what, values["agent"], tuple(agents))
        prompt = values.get("prompt", "")
        if not (prompt.strip() or agent.prompt.strip()):
            raise self._text.wrong(path, f"step {values['name']!r} has no prompt", "give it one, or give its agent one")
        return PipelineStep(values["name"], values["agent"], prompt, tuple(values.get("needs", ())))

    def _converted(self, value: object, kind: Any, path: TomlPath, keys: Sequence[str] = ()) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise self._text.unreadable(path, str(error), keys) from error

    def _typed(self, table: Mapping[str, Any], key: str, path: TomlPath, missing: str) -> Any:
        found = self._converted(table[key], _TYPES[key], (*path, key)) if key in table else missing
        if isinstance(found, str) and "\0" in found:
            raise self._text.wrong((*path, key), f"{key} has a NUL character", "take it out")
        return found

    def _run(self, value: object, path: TomlPath) -> tuple[str, tuple[str, ...], str]:
        """The program, its arguments, and the prompt's template if `${prompt}` is inside a longer word."""
        words = self._words(value, path)
        if not words:
            raise self._text.wrong(path, "run is empty", 'give a program, such as "claude"')
        holders = [one for one in words[1:] if PROMPT in one]
        if PROMPT in words[0]:
            raise self._text.wrong(path, f"{PROMPT} cannot be the program", "put it behind the program")
        if len(holders) > 1:
            raise self._text.wrong(path, f"{PROMPT} is there twice", "take one of them out")
        template = holders[0] if holders and holders[0] != PROMPT else ""
        return words[0], tuple(one for one in words[1:] if PROMPT not in one), template

    def _words(self, value: object, path: TomlPath) -> list[str]:
        given = self._converted(value, shape.Command, path)
        if isinstance(given, str):
            try:
                given = shlex.split(given)
            except ValueError as error:
                raise self._text.wrong(
                    path, f"the command cannot be read ({error})", "quote it as in a shell"
                ) from error
        if any("\0" in one for one in given):
            raise self._text.wrong(path, "the command has a NUL character", "take it out")
        return list(given)

    def _kind(self, given: object, program: str, path: TomlPath) -> str:
        if given is not None:
            kind = str(self._converted(given, str, (*path, "kind")))
            if kind not in self._kinds:
                raise self._text.not_one_of((*path, "kind"), f"there is no agent {kind!r}", kind, sorted(self._kinds))
            return kind
        base = program.rsplit("/", 1)[-1]
        if base not in self._kinds:
            what = f"rekindle knows no agent that is called {base!r}"
            wrong = self._text.not_one_of((*path, "run"), what, base, sorted(self._kinds))
            wrong.hint = f'say which agent it is: kind = "…"; {wrong.hint}'
            raise wrong
        return base

    def _environment(self, table: Mapping[str, Any], path: TomlPath) -> dict[str, str]:
        found: dict[str, str] = self._converted(table.get("env", {}), _TYPES["env"], (*path, "env"))
        for name, value in found.items():
            if _VARIABLE.fullmatch(name) is None or "\0" in value:
                where: TomlPath = (*path, "env", name)
                raise self._text.wrong(
                    where, f"{name!r} cannot be an environment variable", "use letters, digits and _"
                )
        return found

    def _limits(self, table: Mapping[str, Any], path: TomlPath) -> dict[str, float | int]:
        path = (*path, "limits")
        keys = tuple(shape.LimitTable.__struct_fields__)
        given = self._converted(table.get("limits", {}), shape.LimitTable, path, keys)
        found: dict[str, float | int] = {}
        for key in keys:
            value = getattr(given, key)
            if value is None:
                continue
            if key == "max_cost":
                limit: float | int | None = dollars_in(str(value))
            elif key == "priority":
                limit = PRIORITIES[value]
            elif key == "overflow":
                limit = OVERFLOWS[value]
            elif key == "dehydrate_at":
                limit = value if is_share(value) else None
            elif key in ("max_tokens", "max_resumes", "max_windows"):
                limit = value if value >= (1 if key == "max_tokens" else 0) else None
            else:
                limit = seconds_in(str(value))
            if limit is None:
                raise self._text.wrong((*path, key), f"{value!r} is not a valid {key}", f"it takes {TAKES[key]}")
            found[_LIMITS[key]] = limit
        return found

    def _rules(self, value: object, trigger: Trigger, path: TomlPath) -> tuple[Reaction, ...]:
        if isinstance(value, list):
            if trigger not in ("error", "ask", "context"):
                what = f"on_{trigger} takes one rule, not a list"
                raise self._text.wrong(path, what, "lists are for on_error, on_ask and on_context")
            return tuple(self._rule(one, trigger, (*path, number)) for number, one in enumerate(value))
        return (self._rule(value, trigger, path),)

    def _rule(self, value: object, trigger: Trigger, path: TomlPath) -> Reaction:
        given = dict(value) if isinstance(value, dict) else {"action": value}
        at: TomlPath = (*path, "action") if isinstance(value, dict) else path
        if given.get("action") == RECOVER:
            self.warnings.append(f"{self._text.place(at)}: recover is the old name of resume")
            given["action"] = "resume"
        action = given.get("action")
        if not isinstance(action, str) and "action" in given:
            what = f"on_{trigger} has a value of the wrong type"
            raise self._text.wrong(at, what, f"it takes {self._text.takes(path)}")
        if isinstance(value, str) and action not in ALLOWED[trigger]:
            raise self._text.bad_choice(at, value)
        cls = _RULES[trigger]
        rule = self._converted(given, cls, path, cls.__struct_fields__)
        return Reaction(rule.action, match=rule.match) if isinstance(rule, shape.OnAsk) else self._reaction(rule, path)

    def _reaction(self, rule: Any, path: TomlPath) -> Reaction:
        run = tuple(self._words(rule.run, (*path, "run"))) if rule.run else ()
        if rule.action == "gate" and not run:
            raise self._text.wrong(path, "a gate needs a command", 'add run = "make test", or another one')
        if run and rule.action != "gate":
            raise self._text.wrong((*path, "run"), f"{rule.action} runs no command", "take run out, or use gate")
        if rule.message and rule.action not in ("nudge", "resume", "escalate", "fail", "renew"):
            what = f"{rule.action} says nothing to anybody"
            raise self._text.wrong((*path, "message"), what, "take message out")
        if rule.action == "resume" and rule.message and not rule.append:
            self.warnings.append(
                f"{self._text.place((*path, 'message'))}: without append = true the message replaces the prompt, "
                "and the history of the conversation is given up"
            )
        waits = rule.action in ("resume", "wait") or trigger_of(path) == "idle"
        if rule.cooldown and not waits:
            self.warnings.append(f"{self._text.place((*path, 'cooldown'))}: {rule.action} does not wait for a cooldown")
        attempts = None if rule.attempts == "forever" else rule.attempts
        if attempts is not None and attempts < 1:
            raise self._text.wrong(
                (*path, "attempts"), f"{attempts} attempts are none", f"it takes {TAKES['attempts']}"
            )
        return Reaction(
            rule.action,
            match=getattr(rule, "match", None) or "",
            message=rule.message,
            append=rule.append,
            run=run,
            attempts=attempts,
            cooldown=self._pauses(rule.cooldown, (*path, "cooldown")),
        )

    def _pauses(self, given: object, path: TomlPath) -> tuple[float, ...]:
        found: list[float] = []
        for one in given if isinstance(given, list) else [given]:
            seconds = 0.0 if str(one).rstrip("smhd") in ("0", "0.0") else seconds_in(str(one))
            if seconds is None:
                raise self._text.wrong(path, f"{one!r} is not a valid duration", f"it takes {TAKES['cooldown']}")
            found.append(seconds)
        if not found:
            raise self._text.wrong(path, "the list of pauses is empty", f"it takes {TAKES['cooldown']}")
        return tuple(found)


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The steps that can never begin, because each waits for another of them."""
    left = dict(needs)
    while ready := [name for name, wants in left.items() if not any(one in left for one in wants)]:
        for name in ready:
            del left[name]
    return list(left)
