"""Running and resuming features from a terminal: what is meant, what would be done, and doing it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rekindle.app.feature_resume import SHORTEST_YES, ExplainedFeature, FeatureOutlook
from rekindle.app.requests import FeatureResumeRequest, PlanRequest
from rekindle.core.feature.naming import branch_word
from rekindle.core.names import why_not
from rekindle.core.terminal_text import printable, quoted
from rekindle.ports.daemon import Daemon, NoDaemon
from rekindle.ports.errors import NoRepository, RekindleError, UsageError
from rekindle.ports.workspace import Workspace

Told = dict[str, Any]


class Outcome(msgspec.Struct, frozen=True):
    """The result for one feature when all are resumed."""

    feature: str
    about: str
    goes_on: bool = False


class FeatureResuming:
    """The features of the repository around the current folder. `environment` is what their agents get."""

    def __init__(
        self,
        open_here: Callable[[], Workspace],
        outlook: FeatureOutlook,
        daemon: Daemon,
        environment: Mapping[str, str],
    ) -> None:
        self._open_here = open_here
        self._outlook = outlook
        self._daemon = daemon
        self._environment = environment

    def meant(self, what: str | None, *, every: bool) -> str | None:
        """The feature that WHAT means, or the only interrupted one; None if a session is meant."""
        try:
            here = self._open_here()
            if what is not None:
                is_name = why_not(what) is None
                return what if is_name and here.journal(what).path.exists() else None
            if every:
                return None
            found = _interrupted(here)
        except NoRepository:
            return None
        if len(found) > 1:
            names = ", ".join(found)
            raise UsageError(f"{len(found)} features are interrupted: {names}", "name one, or use --all")
        return found[0] if found else None

    def admit(self, feature: str, yes: str) -> bool:
        """Accept a run of the feature that nobody here started; False if the approval matches none."""
        return len(yes) >= SHORTEST_YES and self._open_here().admit(feature, yes)

    def explain(self, feature: str) -> ExplainedFeature:
        """Everything that a resume would do. Changes nothing."""
        return self._outlook.explain(self._open_here(), feature, self._environment.get("HOME", ""))

    def begin(self, asked: PlanRequest) -> Told:
        """Have the daemon run a plan."""
        return self._daemon.ask("feature_begin", **msgspec.to_builtins(asked))

    def resume(self, asked: FeatureResumeRequest) -> Told:
        """Have the daemon resume a feature."""
        return self._daemon.ask("feature_resume", **msgspec.to_builtins(asked))

    def state(self, cwd: str, feature: str) -> Told:
        """The state of a run. Raises NoDaemon if it is gone with its daemon."""
        return self._daemon.ask("feature_state", start=False, cwd=cwd, feature=feature)

    def stop(self, feature: str) -> Told:
        """End a run; it can be resumed."""
        return self._daemon.ask("feature_stop", start=False, cwd=os.getcwd(), feature=feature)

    def interrupted(self) -> list[str]:
        """The features here that never ended and that nobody is working on; none outside a repository."""
        try:
            return _interrupted(self._open_here())
        except NoRepository:
            return []

    def resume_each(self, features: list[str]) -> Iterator[Outcome]:
        """Resume each of these that needs no answer; for the others, say what a person has to do."""
        here = self._open_here() if features else None
        for feature in features:
            try:
                assert here is not None
                yield self._resume_unasked(here, feature)
            except NoDaemon:
                raise
            except RekindleError as error:  # a problem with one must not hold up the others
                yield Outcome(feature, f"skipped, {printable(error.message)} ({printable(error.hint)})")

    def worktrees_of(self, features: list[str]) -> list[str]:
        """The folders of their worktrees: an agent that works there comes back with its feature, or not at all."""
        top = self._open_here().worktrees_top if features else ""
        return [os.path.join(top, branch_word(feature)) for feature in features]

    def _resume_unasked(self, here: Workspace, feature: str) -> Outcome:
        told = self._outlook.explain(here, feature, "")
        again = f"rekindle resume {quoted(feature)}"
        if told.unapproved is not None:
            why = "its journal was not written by your rekindle on this machine"
            return Outcome(feature, f"skipped, {why}; see what it would run: {again}")
        if told.case in ("B", "C"):
            return Outcome(feature, f"skipped, it asks (case {told.case}): {again}")
        if any(row["state"] == "asked" for row in told.strays):
            return Outcome(feature, f"skipped, it asks about work that is not on its task's branch: {again}")
        if told.unstaffed and told.agent_from == "built in":
            why = "no agent is set, and its tasks name none"
            return Outcome(feature, f"skipped, {why}: rekindle config set agent NAME, or {again} --agent NAME")
        asked = FeatureResumeRequest(cwd=os.getcwd(), feature=feature, env=dict(self._environment), **told.terms)
        begun = self.resume(asked)
        return Outcome(feature, f"run {begun['sid']} goes on with run {told.run}.", goes_on=True)


def _interrupted(here: Workspace) -> list[str]:
    names = [item.name for item in here.features() if item.tail is not None and not item.error]
    return [name for name in names if here.analysis(name)[0].is_interrupted]
