"""Moves between the phases of a skill session: proofs, approvals, and the gate at a phase's end."""

from __future__ import annotations

import hashlib
import time
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rekindle.app.skill_sessions import By, FoundSkillSession, SkillSessions
from rekindle.core.inbox.question import Question, QuestionOption
from rekindle.core.session.asking import MARK
from rekindle.core.skill import lifecycle, plain_json, redeclared
from rekindle.core.skill.decision import RECOMMENDED
from rekindle.core.skill.moves import JudgedMove, RefusedMove, judge, next_after
from rekindle.core.skill.skill import SkillPhase
from rekindle.core.skill.state import SkillQuestion, SkillState
from rekindle.ports.errors import QuestionError
from rekindle.ports.skills import MoveRefused

GateChoice = Literal["proceed", "stay"]
_REASON = "its reason: "


class MovedSkill(msgspec.Struct, frozen=True):
    """A move that was made: the state after it, and who approved it if it was not free."""

    folder: str
    state: SkillState
    kind: str
    approved_by: str = ""


class SkillMoves:
    """Raises RekindleError. Every refusal says which moves are open."""

    def __init__(self, sessions: SkillSessions) -> None:
        self._sessions = sessions

    def move(self, given: str | None, wanted: str, proof: bytes | None, reason: str | None) -> MovedSkill:
        """Enter a phase."""
        sessions = self._sessions
        folder = sessions.at_work(given)
        by = sessions.by()
        done: list[tuple[str, str]] = []
        asked: list[SkillQuestion] = []

        def change(state: SkillState) -> SkillState:
            sessions.refuse_completed(state)
            holder = sessions.folders.holder(state)
            if holder is not None and by == "agent":
                raise sessions.held(folder, holder, sessions.moves(state))
            if reason is not None and not reason.strip():
                raise self._refused("an approval needs a reason: --approve 'why this is right'", state)
            shown = self._json(proof, state) if proof is not None else None
            edited = sessions.edited(state)
            before, state = state, state if edited is None else redeclared.redeclared(state, edited)
            judged = judge(state.phases, state.label, wanted) if edited is None else redeclared.judged(edited, wanted)
            if isinstance(judged, RefusedMove):
                raise self._refused(judged.why, state)
            if proof is not None or judged.proves is not None:
                self._check(judged.proves, shown, proof is not None, state)
            if edited is None:
                self._check_gate(state, judged, folder)
            approved_by, waits = self._approval(state, judged, reason, by)
            if waits:
                asked.append(_approval_question(folder, state, judged, reason or ""))
                return replace(before, question=asked[-1])
            done.append((judged.kind, approved_by))
            at = sessions.folders.me().at
            why = _granted(state, judged)
            why = reason or "" if why is None else why  # what the person has read and approved, not what is said now
            return lifecycle.moved(state, judged, at, reason=why, approved_by=approved_by, proof=shown)

        state = sessions.changed(folder, change)
        if asked:
            raise self._waiting(folder, asked[-1], state)
        return MovedSkill(folder, state, *done[-1])

    def gate(self, given: str | None, choice: GateChoice | None) -> tuple[FoundSkillSession, Question | None]:
        """Ask at a phase's boundary, or take the answer. The question is None once it is answered."""
        sessions = self._sessions
        folder = sessions.at_work(given)
        by = sessions.by()
        left: list[SkillQuestion | None] = []

        def change(state: SkillState) -> SkillState:
            sessions.refuse_completed(state)
            given_before = state.question if _is_answered_gate(state) else None
            answer = choice or (given_before.option if given_before is not None else None)
            is_claim = choice is not None and by == "agent" and state.rules.approver == "person"
            if answer is None or is_claim:
                question = _gate_question(folder, state)
                left.append(question)
                return replace(state, question=question)
            left.append(None)
            return replace(state, gate_passed=state.label if answer == "proceed" else "", question=None)

        state = sessions.changed(folder, change)
        question = left[-1]
        if question is not None and choice is not None:
            raise self._waiting(folder, question, state)
        return FoundSkillSession(folder, state), None if question is None else as_question(folder, question)

    def _check_gate(self, state: SkillState, judged: JudgedMove, folder: str) -> None:
        here = next((one for one in state.phases if one.label == state.label), None)
        if here is None or not here.gate or judged.kind not in ("next", "skip"):
            return
        granted = _is_answered_gate(state) and state.question is not None and state.question.option == "proceed"
        if state.gate_passed != state.label and not granted:
            raise MoveRefused(
                f'the gate of {here.text} has not been answered with "proceed"',
                f"rekindle session gate {self._sessions.named(folder)}; {self._sessions.moves(state)}",
            )

    def _check(self, phase: SkillPhase | None, shown: Any, given: bool, state: SkillState) -> None:
        if phase is None or phase.proof is None:
            return
        fields = ", ".join(map(str, phase.proof.get("required", []))) or "see the skill"
        if not given:
            raise MoveRefused(
                f"{phase.text} needs a proof when you leave it, and none was given",
                f"--proof - with a JSON object on standard input ({fields}); {self._sessions.moves(state)}",
                details={"schema": phase.proof},
            )
        problems = self._sessions.proofs.problems(phase.proof, shown)
        if problems:
            raise MoveRefused(
                f"the proof of {phase.text} is not what the skill asks for: {'; '.join(problems)}",
                f"mend it ({fields}); {self._sessions.moves(state)}",
                details={"schema": phase.proof, "problems": problems},
            )

    def _approval(self, state: SkillState, judged: JudgedMove, reason: str | None, by: By) -> tuple[str, bool]:
        """Who approved a move, and whether it waits for a person. Raises MoveRefused without an approval."""
        if not judged.needs_approval:
            return "", False
        if _granted(state, judged) is not None:
            return "person", False
        if reason is None:
            edited = self._sessions.edited(state)
            what = "goes back" if judged.kind == "back" else "leaves out phases"
            told = f"the move to {judged.to.text} {what} and needs an approval with a reason"
            if edited is not None:
                told = f"{redeclared.why(state, edited)}; a move needs an approval with a reason"
            raise self._refused(told, state)
        return by, by == "agent" and state.rules.approver == "person"

    def _refused(self, why: str, state: SkillState) -> MoveRefused:
        """A refusal that says which moves are open."""
        return MoveRefused(why, self._sessions.moves(state))

    def _waiting(self, folder: str, asked: SkillQuestion, state: SkillState) -> QuestionError:
        """What waits for a person, and what is open meanwhile."""
        return QuestionError(
            f"this waits for a person: {asked.title}",
            f"ask the person to run: rekindle answer {asked.id} {asked.options[0][0]}; then run this command again; "
            f"{self._sessions.moves(state)}",
            details={"question": as_question(folder, asked).document},
        )

    def _json(self, content: bytes, state: SkillState) -> Any:
        try:
            return plain_json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._refused(f"the proof is not one JSON object ({error})", state) from error


