"""What a user can set: each key, what it means, and which values are valid. Pure.

The keys that are defaults of `rekindle run` have the names of its options. Nothing here says what is set: the file and
the environment are read elsewhere, and a session keeps the rules that it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rekindle.core.fleet import lease, spelling
from rekindle.core.governor.rules import BUILT_IN, GovernorRules
from rekindle.core.inbox.news import ABOUT
from rekindle.core.inbox.settings import about_in, hours_in, is_safe_url, is_topic, masked_url, minute_in, words_in
from rekindle.core.inbox.telling import TellRules
from rekindle.core.quantities import dollars_in, seconds_in
from rekindle.core.runbook.limits import OVERFLOWS, THRESHOLD, is_share

#: A value as a settings file holds it.
SettingValue = str | int | float
ValueKind = Literal[
    "choice", "text", "duration", "dollars", "count", "share", "words", "url", "topic", "events", "hours", "clock"
]
_EXAMPLES: Final[dict[ValueKind, str]] = {
    "duration": "90s, 15m, 2h or 1d",
    "dollars": "an amount in dollars such as 0.5 or 20",
    "share": "a share of the context window from 0.05 to 0.95, or 0 for never",
    "text": "a non-empty string",
    "words": "a program and its arguments, as words in one string; no shell reads them",
    "url": "an https address, or http to this machine",
    "topic": "the address of a topic, such as https://ntfy.sh/my-topic",
    "events": f"one or more, with commas, of: {', '.join(ABOUT)}",
    "hours": "a span such as 22:00-07:00",
    "clock": "a time of day such as 07:30",
}

#: What the values of the kinds that are read from a text must satisfy.
_READERS: Final[dict[ValueKind, Callable[[str], bool]]] = {
    "words": lambda text: words_in(text) is not None,
    "url": is_safe_url,
    "topic": is_topic,
    "events": lambda text: about_in(text) is not None,
    "hours": lambda text: hours_in(text) is not None,
    "clock": lambda text: minute_in(text) is not None,
}

#: The keys that are limits of a session, with the name of each limit there.
LIMITS: Final = {
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


@dataclass(frozen=True)
class SettingKey:
    """One key. `built_in` is the default, None if there is no such limit or folder. A `secret` is never shown."""

    name: str
    about: str
    kind: ValueKind = "text"
    choices: tuple[str, ...] = ()
    built_in: SettingValue | None = None
    least: int = 1
    variable: str | None = None
    secret: bool = False
    #: what else a value must satisfy, what one that does looks like, in words, and one
    reads: Callable[[str], bool] | None = None
    like: str = ""
    sample: str = ""

    def shown(self, value: SettingValue | None) -> SettingValue | None:
        """The value as lists show it."""
        if not self.secret or value is None:
            return value
        return masked_url(str(value)) if self.kind in ("url", "topic") else "…"

    @property
    def expected(self) -> str:
        """What a valid value looks like, in words."""
        if self.like:
            return self.like
        if self.kind == "choice":
            return f"one of: {', '.join(self.choices)}"
        if self.kind == "count":
            return f"a whole number of {self.least} or more"
        return _EXAMPLES[self.kind]

    def is_valid(self, value: object) -> bool:
        """Whether a settings file may hold this value."""
        if isinstance(value, bool) or (self.reads is not None and not self.reads(str(value))):
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
            case "share":
                return is_share(value)
            case _:
                return isinstance(value, str) and "\0" not in value and _READERS[self.kind](value)

    def typed(self, word: str) -> SettingValue:
        """A word of the command line as the value that belongs in the file; not validated yet."""
        try:
            if self.kind == "count":
                return int(word)
            if self.kind in ("dollars", "share"):
                return int(word) if word.isdecimal() else float(word)
        except ValueError:
            pass
        return word


def is_read_once(name: str) -> bool:
    """Whether a daemon reads this key only when it starts: a host does not change its fleet while it runs."""
    return name.startswith(("store_", "fleet_", "temporal_"))


def is_notify(name: str) -> bool:
    """Whether a key is about notifications, or looks as if it should be."""
    return name.startswith("notify_")


def limits_in(values: Mapping[str, SettingValue]) -> dict[str, float | int]:
    """The limits of a session that valid settings lead to."""
    found: dict[str, float | int] = {}
    for key, limit in LIMITS.items():
        value = values.get(key)
        if key == "overflow":
            found |= {limit: OVERFLOWS[str(value)]} if value is not None else {}
        elif isinstance(value, str):  # a duration; amounts and counts are numbers in the file
            seconds = seconds_in(value)
            found |= {limit: seconds} if seconds is not None else {}
        elif value is not None:
            found[limit] = value
    return found


def governor_rules(values: Mapping[str, SettingValue]) -> GovernorRules:
    """The rules for all sessions together that valid settings lead to."""
    restarts, window = values.get("max_restarts", BUILT_IN.restarts), values.get("restart_window")
    day, night = values.get("max_cost_per_day"), values.get("max_cost_per_night")
    returns = values.get("limit_returns")
    agents, spacing, reserve = values.get("max_agents"), values.get("start_spacing"), values.get("memory_reserve")
    return GovernorRules(
        restarts=int(restarts) if restarts else None,
        restart_seconds=(seconds_in(str(window)) if window is not None else None) or BUILT_IN.restart_seconds,
        cost_per_day=float(day) if day is not None else None,
        cost_per_night=float(night) if night is not None else None,
        night=hours_in(str(values.get("night", ""))) or BUILT_IN.night,
        returns_per_minute=int(returns) if returns is not None else BUILT_IN.returns_per_minute,
        agents_at_once=int(agents) if agents is not None else None,
        start_spacing=(seconds_in(str(spacing)) if spacing is not None else None) or BUILT_IN.start_spacing,
        memory_reserve=int(reserve) * 1024 * 1024 if reserve is not None else None,
    )


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
        SettingKey("max_windows", "How many limits of its service a session waits for.", "count", least=0),
        SettingKey(
            "dehydrate_at",
            "How full the context window is when a conversation is dehydrated, before its next prompt.",
            "share",
            built_in=THRESHOLD,
        ),
        SettingKey(
            "overflow",
            "What comes first if a conversation is too long: the agent's own compaction, or dehydration.",
            "choice",
            tuple(OVERFLOWS),
            "agent",
        ),
        choice("stable_prompt", "Keep the state of git out of the agent's system prompt.", "off"),
        *notify_keys(),
        *governor_keys(),
        *fleet_keys(),
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
        SettingKey(
            "skill_sessions_dir",
            "Where skill sessions are, relative to the top of the worktree.",
            built_in="sessions",
            variable="REKINDLE_SKILL_SESSIONS_DIR",
        ),
        choice("feature_worktrees", "Where the tasks of a feature run.", "each", "REKINDLE_FEATURE_WORKTREES"),
        choice("journal_sync", "When events reach the disk.", None, "REKINDLE_JOURNAL_SYNC"),
    )
    return {key.name: key for key in every}


def governor_keys() -> Iterator[SettingKey]:
    """The keys that hold for all sessions together."""
    yield SettingKey(
        "max_restarts",
        "Stop all automatic restarts after this many in vain, over all sessions (0: never).",
        "count",
        built_in=20,
        least=0,
    )
    yield SettingKey("restart_window", "How long a restart in vain counts.", "duration", built_in="10m")
    yield SettingKey("max_cost_per_day", "What all sessions together may spend in a day (USD).", "dollars")
    yield SettingKey("max_cost_per_night", "What all sessions together may spend in a night (USD).", "dollars")
    yield SettingKey("night", "When the night begins and ends.", "hours", built_in="22:00-08:00")
    yield SettingKey("limit_returns", "How many sessions come back from one limit in a minute.", "count", built_in=6)
    yield SettingKey(
        "max_agents", "How many agents work at once; unless you set it, what the machine has room for.", "count"
    )
    yield SettingKey("start_spacing", "The time between two automatic restarts.", "duration", built_in="0.5s")
    yield SettingKey(
        "memory_reserve",
        "How many megabytes of memory have to be available before another agent starts (0: any).",
        "count",
        least=0,
    )


def _file(name: str, about: str) -> SettingKey:
    return SettingKey(name, about, reads=spelling.is_file, like="the full path of a file", sample="/etc/rekindle/file")


def fleet_keys() -> Iterator[SettingKey]:
    """The keys that make this machine a host of a fleet."""
    yield SettingKey(
        "store_url",
        "The PostgreSQL store that the hosts of a fleet share.",
        variable="REKINDLE_STORE_URL",
        reads=spelling.is_store,
        like="postgresql://USER@HOST:PORT/DATABASE; a password belongs in a file of its own (store_password_file)",
        sample="postgresql://rekindle@db.example.org/rekindle",
    )
    yield _file("store_password_file", "A file (0600) with the password for it.")
    yield SettingKey(
        "fleet_host",
        "The name of this host in the fleet; unless you set it, the machine's name.",
        reads=spelling.is_host,
        like="letters, digits, dots and dashes",
        sample="build-1",
    )
    yield _file("fleet_key_file", "A file (0600) with the key that copies of sessions are sealed with.")
    yield SettingKey(
        "fleet_blobs",
        "Where those copies are: in the store, or in a folder that all hosts mount.",
        built_in="postgresql",
        reads=spelling.is_blobs,
        like="postgresql, or the full path of a folder that all hosts mount",
    )
    yield SettingKey(
        "fleet_repositories",
        "Where repositories are fetched from: NAME=ADDRESS, separated by spaces.",
        reads=spelling.are_sources,
        like="NAME=ADDRESS, separated by spaces, such as '*=ssh://git@example.org/{name}.git', with no password in it",
        sample="*=ssh://git@example.org/{name}.git",
    )
    yield SettingKey(
        "fleet_labels",
        "What this host has, for jobs that need it: words separated by spaces.",
        reads=spelling.are_labels,
        like="words of lower-case letters, digits, dots and dashes, or account:NAME, separated by spaces",
        sample="gpu",
    )
    yield SettingKey(
        "fleet_heartbeat",
        "How long a host may be silent before another takes over.",
        "duration",
        built_in="30s",
        reads=spelling.is_heartbeat,
        like=f"a time from {lease.SHORTEST:g}s to 1h, such as 30s",
    )
    yield from _fleet_ways()


def _fleet_ways() -> Iterator[SettingKey]:
    """The keys of a fleet that are about the connections to its servers."""
    yield SettingKey(
        "fleet_plain_connections",
        "Use unencrypted connections to the store and to Temporal: a tunnel or a private network protects them.",
        "choice",
        ("off", "on"),
        "off",
    )
    yield SettingKey(
        "temporal_address",
        "The Temporal server that drives the fleet's jobs: HOST:PORT.",
        reads=spelling.is_address,
        like="HOST:PORT, such as temporal.example.org:7233",
        sample="temporal.example.org:7233",
    )
    yield SettingKey("temporal_namespace", "The namespace of the fleet there.", built_in="default")
    yield _file("temporal_tls_ca", "A file with the certificates that prove the server's; this turns TLS on.")
    yield _file("temporal_tls_cert", "A file with the certificate of this host, for TLS.")
    yield _file("temporal_tls_key", "A file (0600) with its key.")
    yield _file("temporal_api_key_file", "A file (0600) with a key for the server's API.")


def notify_keys() -> Iterator[SettingKey]:
    """The keys that are about notifications."""
    usual = TellRules()
    yield SettingKey("notify_command", "A command that is run to tell you something; it gets JSON on stdin.", "words")
    yield SettingKey("notify_webhook", "An address that gets signed messages (JSON, POST).", "url", secret=True)
    yield SettingKey("notify_webhook_secret", "The secret that these messages are signed with.", secret=True)
    yield SettingKey("notify_ntfy", "The topic of ntfy that gets messages.", "topic", secret=True)
    yield SettingKey("notify_ntfy_token", "The access token for that topic.", secret=True)
    yield SettingKey("notify_desktop", "Show messages on the desktop (notify-send).", "choice", ("off", "on"), "off")
    yield SettingKey("notify_apprise", "An address of Apprise (needs the extra `apprise`).", secret=True)
    yield SettingKey("notify_about", "What you are told of.", "events", built_in=",".join(usual.about))
    yield SettingKey("notify_text", "Send the text of a question too, masked.", "choice", ("off", "on"), "off")
    yield SettingKey("notify_dwell", "How long something must last before you are told.", "duration", built_in="30s")
    yield SettingKey("notify_hourly", "The most messages in an hour.", "count", built_in=usual.hourly)
    yield SettingKey("notify_quiet", "Hours without messages; what comes then is told together.", "hours")
    yield SettingKey("notify_report_at", "When you are told of the daily report.", "clock")
