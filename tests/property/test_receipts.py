"""Receipts over any story of crashes: nothing that nobody knows is left out, and nothing that is known is put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.core.effects import Launch, Open, Say
from rekindle.core.session import facts as f
from rekindle.core.session.machine import create
from rekindle.core.session.plan import plan
from rekindle.core.session.receipt import receipt
from rekindle.core.session.state import Session
from tests.sessions import told

_SINGLE = ["ask", "start", "open", "say", "begin tool", "end tool", "finish", "fail", "compare", "forget"]
#: What happens next: anything at all, or a stretch of a life that leads somewhere.
STEPS: st.SearchStrategy[list[str]] = st.sampled_from(
    [
        *([name] for name in (*_SINGLE, "die", "die unheard", "sleep")),
        ["die", "start", "die"],
        ["die", "start", "open"],
        ["start", "open", "say", "begin tool", "die"],
        ["start", "open", "say", "begin tool", "end tool", "compare", "die"],
        ["ask", "say", "die unheard", "start", "open", "die"],
        ["say", "finish", "compare", "ask", "say", "begin tool"],
    ]
)


@dataclass
class Story:
    """An agent with a record of its own, and what an onlooker who sees everything knows about it."""

    proof: str
    session: Session = field(
        default_factory=lambda: create(f.Created(at=0.0, session="s", agent="a", cwd="/", policy="continue"))
    )
    record: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    #: tools whose outcome nobody learned and that no proved receipt has named yet
    unnamed: set[str] = field(default_factory=set)
    #: the same, and no turn has ended well since
    untold: set[str] = field(default_factory=set)
    answered: list[str] = field(default_factory=list)
    receipts: list[f.Receipt] = field(default_factory=list)
    asked: int = 0
    tools: int = 0

    def tell(self, fact: f.AnyFact) -> None:
        proof = receipt(self.session, fact)
        self.session = told(self.session, fact)
        if proof is not None and self.session.attempt is not None:
            self.judge(proof)
            written = f.ReceiptWritten(at=1, attempt=self.session.attempt.number, receipt=proof)
            self.session = told(self.session, written)

    def judge(self, proof: f.Receipt) -> None:
        told = "\n".join(proof.unknown)
        assert not [tool for tool in self.finished if f"{tool};" in told]
        if proof.kind == "unproven":
            return
        assert [tool for tool in self.unnamed if f"{tool};" not in told] == []
        self.unnamed.clear()
        if proof.kind == "same":
            assert [text for text in self.answered if text not in self.record] == []

    @property
    def number(self) -> int:
        return self.session.attempt.number if self.session.attempt is not None else 0

    @property
    def status(self) -> str:
        return self.session.attempt.status if self.session.attempt is not None else "gone"

    def step(self, name: str) -> None:
        turn = self.session.turn
        is_working = self.status == "ready" and turn is not None
        match name:
            case "ask":
                self.asked += 1
                self.tell(f.PromptQueued(at=1, prompt=f"p{self.asked}", text=f"ask {self.asked}"))
            case "start":
                self._start()
            case "open" if self.status == "up":
                self._open()
            case "say" if self.status == "ready" and turn is None:
                for one in plan(self.session, 1e9):
                    if isinstance(one, Say):
                        self.tell(f.PromptSent(at=1, attempt=self.number, prompt=one.prompt, message=1, text=one.text))
                        self.record.append(one.text)
            case "begin tool" if is_working and turn is not None:
                self.tools += 1
                self.running.append(f"tool {self.tools}")
                self.tell(f.TurnBegan(at=1, attempt=self.number, prompt=turn.id))
            case "end tool" if self.running:
                self.finished.add(self.running.pop())
            case "finish" if is_working and turn is not None:
                self.finished.update(self.running)
                self.running.clear()
                self.untold.clear()
                self.answered += [turn.text]
                self.tell(f.TurnFinished(at=1, attempt=self.number, prompt=turn.id, stop_reason="end_turn"))
            case "fail" if is_working and turn is not None and not self.running:
                error = f.TurnFailed(at=1, attempt=self.number, prompt=turn.id, error="other", message="cut off")
                self.tell(error)
            case "compare" if self.status == "ready" and self.proof == "transcript":
                self.tell(f.Compared(at=1, attempt=self.number, extends=True, known=list(self.record)))
            case "forget" if self.record and self.status == "gone":
                self.record.pop(0)
            case "die" | "die unheard" | "sleep" if self.status != "gone":
                self._die(unheard=name == "die unheard", by_us=name == "sleep")
            case _:
                pass

    def _start(self) -> None:
        if self.status != "gone":
            return
        self.tell(f.ResumeAsked(at=1, by="me"))
        for one in plan(self.session, 1e9):
            if isinstance(one, Launch):
                token = self.session.token if self.session.is_loadable else None
                known = list(self.record) if token is not None else None
                how: f.How = "new" if token is None else "load"
                self.tell(
                    f.LaunchIntended(
                        at=1, attempt=one.attempt, generation=one.attempt, how=how, token=token, known=known
                    )
                )
                self.tell(f.Launched(at=1, attempt=one.attempt, folder="x", pid=7))

    def _open(self) -> None:
        for one in plan(self.session, 1e9):
            if isinstance(one, Open):
                known = list(self.record) if one.how == "load" and self.proof == "replay" else None
                before = {prompt.id for prompt in self.session.prompts}
                opened = f.Opened(at=1, attempt=one.attempt, how=one.how, token="t", known=known, proof=self.proof)  # type: ignore[arg-type]
                self.tell(opened)
                for prompt in self.session.prompts:
                    if prompt.id not in before:  # what the model is told when it goes on
                        assert [tool for tool in self.untold if f"{tool};" not in prompt.text] == []
                        assert prompt.text.count("Your process was interrupted") == 1

    def _die(self, *, unheard: bool, by_us: bool) -> None:
        turn, cut = self.session.turn, None
        if turn is not None and turn.attempt == self.number:
            if unheard and not self.running:
                self.record.remove(turn.text)
            cut = f.Cut(tools=[f"{tool};" for tool in self.running])
        self.unnamed.update(self.running)
        self.untold.update(self.running)
        self.running.clear()
        self.tell(f.Exited(at=1, attempt=self.number, how_ended="killed", by_us=by_us, cut=cut))


@settings(max_examples=300)
@given(st.lists(STEPS, max_size=25), st.sampled_from(["replay", "transcript"]))
def test_a_proved_receipt_names_every_unknown_outcome_and_nothing_that_is_known(
    steps: Sequence[list[str]], proof: str
) -> None:
    story = Story(proof)
    for name in ("ask", "start", "open", "say", *chain.from_iterable(steps)):
        story.step(name)
    for name in ("die", "start", "open", "say", "compare"):  # whatever went before, the next proved receipt has it all
        story.step(name)


@given(st.lists(st.sampled_from(["begin tool", "die", "start", "open", "say"]), min_size=10, max_size=60))
def test_however_often_an_agent_dies_before_it_answers_the_last_receipt_names_every_outcome(
    steps: Sequence[str],
) -> None:
    story = Story("replay")
    for name in ("ask", "start", "open", "say", "begin tool", *steps, "die", "start", "open"):
        story.step(name)
    found = story.session.attempt
    assert found is not None
    assert found.receipt is not None
    told = "\n".join(found.receipt.unknown)
    assert found.receipt.kind == "same"
    assert [number for number in range(1, story.tools + 1) if f"tool {number};" not in told] == []