def _granted(state: SkillState, judged: JudgedMove) -> str | None:
    """The reason for which a person has approved a move; None: nobody has."""
    asked = state.question
    if asked is None or asked.kind != "approval" or asked.option != "approve" or asked.about != judged.to.label:
        return None
    return asked.detail.removeprefix(_REASON)


def _is_answered_gate(state: SkillState) -> bool:
    asked = state.question
    return asked is not None and asked.kind == "gate" and asked.about == state.label and bool(asked.option)


def _approval_question(folder: str, state: SkillState, judged: JudgedMove, reason: str) -> SkillQuestion:
    return SkillQuestion(
        question_id(folder, "approval", judged.to.label),
        "approval",
        f"The agent wants to go from {state.current_phase} to {judged.to.text}",
        [("approve", f"Approve the move to {judged.to.text}", "allow_once"), ("refuse", "Stay", "reject_once")],
        time.time(),
        about=judged.to.label,
        detail=f"{_REASON}{reason}",
    )


def _gate_question(folder: str, state: SkillState) -> SkillQuestion:
    following = next_after(state.phases, state.label)
    on = f"Proceed to {following.text}" if following is not None else "Close the session"
    return SkillQuestion(
        question_id(folder, "gate", state.label),
        "gate",
        f"{state.current_phase} is complete. Proceed?",
        [("proceed", on, "allow_once"), ("stay", f"Stay in {state.current_phase}", "reject_once")],
        time.time(),
        about=state.label,
    )


def question_id(folder: str, kind: str, about: str) -> str:
    """The id of a question: the same as long as it asks the same."""
    return MARK + hashlib.sha256(f"{folder}\0{kind}\0{about}".encode("utf-8", "surrogatepass")).hexdigest()[:10]


def as_question(folder: str, asked: SkillQuestion) -> Question:
    """A question of a skill session in the one shape of questions."""
    return Question(
        id=asked.id,
        session=None,
        feature=None,
        kind=f"skill_{asked.kind}",
        title=asked.title,
        detail=asked.detail,
        options=tuple(QuestionOption(code, label, kind) for code, label, kind in asked.options),
        asked_at=asked.asked_at,
        recommended=RECOMMENDED.get(asked.kind),
        otherwise="the skill session waits",
        takes_text=("OTH/custom",) if asked.kind == "resume" else (),
        repository=folder,
    )
