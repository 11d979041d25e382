"""The state diagram of a session, made from the table of transitions, so that the picture cannot be wrong."""

from __future__ import annotations

from rekindle.core.session.state import State
from rekindle.core.session.tables import REFUSALS, STOPS, TRANSITIONS


def mermaid() -> str:
    """The diagram in Mermaid's syntax."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.STARTING}: Created"]
    arrows: dict[tuple[State, State], list[str]] = {}
    for (before, fact), after in TRANSITIONS.items():
        if before is not after:
            arrows.setdefault((before, after), []).append(fact.__name__)
    for (before, after), names in arrows.items():
        lines.append(f"    {before} --> {after}: {', '.join(names)}")
    for after in dict.fromkeys(REFUSALS.values()):
        problems = ", ".join(problem for problem, leads_to in REFUSALS.items() if leads_to is after)
        lines.append(f"    {State.STARTING} --> {after}: OpenRefused ({problems})")
    lines += [f"    any_state --> {after}: stopped ({word})" for word, after in STOPS.items()]
    return "\n".join(lines)
