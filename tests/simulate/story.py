"""A story that failed, for a person: what was done, what happened, what does not hold, and how to see it again."""

from __future__ import annotations

import json
import traceback
from pathlib import Path

from tests.simulate.actions import Action
from tests.simulate.play import Outcome, play

KEPT = Path(__file__).parent / "kept"


def story(outcome: Outcome) -> str:
    """The whole story. Lines with a star are what was done from outside."""
    lines = [
        f"seed {outcome.seed}: {outcome.problem}",
        "",
        *outcome.lines,
        "",
        f"It does not hold that: {outcome.problem}",
        f"Again: python -m tests.simulate --seed {outcome.seed} --actions '{as_text(outcome.actions)}'",
        "Keep it: the same with --keep NAME 'what it found' once it is repaired",
    ]
    if outcome.cause is not None:
        lines += ["", *traceback.format_exception(outcome.cause)]
    return "\n".join(lines)


def as_text(actions: tuple[Action, ...]) -> str:
    """Actions on one line."""
    return json.dumps([action.as_list() for action in actions])


def from_text(text: str) -> tuple[Action, ...]:
    """The actions that `as_text` wrote."""
    return tuple(Action.of(one) for one in json.loads(text))


def keep(name: str, found: str, outcome: Outcome) -> Path:
    """Write a story down for good, with what it has found."""
    path = KEPT / f"{name}.json"
    head = {"found": found, "seed": outcome.seed}
    actions = ",\n    ".join(json.dumps(action.as_list()) for action in outcome.actions)
    path.write_text(f'{json.dumps(head)[:-1]}, "actions": [\n    {actions}\n]}}\n')
    return path


def kept() -> dict[str, tuple[str, int, tuple[Action, ...]]]:
    """All stories that are kept: what each has found, its seed and its actions, by name."""
    found = {}
    for path in sorted(KEPT.glob("*.json")):
        told = json.loads(path.read_text())
        actions = tuple(Action.of(one) for one in told["actions"])
        found[path.stem] = (str(told["found"]), int(told["seed"]), actions)
    return found


def replay(name: str) -> Outcome:
    """Play a story that was kept."""
    _, seed, actions = kept()[name]
    return play(seed, actions)
