"""What rekindle has to know about an agent, as one value per agent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.transcript import Record, TranscriptDialect
from rekindle.core.session.facts import How


@dataclass(frozen=True)
class AgentStart:
    """One start of an agent. `at` and `fork_of`: begin as a copy of another conversation, up to that message."""

    how: How
    token: str | None
    model: str | None = None
    permission: str = "edits"
    arguments: tuple[str, ...] = ()
    fork_of: str | None = None
    at: str | None = None


class DatabaseDialect(Protocol):
    """The record of an agent that keeps all its conversations in one database. It is read, and never written."""

    #: Selects the rows of one conversation, in their order; its name is the only parameter.
    query: str

    def place(self, environment: Mapping[str, str], cwd: str) -> str:
        """The database's absolute path. `cwd` is the real path of the agent's folder. Raises NoPlace."""
        ...

    def read(self, rows: Iterable[tuple[object, ...]]) -> Record:
        """What the rows say, as far as they can be read."""
        ...


#: Folders of settings, with the login in them.
_HOMES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")


@dataclass(frozen=True)
class AccountSigns:
    """What shows that an agent has a key or a login: variables that are set, files that exist in the home.

    Only their existence is checked. A login may be elsewhere (in a key ring), so the absence of a sign proves nothing.
    """

    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def mark(self, environment: Mapping[str, str]) -> str:
        """A short mark of the account that an environment chooses: by a key, or by a folder for settings.

        Empty: it chooses none, so that it is the usual account. No key can be found out from its mark.
        """
        chosen = [f"{name}={environment[name]}" for name in (*self.variables, *_HOMES) if environment.get(name)]
        return hashlib.sha256("\0".join(chosen).encode(errors="surrogateescape")).hexdigest()[:8] if chosen else ""


@dataclass(frozen=True)
class AgentKind:
    """An agent. Everything here is a fact about the program, or a pure function.

    `dialect` is given the attempt's number, the folder and the known token. `mint` names a new conversation if the
    agent lets us choose the name. `proof`: what shows that a conversation is the same, a replay while it is loaded or
    the agent's own transcript; `transcript` reads the latter, and `database` reads the record of an agent that has no
    file for each conversation. If the place of a transcript is a pattern, `new_place` gets the pattern and a record
    from elsewhere, and says where to put it (None: nobody can tell). `compact` is the prompt that makes the agent
    shorten its conversation. `model` finds the model in an environment if none was named. `refused` finds an argument
    that the user may not give. `terminal` is the command line for an agent that is used as an interactive program, and
    `terminal_mint` names a conversation there if `mint` does not.

    `stable` are variables that keep what changes from start to start out of its system prompt. The agent then does not
    know it, so the user has to agree.

    `program` is looked up on the PATH (empty: built in), and `version` makes it print its version. `variables` are
    added to the environment of a start. `resumes` says in words how the agent resumes a conversation, and `native`
    whether that is trusted: if not, a new conversation is told the history unless somebody asks for the agent's own
    way. `verbatim`: a load shows prompts and answers word for word as the model gets them. `load_span`: a conversation
    may be loaded once per this many seconds of the clock (60: in each minute), and not in the span in which it began;
    0: at any time. `faults` are the known ones, as sentences, and `untested` is what could not be tried without an
    account. `missing` says what to do if the program is not installed, and `node` is the oldest Node that its package
    requires (0: none, or one that everybody has). `account` is what shows that it has one.
    """

    name: str
    title: str
    argv: Callable[[AgentStart], tuple[str, ...]]
    dialect: Callable[[int, str, str | None], Dialect]
    mint: Callable[[str, int], str] | None = None
    proof: Literal["replay", "transcript"] = "replay"
    transcript: TranscriptDialect | None = None
    database: DatabaseDialect | None = None
    new_place: Callable[[str, bytes], str | None] = lambda _pattern, _data: None
    compact: str | None = None
    model: Callable[[dict[str, str]], str | None] = lambda _: None
    refused: Callable[[tuple[str, ...]], str | None] = lambda _: None
    can_fork: bool = False
    missing: str = ""
    node: int = 0
    terminal: Callable[[AgentStart], tuple[str, ...]] | None = None
    terminal_mint: Callable[[str, int], str] | None = None
    program: str = ""
    version: tuple[str, ...] = ("--version",)
    variables: Callable[[AgentStart, Mapping[str, str]], dict[str, str]] = lambda _start, _environment: {}
    resumes: str = "session/load"
    native: bool = True
    verbatim: bool = False
    load_span: float = 0.0
    faults: tuple[str, ...] = ()
    untested: str = ""
    account: AccountSigns = AccountSigns()
    stable: tuple[tuple[str, str], ...] = ()


def refusing(*flags: str) -> Callable[[tuple[str, ...]], str | None]:
    """Finds the first argument that is one of these flags, also in the form `--flag=value`."""
    ours = frozenset(flags)
    return lambda arguments: next((one for one in arguments if one.partition("=")[0] in ours), None)
