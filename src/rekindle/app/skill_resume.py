"""The way back into a skill session: what was found, the question how to go on, and what each answer does.

With dehydrated context there is no question (the fast path). Without it the artifacts are scanned and the decision
tree is put to a person (the slow path). Nothing is created again, nothing is parsed again.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.app.skill_moves import question_id
from rekindle.app.skill_sessions import ContinuedSkill, SkillSessions
from rekindle.core.skill import decision, lifecycle, manual, telling
from rekindle.core.skill.artifacts import Artifacts
from rekindle.core.skill.decision import ChosenWay
from rekindle.core.skill.lifecycle import Claimant
from rekindle.core.skill.moves import JudgedMove, judge
from rekindle.core.skill.progress import SkillProgress, derive
from rekindle.core.skill.skill import upper
from rekindle.core.skill.state import SkillQuestion, SkillState
from rekindle.core.skill.topics import SameTopic, compare
from rekindle.ports.errors import QuestionError, UsageError
from rekindle.ports.skills import NoSkillSession


class FoundResume(msgspec.Struct, frozen=True):
    """What a resume finds: the state, the artifacts, and the progress that they prove."""

    folder: str
    shown: str
    state: SkillState
    artifacts: Artifacts
    progress: SkillProgress

    @property
    def is_fast(self) -> bool:
        """Whether dehydrated context is there, so that nobody is asked."""
        return self.state.dehydrated_context is not None

    @property
    def artifact_names(self) -> list[str]:
        """The artifacts that were found, in words."""
        begin, rules = upper(self.state.skill), self.state.rules
        return self.artifacts.named(
            rules.log or f"{begin}_LOG.md", rules.plan or f"{begin}_PLAN.md", rules.debrief or f"{begin}.md"
        )

    @property
    def intent(self) -> list[str]:
        """The report before anything is done."""
        if self.is_fast:
            return telling.overflow_intent(self.shown, self.state.skill, self.state.current_phase)
        phase = self.state.current_phase
        return telling.manual_intent(self.shown, self.state.skill, phase, self.artifact_names, self.progress.told)


class ResumedSkill(msgspec.Struct, frozen=True):
    """What came of a choice. `proof` is None where nothing was resumed (the session was abandoned)."""

    folder: str
    state: SkillState
    method: str
    proof: dict[str, str] | None
    told: list[str]


class SkillResuming:
    """Raises RekindleError."""

    def __init__(self, sessions: SkillSessions) -> None:
        self._sessions = sessions

    def look(self, given: str | None) -> FoundResume:
        """Steps 2S and 3S: which session, and what was accomplished in it."""
        sessions = self._sessions
        folder = sessions.to_continue(given)
        state = sessions.load(folder)
        if state.lifecycle == lifecycle.COMPLETED:
            offered = ", ".join(state.next_skills)
            hint = f"{sessions.folders.shown(folder)} is completed" + (f"; next skills: {offered}" if offered else "")
            raise NoSkillSession(telling.NO_SESSION, hint, details={"nextSkills": list(state.next_skills)})
        holder = sessions.folders.holder(state)
        if holder is not None:
            raise sessions.held(folder, holder)
        found = sessions.folders.scan(folder, state)
        return FoundResume(folder, sessions.folders.shown(folder), state, found, derive(state, found))

    def ask(self, found: FoundResume) -> SkillQuestion:
        """Step 5S: put the question where it can be answered from anywhere. An answer that is there stays."""
        question = self.question(found)

        def change(state: SkillState) -> SkillState:
            asked = state.question
            if asked is not None and asked.id == question.id and asked.kind == "resume":
                return state
            return replace(state, question=question)

        after = self._sessions.changed(found.folder, change)
        return after.question or question

    def question(self, found: FoundResume) -> SkillQuestion:
        """The question with its fixed options."""
        options = [*decision.TREE, *decision.OTHER]
        extras = "; ".join(f"{one.code}: {one.title}" for one in decision.EXTRAS)
        return SkillQuestion(
            question_id(found.folder, "resume", found.state.current_phase),
            "resume",
            decision.asked_in_words(found.state.current_phase, found.progress.left),
            [(one.code, f"{one.title}: {one.about}", "choice") for one in options]
            + [(decision.CUSTOM, "Something else, in your own words", "instruct")],
            time.time(),
            about=found.state.current_phase,
            detail="\n".join([*found.intent, f"Extras, before you decide: {extras}"]),
        )

    def answered(self, found: FoundResume) -> ChosenWay | None:
        """The answer that somebody gave in the inbox, if there is one."""
        asked = found.state.question
        if asked is None or asked.kind != "resume" or not asked.option:
            return None
        typed = f"{asked.option}:{asked.text}" if asked.option == decision.CUSTOM else asked.option
        return decision.chosen(typed)

    def fast(self, found: FoundResume) -> ResumedSkill:
        """Steps 3F to 9F."""
        context = found.state.dehydrated_context
        assert context is not None
        done = self._sessions.proceed(found.folder)
        told = telling.announcement(done.state.skill, done.state.current_phase, context)
        told += telling.orders(done.state, found.shown)
        return ResumedSkill(found.folder, done.state, "Resume", done.proof, told)

    def act(self, found: FoundResume, way: ChosenWay, skill: str | None = None) -> ResumedSkill:
        """Steps 6S and 7S: carry out a choice that goes on, and log it."""
        sessions = self._sessions
        match way.choice:
            case "RSM":
                done = sessions.go_on(found.folder, lifecycle.continued, way.method)
                return self._logged(found, done, way.method, telling.orders(done.state, found.shown))
            case "RST":
                by = sessions.by()
                done = sessions.go_on(
                    found.folder,
                    lambda state, who: lifecycle.restarted(lifecycle.continued(state, who), who.at, by),
                    way.method,
                    outcome="restarted",
                )
                return self._logged(found, done, way.method, telling.orders(done.state, found.shown, redo=True))
            case "SWT":
                return self._switch(found, skill, way.text)
            case "OTH/ABN":
                return self._abandon(found)
            case "OTH/custom":
                return self._new_input(found, way.text, skill)
            case _:
                raise UsageError(f"{way.choice} only shows something", "choose how to go on")

    def same_topic(self, found: FoundResume) -> list[SameTopic]:
        """Extra C: newer sessions on the same topic, and why that is thought."""
        folders = self._sessions.folders
        every = folders.seen()
        mine = next((one for one in every if one.folder == found.folder), None)
        since = mine.newest if mine is not None else 0.0
        own = found.folder.rpartition("/")[2]
        same = []
        for one in every:
            if one.folder == found.folder or one.newest <= since:
                continue
            log = folders.log_end(one.folder, f"{upper(one.skill)}_LOG.md") if one.skill else ""
            match = compare(own, found.artifacts.log_end, one.folder.rpartition("/")[2], log)
            if match is not None:
                same.append(replace(match, folder=folders.shown(one.folder)))
        return sorted(same, key=lambda one: -one.score)

    def _switch(self, found: FoundResume, skill: str | None, text: str = "") -> ResumedSkill:
        chosen = self._sessions.skills.load(self._picked(found, skill, text))

        def change(state: SkillState, who: Claimant) -> SkillState:
            return replace(lifecycle.switched(state, chosen, who), loading=False)

        done = self._sessions.take_up(found.folder, change, "Switch", outcome=f"switched to {chosen.name}")
        told = [f"Read the skill's instructions and follow them in this folder: {chosen.file}"]
        told += [f"New input: {text}"] if text else []
        return self._logged(found, done, f"Switch to {chosen.name}", told)

    def _picked(self, found: FoundResume, skill: str | None, text: str) -> str:
        """The skill that was picked. Raises QuestionError with all of them if none was."""
        if skill is not None:
            return skill
        known = {name: about for name, about in self._sessions.skills.names().items() if name != manual.NAME}
        question = "Which skill should take this session over?"
        again = f"--choose {'OTH/custom:TEXT' if text else 'SWT'} --skill NAME"
        raise QuestionError(
            "which skill should take this session over? " + (", ".join(known) or "no skill is installed"),
            f"rekindle session resume {self._sessions.named(found.folder)} {again}",
            code="skill_picker",
            details={
                "skills": [{"name": name, "description": about} for name, about in known.items()],
                "askUserQuestion": [decision.choice_for_tool(question, "Skill", list(known.items()))],
            },
        )

    def _abandon(self, found: FoundResume) -> ResumedSkill:
        by = self._sessions.by()

        def change(state: SkillState) -> SkillState:
            self._sessions.refuse_completed(state)
            holder = self._sessions.folders.holder(state)
            if holder is not None:
                raise self._sessions.held(found.folder, holder)
            return lifecycle.closed(state, self._sessions.folders.me().at, abandoned=f"abandoned by {by} at a resume")

        state = self._sessions.changed(found.folder, change)
        self._log(found, "Abandon")
        told = ["The session is closed. Start fresh: rekindle session activate NEW_FOLDER SKILL"]
        return ResumedSkill(found.folder, state, "Abandon", None, told)

    def _new_input(self, found: FoundResume, text: str, skill: str | None) -> ResumedSkill:
        """A person's own words: to the skill's interrogation, or to another skill where it has none."""
        to = found.state.rules.interrogation
        if to is None or skill is not None:
            return self._switch(found, skill, text)
        by = self._sessions.by()

        def change(state: SkillState, who: Claimant) -> SkillState:
            after = lifecycle.continued(state, who)
            judged = judge(state.phases, state.label, to)
            if not isinstance(judged, JudgedMove) or judged.kind not in ("back", "same"):
                return after  # the interrogation is still to come: nothing is skipped for it
            return lifecycle.moved(after, judged, who.at, reason=f"new input: {text}", approved_by=by)

        done = self._sessions.go_on(found.folder, change, "Other")
        told = [f"New input, to be taken up in {done.state.current_phase}: {text}"]
        return self._logged(found, done, "Other (new input)", told + telling.orders(done.state, found.shown))

    def _logged(self, found: FoundResume, done: ContinuedSkill, method: str, told: list[str]) -> ResumedSkill:
        self._log(found, method, done.state.current_phase)
        return ResumedSkill(found.folder, done.state, method, done.proof, told)

    def _log(self, found: FoundResume, method: str, phase: str | None = None) -> None:
        at = phase or found.state.current_phase
        entry = telling.manual_entry(at, method, found.artifact_names, found.progress.told)
        name = self._sessions.log_name(found.state)
        self._sessions.folders.append_log(found.folder, name, entry)


def document_of(found: FoundResume, question: SkillQuestion | None) -> dict[str, Any]:
    """What was found, for programs."""
    return {
        "folder": found.folder,
        "skill": found.state.skill,
        "savedPhase": found.state.current_phase,
        "lifecycle": found.state.lifecycle,
        "path": "fast" if found.is_fast else "slow",
        "artifacts": msgspec.to_builtins(replace(found.artifacts, log_end="")),
        "progress": {**msgspec.to_builtins(found.progress), "told": found.progress.told},
        "phaseHistory": found.state.history,
        "intent": found.intent,
        "askUserQuestion": None if question is None else decision.for_question_tool(question.title),
    }
