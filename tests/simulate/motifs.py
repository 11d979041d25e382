"""Actions that belong together: moments that matter, and that single actions rarely come to by chance.

A motif is data: for each action its kind, its argument (empty: any) and the time that passes behind it. In a prompt,
the words are what the agent does. A new motif is one line here.
"""

from __future__ import annotations

from typing import NamedTuple


class Beat(NamedTuple):
    """One action of a motif. Of several pauses a seed takes one."""

    kind: str
    arg: str = ""
    pauses: tuple[float, ...] = (0.0,)


#: By what happens in each.
MOTIFS: dict[str, tuple[Beat, ...]] = {
    "a question is answered that is over": (
        Beat("send", "ask", (0.1,)),
        Beat("look", "", (0.02,)),
        Beat("kill_agent", "", (0.5, 0.6)),
        Beat("send", "ask", (0.1, 0.6)),
        Beat("answer", "", (0.0, 0.1)),
    ),
    "the daemon is killed while a question is answered": (
        Beat("send", "ask", (0.1,)),
        Beat("look", "", (0.02,)),
        Beat("answer_killed", "", (0.0, 0.6)),
        Beat("again", "", (0.1, 3.0)),
    ),
    "the daemon is killed in a cooldown": (
        Beat("model", "overloaded 0"),
        Beat("send", "say", (3.0, 12.0)),
        Beat("kill_daemon", "", (0.0, 3.0)),
        Beat("look", "", (0.1, 25.0)),
        Beat("model", "well", (130.0,)),
    ),
    "the daemon is killed between intent and effect": (
        Beat("kill_agent", "", (0.4,)),
        Beat("resume", "", (0.002, 0.004, 0.01, 0.02, 0.04)),
        Beat("kill_daemon", "", (0.0, 0.02)),
        Beat("look", "", (0.6, 3.0)),
    ),
    "the daemon is killed during a gate": (
        Beat("begin_ruled", "gated", (10.0, 12.0, 16.0)),
        Beat("kill_daemon", "", (0.0, 3.0)),
        Beat("look", "", (25.0,)),
    ),
    "the clock is set while something waits": (
        Beat("model", "overloaded 0"),
        Beat("send", "say", (3.0, 25.0)),
        Beat("set_clock", "", (3.0,)),
        Beat("model", "well", (130.0,)),
    ),
    "an agent hangs after it has rested": (Beat("wait", "", (300.0,)), Beat("send", "hang", (25.0, 130.0))),
    "agents die again and again": (
        Beat("sick", "die"),
        Beat("send", "say", (3.0,)),
        Beat("send", "tool", (25.0,)),
        Beat("look", "", (3.0, 25.0)),
    ),
    "somebody asks for more while restarts are stopped": (
        Beat("sick", "die at once"),
        Beat("send", "say"),
        Beat("begin", "continue all", (3.0,)),
        Beat("send", "say", (12.0,)),
        Beat("send", "say", (25.0,)),
    ),
    "the daemon is killed while restarts are stopped": (
        Beat("sick", "die at once"),
        Beat("send", "say"),
        Beat("begin", "continue all", (0.6, 3.0)),
        Beat("kill_daemon", "", (0.0, 3.0)),
        Beat("look", "", (25.0,)),
    ),
    "what waits for a limit is hurried": (
        Beat("model", "rate_limited 60"),
        Beat("send", "say", (0.6, 3.0)),
        Beat("model", "well"),
        Beat("hurry", "", (25.0, 130.0)),
    ),
    "it is held back in a cooldown": (
        Beat("model", "overloaded 0"),
        Beat("send", "say", (0.6, 3.0)),
        Beat("hold", "", (0.0, 25.0)),
        Beat("model", "well", (130.0,)),
    ),
}
#: The same for stories with a plan.
PLAN_MOTIFS: dict[str, tuple[Beat, ...]] = {
    "two resume a feature at once": (Beat("kill_daemon"), Beat("plan_twice", "A", (0.0, 3.0))),
    "work is cut off and taken up": (
        Beat("kill_daemon"),
        Beat("kill_task", "", (3.0,)),
        Beat("plan_resume", "", (130.0,)),
    ),
}
