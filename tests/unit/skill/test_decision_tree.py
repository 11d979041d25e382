"""The decision tree, the texts of a resume and the proof object, word for word."""

from __future__ import annotations

import pytest

from rekindle.core.skill import decision, telling
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.holding import SeenSession, in_use, meant
from rekindle.core.skill.liveness import bare_pid
from rekindle.core.skill.proof import SCHEMA, proof_of

TREE = """
- [RSM] Resume at saved phase
  Pick up where the session left off
- [RST] Restart current phase
  Redo the current phase cleanly from scratch
- [SWT] Switch skill
  Start a different skill on this session directory
"""


def test_the_options_are_those_of_the_tree_each_with_its_line() -> None:
    told = "".join(f"- [{one.code}] {one.title}\n  {one.about}\n" for one in decision.TREE)
    assert told == TREE.lstrip()
    assert [(one.code, one.title, one.about) for one in decision.OTHER] == [
        ("OTH/ABN", "Abandon session", "Close this session and start fresh"),
        ("OTH/INS", "Inspect first", "Read session artifacts before deciding"),
    ]
    assert [f"{one.code}: {one.title}" for one in decision.EXTRAS] == [
        "A: View session artifacts before deciding",
        "B: Show phase history",
        "C: Check for newer sessions on same topic",
    ]


@pytest.mark.parametrize(
    ("typed", "choice", "text"),
    [
        ("RSM", "RSM", ""),
        (" rst ", "RST", ""),
        ("swt", "SWT", ""),
        ("OTH/ABN", "OTH/ABN", ""),
        ("ins", "OTH/INS", ""),
        ("OTH/custom: use Postgres: now", "OTH/custom", "use Postgres: now"),
        ("a", "A", ""),
        ("C", "C", ""),
    ],
)
def test_every_answer_has_a_word(typed: str, choice: str, text: str) -> None:
    assert decision.chosen(typed) == (choice, text)


@pytest.mark.parametrize("typed", ["", "yes", "OTH", "OTH/custom:", "RSM: now", "D"])
def test_anything_else_is_no_answer(typed: str) -> None:
    assert decision.chosen(typed) is None


def test_the_question_tool_gets_the_tree_with_at_most_four_options() -> None:
    first, second = decision.for_question_tool("How?")
    options = first["options"]
    assert isinstance(options, list)
    assert [one["label"] for one in options] == [
        "Resume at saved phase [RSM]",
        "Restart current phase [RST]",
        "Switch skill [SWT]",
        "Other [OTH]",
    ]
    assert len(str(first["header"])) <= 12
    assert isinstance(second["options"], list) and len(second["options"]) == 2


def test_the_texts_of_both_paths_are_word_for_word_those_of_the_procedure() -> None:
    context = DehydratedContext("the goal", "wrote a test", ["run it", "fix it"])
    assert telling.RECOVERY == "## Session Recovery (Dehydrated Context)"
    assert telling.NO_SESSION == "No active session found. Use a `/skill` to start one."
    assert telling.COMPLETED == "Session already completed before overflow. Nothing to resume."
    assert telling.overflow_entry("3: Build", context) == (
        "## ♻️ Context Overflow Restart\n*   **Resumed At**: 3: Build\n*   **Last Action**: wrote a test\n"
        "*   **Next Steps**: run it; fix it"
    )
    assert telling.manual_entry("4.2: Debrief", "Resume", ["log"], "at 4.3") == (
        "## ♻️ Manual Session Resume\n*   **Resumed At**: 4.2: Debrief\n*   **Method**: Resume\n"
        "*   **Artifacts Found**: log\n*   **Actual Progress**: at 4.3"
    )
    assert telling.overflow_intent("sessions/a", "build", "3: Build")[-1] == "> 4. Continue at `3: Build`"
    assert telling.manual_intent("sessions/a", "build", "3: Build", [], "x")[0] == "> **Session Resume (Manual)**"
    assert "> - **Goal**: the goal" in telling.announcement("build", "3: Build", context)


def test_the_proof_object_names_outcome_path_and_phase_and_nothing_else() -> None:
    proof = proof_of("reactivated", "slow", "4.2: Debrief")
    assert proof == {
        "sessionReactivated": "reactivated at 4.2: Debrief",
        "resumePath": "slow",
        "phaseResumed": "4.2: Debrief",
    }
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"]) == set(proof)
    assert SCHEMA["additionalProperties"] is False


def seen(folder: str, newest: float, holder: int | None = None, **more: object) -> SeenSession:
    return SeenSession(folder, "build", str(more.pop("lifecycle", "active")), "1: A", newest, holder=holder, **more)  # type: ignore[arg-type]


def test_continue_means_mine_then_my_pane_then_the_newest_that_nobody_holds() -> None:
    held, free, old = seen("held", 9, 5), seen("free", 8), seen("old", 1, pane="%3")
    assert meant([held, free, old], None) == free
    assert meant([held, free, old], "%3") == old
    mine = seen("mine", 0, 7, is_mine=True)
    assert meant([held, free, mine], "%3") == mine
    assert meant([held, seen("done", 99, lifecycle="completed"), seen("torn", 98, problem="damaged")], None) is None


def test_a_working_agent_never_moves_a_session_that_it_does_not_hold() -> None:
    assert in_use([seen("free", 8), seen("held", 9, 5)], None) is None
    assert in_use([seen("held", 9, 5, pane="%3")], "%3") is None


def test_a_pid_that_was_reused_holds_nothing() -> None:
    assert bare_pid(1000.0, None) == "dead"
    assert bare_pid(1000.0, 900.0) == "alive"
    assert bare_pid(1000.0, 5000.0) == "dead"
    assert bare_pid(None, 5000.0) == "alive"
