"""What a user can set: each key, what it means, and which values are valid. Pure.

The keys that are defaults of `rekindle run` have the names of its options. Nothing here says what is set: the file and
the environment are read elsewhere, and a session keeps the rules that it began with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rekindle.core.quantities import dollars_in, seconds_in

#: A value as a settings file holds it.
SettingValue = str | int | float
ValueKind = Literal["choice", "text", "duration", "dollars", "count"]
_EXAMPLES: Final[dict[ValueKind, str]] = {
    "duration": "90s, 15m, 2h or 1d",
    "dollars": "an amount in dollars such as 0.5 or 20",
    "text": "a non-empty string",
}

#: The keys that are limits of a session, with the name of each limit there.
LIMITS: Final = {
    "max_cost": "cost",
    "max_tokens": "tokens",
    "timeout": "turn_seconds",
    "stall": "stall_seconds",
    "max_age": "age_seconds",
    "max_resumes": "resumes",
}


@dataclass(frozen=True)
class SettingKey:
    """One key. `built_in` is the default, None if there is no such limit or folder."""

    name: str
    about: str
    kind: ValueKind = "text"
    choices: tuple[str, ...] = ()
    built_in: SettingValue | None = None
    least: int = 1
    variable: str | None = None

    @property
    def expected(self) -> str:
        """What a valid value looks like, in words."""
        if self.kind == "choice":
            return f"one of: {', '.join(self.choices)}"
        if self.kind == "count":
            return f"a whole number of {self.least} or more"
        return _EXAMPLES[self.kind]

    def is_valid(self, value: object) -> bool:
        """Whether a settings file may hold this value."""
        if isinstance(value, bool):
            return False
        match self.kind:
            case "choice":
                return isinstance(value, str) and value in self.choices
            case "text":
                return isinstance(value, str) and bool(value) and "\0" not in value
            case "duration":
                return isinstance(value, str | int | float) and seconds_in(str(value)) is not None
            case "dollars":
                return isinstance(value, int | float) and dollars_in(str(value)) is not None
            case "count":
                return isinstance(value, int) and value >= self.least

    def typed(self, word: str) -> SettingValue:
        """A word of the command line as the value that belongs in the file; not validated yet."""
        try:
            if self.kind == "count":
                return int(word)
            if self.kind == "dollars":
                return int(word) if word.isdecimal() else float(word)
        except ValueError:
            pass
        return word


def limits_in(values: Mapping[str, SettingValue]) -> dict[str, float | int]:
    """The limits of a session that valid settings lead to."""
    found: dict[str, float | int] = {}
    for key, limit in LIMITS.items():
        value = values.get(key)
        if isinstance(value, str):  # a duration; amounts and counts are numbers in the file
            seconds = seconds_in(value)
            found |= {limit: seconds} if seconds is not None else {}
        elif value is not None:
            found[limit] = value
    return found


def setting_keys(choices: Mapping[str, Sequence[str]], default_agent: str) -> dict[str, SettingKey]:
    """All keys, by name, in the order in which a person thinks of them. `choices`: the possible values."""

    def choice(name: str, about: str, built_in: str | None, variable: str | None = None) -> SettingKey:
        return SettingKey(name, about, "choice", tuple(choices[name]), built_in, variable=variable)

    every = (
        choice("agent", "The agent that `rekindle run` uses.", default_agent),
        choice("policy", "What happens when an agent dies.", "ask"),
        choice("permission", "How an agent's requests for permission are answered.", "edits"),
        SettingKey("timeout", "The longest time for one turn.", "duration"),
        SettingKey("stall", "How long a turn may be silent with no tool running.", "duration", built_in="4m"),
        SettingKey("max_cost", "The budget of a session: stop after spending this much (USD).", "dollars"),
        SettingKey("max_tokens", "Stop a session after it has used this many tokens.", "count"),
        SettingKey("max_age", "Do not resume a conversation older than this.", "duration"),
        SettingKey("max_resumes", "Do not resume a conversation more often than this.", "count", least=0),
        choice("stable_prompt", "Keep the state of git out of the agent's system prompt.", "off"),
        SettingKey(
            "progress_dir",
            "Where the journals are, relative to the main checkout.",
            built_in=".claude/progress",
            variable="REKINDLE_PROGRESS_DIR",
        ),
        SettingKey(
            "worktrees_dir",
            "Where `run --worktree` makes worktrees, relative to the main checkout.",
            built_in=".worktrees",
            variable="REKINDLE_WORKTREES_DIR",
        ),
        choice("feature_worktrees", "Where the tasks of a feature run.", "each", "REKINDLE_FEATURE_WORKTREES"),
        choice("journal_sync", "When events reach the disk.", None, "REKINDLE_JOURNAL_SYNC"),
    )
    return {key.name: key for key in every}
