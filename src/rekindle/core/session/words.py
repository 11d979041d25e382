"""The words for a session's status: one vocabulary for every list, page, message and JSON answer. Pure.

Light standard library only: `rekindle` with no arguments uses this.
"""

from __future__ import annotations

#: Each word, and what it means to a person.
WORDS = {
    "starting": "its agent is being started",
    "working": "its agent is in a turn, or receives a prompt right now",
    "checking": "its first turn since it came back is over, and its record is being compared",
    "asking": "its agent waits for an answer",
    "paused": "its agent waits for a limit to end, and then continues by itself",
    "waiting": "its agent waits for a prompt",
    "asleep": "no agent, nothing to do; a prompt wakes it",
    "queued": "no agent, and a prompt waits",
    "interrupted": "its agent died in the middle of its work, or could not be started",
    "dead": "its agent died while it had nothing to do",
    "failed": "its folder is gone and cannot be rebuilt, or somebody ended it as failed; `rekindle resume` tries again",
    "completed": "ended (`--all` shows it)",
    "cancelled": "ended (`--all` shows it); `rekindle resume` brings it back",
    "unknown": "it is on another host of the fleet, which was not seen lately",
}
#: What a list may leave out: the session is over, and nobody has to do anything about it.
OVER = frozenset({"completed", "cancelled"})
#: Its agent is gone, and nobody asked it to go.
CUT = frozenset({"interrupted", "dead"})
#: There is something to do, and no agent that does it.
WITHOUT_AGENT = CUT | {"queued", "failed"}
#: Something happens by itself.
BUSY = frozenset({"starting", "working", "checking", "asking"})
