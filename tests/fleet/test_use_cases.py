"""The use cases of one machine hold in a fleet: on a host of one, and typed on another host than the session's.

The cases are those of `tests/e2e`, which run there on one machine without a fleet.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.e2e import test_questions, test_sessions
from tests.e2e.daemon import Machine
from tests.fleet.hosts import fleet_of

pytestmark = pytest.mark.timeout(300)
#: What is typed where the agents are: it begins a session, or is about the daemon there.
_THERE = ("run", "serve")
Case = Callable[[Machine], None]
CASES: list[Case] = [
    test_sessions.test_a_prompt_is_answered_and_the_session_sleeps,
    test_sessions.test_a_prompt_wakes_a_sleeping_session_in_the_same_conversation,
    test_sessions.test_an_agent_killed_in_mid_stream_goes_on_and_is_told_what_it_had_said,
    test_sessions.test_two_resumes_at_once_have_one_winner,
    test_sessions.test_a_turn_can_be_cancelled_and_the_agent_stays,
    test_sessions.test_a_stop_ends_the_whole_tree_and_a_resume_brings_it_back,
    test_sessions.test_the_same_words_twice_are_two_prompts,
    test_sessions.test_a_question_ends_with_its_turn,
    test_questions.test_an_option_can_be_named_by_the_number_that_the_inbox_shows,
]


@dataclass(frozen=True)
class Afar(Machine):
    """A host with the agents, and a person at another host of the same fleet."""

    other: Machine = field(kw_only=True)

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        if words[0] in _THERE:
            return super().run(*words, stdin=stdin, **env)
        return self.other.run(*words, stdin=stdin, **env)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return super().start(*words) if words[0] in _THERE else self.other.start(*words)

    def _in_here(self, *words: str) -> str | None:
        return super()._in_here(*words) if words[0] in _THERE else self.other._in_here(*words)

    def clean_up(self) -> None:
        raise AssertionError("the fleet does that")


@pytest.fixture(params=["on a host", "from another host"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        yield a if request.param == "on a host" else Afar(a.home, a.work, other=b)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("test_"))
def test_the_use_cases_of_one_machine(machine: Machine, case: Case) -> None:
    case(machine)
