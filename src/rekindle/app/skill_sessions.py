"""Skill sessions: activated, continued, logged, put aside, closed; one state file per folder, one holder at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from rekindle.core.inside import is_marked
from rekindle.core.skill import lifecycle, plain_json, redeclared, telling
from rekindle.core.skill.dehydration import BadContext, DehydratedContext, context_of
from rekindle.core.skill.holding import SeenSession, in_use, meant
from rekindle.core.skill.lifecycle import Claimant
from rekindle.core.skill.moves import moves_told, next_after, open_moves
from rekindle.core.skill.proof import SCHEMA, ResumePath, proof_of
from rekindle.core.skill.skill import Skill
from rekindle.core.skill.state import SkillResume, SkillState, document
from rekindle.core.terminal_text import quoted
from rekindle.ports.ancestry import Ancestry
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.skills import MoveRefused, NoSkillSession, ProofChecker, SkillFiles, SkillFolders, SkillSessionHeld

LONGEST_ENTRY = 1 << 20
BEGIN = "begin one: rekindle session activate DIR SKILL"
By = Literal["agent", "person"]


class FoundSkillSession(msgspec.Struct, frozen=True):
    """A folder and its state."""

    folder: str
    state: SkillState


class ActivatedSkill(msgspec.Struct, frozen=True):
    """What an activation did."""

    folder: str
    state: SkillState
    how: Literal["begun", "reactivated", "switched"]


class ContinuedSkill(msgspec.Struct, frozen=True):
    """A session that goes on, with the proof of it. `context` is what was acknowledged, on the fast path."""

    folder: str
    state: SkillState
    proof: dict[str, str]
    context: DehydratedContext | None = None


class SkillSessions:
    """Raises RekindleError."""

    def __init__(
        self,
        folders: SkillFolders,
        skills: SkillFiles,
        proofs: ProofChecker,
        ancestry: Ancestry,
        environment: Mapping[str, str],
    ) -> None:
        self.folders = folders
        self.skills = skills
        self.proofs = proofs
        self._ancestry = ancestry
        self._environment = environment

    def by(self) -> By:
        """Who calls: an agent, which may claim things, or a person."""
        return "agent" if is_marked(self._environment) or self._ancestry.is_inside() else "person"

    # Which session

    def to_continue(self, given: str | None) -> str:
        """The folder that `continue` and `resume` mean: the given one, mine, my pane's, the newest free one."""
        if given is not None:
            return self.folders.resolve(given)
        found = self.folders.seen()
        best = meant(found, self.folders.me().pane)
        if best is not None:
            return best.folder
        held = [one for one in found if one.holder is not None and one.lifecycle != lifecycle.COMPLETED]
        bad = [one for one in found if one.problem]
        if held:
            raise self.held(held[0].folder, held[0].holder or 0)
        raise NoSkillSession(telling.NO_SESSION, bad[0].problem if bad else BEGIN)

    def at_work(self, given: str | None) -> str:
        """The folder that a command of a working agent means: the given one, mine, my pane's. Never a guess."""
        if given is not None:
            return self.folders.resolve(given)
        found = self.folders.seen()
        best = in_use(found, self.folders.me().pane)
        if best is not None:
            return best.folder
        free = [one for one in found if one.lifecycle != lifecycle.COMPLETED and one.holder is None]
        if len(free) == 1 and self.by() == "person":
            return free[0].folder
        hint = "name its folder, or claim one first: rekindle session continue DIR"
        raise NoSkillSession("this process holds no skill session", hint if found else BEGIN)

    def to_show(self, given: str | None) -> str:
        """The folder that a reading command means: the given one, mine, my pane's, else the newest of all."""
        if given is not None:
            return self.folders.resolve(given)
        found = sorted(self.folders.seen(), key=lambda one: one.newest, reverse=True)
        best = in_use(found, self.folders.me().pane) or next(iter(found), None)
        if best is None:
            raise NoSkillSession(telling.NO_SESSION, BEGIN)
        return best.folder

    def load(self, folder: str) -> SkillState:
        """The state of a folder. Raises NoSkillSession if it has none."""
        state = self.folders.read(folder)
        if state is None:
            raise self._no_session(folder)
        return state

    def _no_session(self, folder: str) -> NoSkillSession:
        begin = f"`rekindle session activate {self.named(folder)} SKILL` begins one"
        return NoSkillSession(telling.NO_SESSION, f"{self.folders.shown(folder)} has no .state.json; {begin}")

    def find(self) -> tuple[SeenSession | None, list[SeenSession]]:
        """The session that is meant here, and all of them, the newest first."""
        found = sorted(self.folders.seen(), key=lambda one: one.newest, reverse=True)
        return meant(found, self.folders.me().pane), found

    # What happens to it

    def activate(
        self, given: str, name: str, parameters: Mapping[str, Any] | None = None, pid: int | None = None
    ) -> ActivatedSkill:
        """Activate a skill on a folder, or activate it again for a new process."""
        folder = self.folders.resolve(given)
        if self.folders.read(folder) is None:
            self.skills.load(name)  # so that no folder is made for a skill that is not there
        who = self.folders.me(pid)
        how: list[Literal["begun", "reactivated", "switched"]] = []

        def change(state: SkillState | None) -> SkillState:
            if state is None:
                how.append("begun")
                return lifecycle.begun(self.skills.load(name), who, parameters or {})
            self._refuse_held(folder, state, who)
            if state.skill == name:
                self.refuse_completed(state)
                self.refuse_edited(folder, state)
                how.append("reactivated")
                return lifecycle.reactivated(state, who)
            if state.lifecycle not in (lifecycle.COMPLETED, "idle"):
                raise UsageError(
                    f"{self.folders.shown(folder)} is at work with the skill {state.skill!r}, at {state.current_phase}",
                    f"switch: rekindle session resume {self.named(folder)} --choose SWT --skill {quoted(name)}",
                )
            how.append("switched")
            return lifecycle.switched(state, self.skills.load(name), who)

        state = self.folders.change(folder, change)
        self.folders.remember(folder, who)
        return ActivatedSkill(folder, state, how[-1])

    def proceed(self, folder: str, pid: int | None = None) -> ContinuedSkill:
        """Claim a session and go on at its phase. On the fast path the restart is written to the log."""
        kept: list[DehydratedContext | None] = []
        self._drop_notes_of_completed(folder)

        def change(state: SkillState, who: Claimant) -> SkillState:
            kept.append(state.dehydrated_context)
            return lifecycle.continued(state, who)

        done = self.go_on(folder, change, "Continue", pid)
        context = kept[-1]
        if context is not None:
            entry = telling.overflow_entry(done.state.current_phase, context)
            self.folders.append_log(folder, self.log_name(done.state), entry)
        return ContinuedSkill(folder, done.state, done.proof, context)

    def _drop_notes_of_completed(self, folder: str) -> None:
        """A session that was completed before its overflow: its notes are seen, and not given to anybody again."""

        def change(state: SkillState) -> SkillState:
            if state.lifecycle != lifecycle.COMPLETED or state.dehydrated_context is None:
                return state
            self._keep_dropped(folder, state, self.folders.me().at)
            return lifecycle.acknowledged(state)

        self._changed(folder, change)

    def go_on(
        self,
        folder: str,
        change: Callable[[SkillState, Claimant], SkillState],
        method: str,
        pid: int | None = None,
        *,
        outcome: str = "reactivated",
    ) -> ContinuedSkill:
        """Take a session over at its saved phase, which its skill has to declare still."""

        def at_phase(state: SkillState, who: Claimant) -> SkillState:
            self.refuse_edited(folder, state)
            return change(state, who)

        return self.take_up(folder, at_phase, method, pid, outcome=outcome)

    def take_up(
        self,
        folder: str,
        change: Callable[[SkillState, Claimant], SkillState],
        method: str,
        pid: int | None = None,
        *,
        outcome: str = "reactivated",
    ) -> ContinuedSkill:
        """Take a session over for this process, in one step with the proof of it."""
        who = self.folders.me(pid)
        by = self.by()

        def taken(state: SkillState | None) -> SkillState:
            if state is None:
                raise self._no_session(folder)
            self.refuse_completed(state)
            self._refuse_held(folder, state, who)
            path: ResumePath = "slow"
            if state.dehydrated_context is not None:
                path = "fast"
                self._keep_dropped(folder, state, who.at)
            after = change(state, who)
            proof = proof_of(outcome, path, after.current_phase)
            self._validate(proof)
            return lifecycle.proved(after, SkillResume(who.at, method, proof, by))

        after = self.folders.change(folder, taken)
        self.folders.remember(folder, who)
        return ContinuedSkill(folder, after, after.resumes[-1].proof)

    def _keep_dropped(self, folder: str, state: SkillState, at: str) -> None:
        left = {"at": at, "phase": state.current_phase, "session": state.session_id}
        self.folders.keep_dropped(folder, {**left, "context": msgspec.to_builtins(state.dehydrated_context)})

    def write_log(self, path: str, text: str) -> FoundSkillSession:
        """Append an entry to a log in a session's folder, and bring the heartbeat's counter down."""
        directory, _, name = path.rpartition("/")
        folder = self.folders.resolve(directory or ".")
        self.load(folder)
        if not text.strip():
            raise UsageError("the entry is empty", f"give it on standard input: rekindle session log {path} <<'EOF'")
        if len(text) > LONGEST_ENTRY:
            raise UsageError(f"the entry has {len(text)} characters", f"keep it below {LONGEST_ENTRY}")
        if not name or name.startswith("."):
            raise UsageError(f"{path}: is not a log", "name a Markdown file in the session's folder")
        self.folders.append_log(folder, name, text)
        state = self._changed(folder, lambda state: lifecycle.logged(state, self.folders.me().at))
        return FoundSkillSession(folder, state)

    def dehydrate(self, given: str | None, content: bytes) -> FoundSkillSession:
        """Keep an agent's summary for the one that takes over."""
        folder = self.at_work(given)
        try:
            context = context_of(plain_json.loads(content))
        except (ValueError, RecursionError) as error:
            if isinstance(error, BadContext):
                raise UsageError(error.message, error.hint) from error
            raise UsageError(f"the dehydrated context is not JSON ({error})", "give one JSON object") from error

        def change(state: SkillState) -> SkillState:
            problem = lifecycle.why_not_dehydrate(state)
            if problem is not None:
                raise UsageError(
                    f"no summary is taken now: {problem}", f"go on with the phase's work; {self.moves(state)}"
                )
            return lifecycle.dehydrated(state, context, self.folders.me().at)

        return FoundSkillSession(folder, self._changed(folder, change))

    def idle(self, given: str | None) -> FoundSkillSession:
        """Put a session aside: its work is done, and it may be continued later."""
        folder = self.at_work(given)

        def change(state: SkillState) -> SkillState:
            self.refuse_completed(state)
            return lifecycle.idled(state, self.folders.me().at)

        return FoundSkillSession(folder, self._changed(folder, change))

    def close(self, given: str | None, reason: str = "") -> FoundSkillSession:
        """End a session. Before its last phase that needs a reason, and then counts as abandoned."""
        folder = self.at_work(given)

        def change(state: SkillState) -> SkillState:
            self.refuse_completed(state)
            following = next_after(state.phases, state.label)
            if following is not None and not reason and state.lifecycle != "idle":
                raise MoveRefused(
                    f"{state.current_phase} is not the last phase: {following.text} follows",
                    f"{self.moves(state)}; to abandon the session: --approve REASON",
                )
            abandoned = reason if following is not None and state.lifecycle != "idle" else ""
            return lifecycle.closed(state, self.folders.me().at, abandoned=abandoned)

        return FoundSkillSession(folder, self._changed(folder, change))

    # How it is shown

    def shown(self, folder: str) -> dict[str, Any]:
        """The state file's fields, the moves that are open, and who holds it."""
        state = self.load(folder)
        holder = self.folders.holder(state)
        is_open = state.lifecycle != lifecycle.COMPLETED and self.edited(state) is None
        return {
            **document(state),
            "folder": folder,
            "moves": open_moves(state.phases, state.label) if is_open else [],
            "heldBy": state.pid if self.folders.is_mine(state) else holder,
            "receipt": msgspec.to_builtins(state.resumes[-1]) if state.resumes else None,
        }

    def log_name(self, state: SkillState) -> str:
        """The file that a session's log is in."""
        from rekindle.core.skill.skill import upper

        return state.rules.log or f"{upper(state.skill)}_LOG.md"

    def named(self, folder: str) -> str:
        """A folder as it has to be typed."""
        shown = self.folders.shown(folder)
        return (
            shown
            if shown.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum()
            else quoted(shown)
        )

    # What is refused

    def refuse_completed(self, state: SkillState) -> None:
        """Raise NoSkillSession if a session is over: it is never activated again."""
        if state.lifecycle == lifecycle.COMPLETED:
            offered = ", ".join(state.next_skills)
            hint = f"next skills: {offered}" if offered else "begin a new one: rekindle session activate DIR SKILL"
            raise NoSkillSession(
                telling.COMPLETED, hint, code="completed", details={"nextSkills": list(state.next_skills)}
            )

    def edited(self, state: SkillState) -> Skill | None:
        """The session's skill, if it was edited and lacks the saved phase now; None: it has it, or cannot be read."""
        try:
            skill = self.skills.load(state.skill)
        except RekindleError:
            return None
        return skill if redeclared.is_gone(state, skill) else None

    def moves(self, state: SkillState) -> str:
        """The moves that are open, in words."""
        skill = self.edited(state)
        return moves_told(state.phases, state.label) if skill is None else redeclared.moves(skill)

    def refuse_edited(self, folder: str, state: SkillState) -> None:
        """Raise MoveRefused if the saved phase is not declared any more: somebody has to say where to go on."""
        skill = self.edited(state)
        if skill is not None:
            command = f"rekindle session phase LABEL --dir {self.named(folder)} --approve REASON"
            hint = f"{redeclared.moves(skill)}; say where to go on: {command}; then run this command again"
            details: dict[str, object] = {
                "savedPhase": state.current_phase,
                "phases": [one.text for one in skill.phases],
            }
            raise MoveRefused(redeclared.why(state, skill), hint, code="phase_not_declared", details=details)

    def _refuse_held(self, folder: str, state: SkillState, who: Claimant) -> None:
        holder = self.folders.holder(state)
        if holder is not None and holder != who.pid:
            raise self.held(folder, holder)

    def held(self, folder: str, pid: int, moves: str = "") -> SkillSessionHeld:
        """The refusal of a session that another live process holds. `moves`: which ones are open to its holder."""
        return SkillSessionHeld(
            f"{self.folders.shown(folder)} is held by the live process {pid}",
            f"wait until it ends, or end it; `rekindle session show {self.named(folder)}` shows the session"
            + (f"; {moves}" if moves else ""),
            details={"pid": pid, "folder": folder},
        )

    def _changed(self, folder: str, change: Callable[[SkillState], SkillState]) -> SkillState:
        def on_state(state: SkillState | None) -> SkillState:
            if state is None:
                raise self._no_session(folder)
            return change(state)

        if self.folders.read(folder) is None:  # so that no folder is made for a session that is not there
            raise self._no_session(folder)
        return self.folders.change(folder, on_state)

    changed = _changed

    def _validate(self, proof: dict[str, str]) -> None:
        problems = self.proofs.problems(SCHEMA, proof)
        if problems:
            raise RekindleError(f"the proof of this resume is not valid: {problems[0]}", "report this as a bug")
