"""Which agents there are on this machine, and whether they would work. Needs no daemon."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from rekindle import __version__
from rekindle.agents.base.kind import AgentKind
from rekindle.ports.agent_programs import AgentPrograms, DryStart


class AgentRow(msgspec.Struct, frozen=True):
    """An agent: whether it is installed, and what it can do."""

    name: str
    title: str
    program: str | None
    installed: bool
    version: str
    resumes: str
    native: bool
    untested: str
    proof: str
    record_checked: bool
    compacts: bool
    missing: str


class InstalledAgent(msgspec.Struct, frozen=True):
    """An agent that could do the work."""

    name: str
    title: str


class AgentStanding(msgspec.Struct, frozen=True):
    """An agent that is installed: its version, and the name of what shows that it has a key or a login."""

    name: str
    title: str
    version: str
    account: str


class AgentCheck(msgspec.Struct, frozen=True):
    """What a dry start of an agent showed."""

    kind: AgentKind
    program: str | None
    found: DryStart


class AgentOverview:
    """The agents that rekindle knows, in one environment."""

    def __init__(self, kinds: Mapping[str, AgentKind], programs: AgentPrograms, environment: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._programs = programs
        self._environment = environment

    def listed(self) -> list[AgentRow]:
        """What is installed, in which version, and what it can do."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self._row, self._kinds.values()))

    def installed(self) -> list[InstalledAgent]:
        """The agents whose programs are installed, without the built-in ones. Starts nothing."""
        every = (kind for kind in self._kinds.values() if kind.program)
        found = (kind for kind in every if self._programs.path_of(kind, self._environment) is not None)
        return [InstalledAgent(kind.name, kind.title) for kind in found]

    def standing(self) -> list[AgentStanding]:
        """The state of each installed agent, as far as it can be seen without asking anybody."""
        names = [one.name for one in self.installed()]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self._standing, (self._kinds[name] for name in names)))

    def _standing(self, kind: AgentKind) -> AgentStanding:
        version = self._row(kind).version
        return AgentStanding(kind.name, kind.title, version, self._programs.account_of(kind, self._environment))

    def check(self, name: str) -> AgentCheck:
        """Start an agent without a prompt: does it answer, what can it do, what is missing?"""
        kind = self._kinds[name]
        found = self._programs.check(kind, self._environment)
        return AgentCheck(kind, self._programs.path_of(kind, self._environment), found)

    def _row(self, kind: AgentKind) -> AgentRow:
        path = self._programs.path_of(kind, self._environment)
        version = __version__ if not kind.program else ""
        if kind.program and path is not None:
            version = self._programs.version_of(kind, path, self._environment)
        return AgentRow(
            name=kind.name,
            title=kind.title,
            program=path,
            installed=path is not None or not kind.program,
            version=version,
            resumes=kind.resumes,
            native=kind.native,
            untested=kind.untested,
            proof=kind.proof,
            record_checked=kind.transcript is not None,
            compacts=kind.compact is not None,
            missing=kind.missing if path is None and kind.program else "",
        )
