"""The reference: the resume protocol done in the plainest way, every line of the journal through `json.loads`.

It reads the whole file into a list of dictionaries and then walks over that list once for each question. The rule for
duplicated numbers is left out, which is in the reference's favour. `naive.mjs` is the same in JavaScript.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from typing import Any

Event = dict[str, Any]
_ISSUES = ("error.encountered", "blocker.reported", "task.failed")


def read_events(path: str) -> list[Event]:
    """All events of a file; lines that are no JSON are passed over."""
    events: list[Event] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if not line:
                continue
            try:
                events.append(json.loads(line))
            except ValueError:
                continue
    return events


def list_sessions(events: list[Event]) -> list[dict[str, Any]]:
    """Every session with its time range, its number of events, and whether it ended."""
    sessions: dict[str, dict[str, Any]] = {}
    for event in events:
        sid = event["sid"]
        session = sessions.get(sid)
        if session is None:
            session = {"sid": sid, "first_ts": event["ts"], "last_ts": None, "event_count": 0, "has_end": False}
            sessions[sid] = session
        session["event_count"] += 1
        session["last_ts"] = event["ts"]
        if event["type"] == "session.end":
            session["has_end"] = True
    return list(sessions.values())


def analyse(path: str) -> dict[str, Any]:
    """What was interrupted last, and in which state it was left."""
    events = read_events(path)
    interrupted = [session["sid"] for session in reversed(list_sessions(events)) if not session["has_end"]]
    if not interrupted:
        return {"interrupted": []}
    members = [event for event in events if event["sid"] == interrupted[0]]
    checkpoints = [event for event in members if event["type"] == "checkpoint"]
    checkpoint = checkpoints[-1] if checkpoints else None
    safe = checkpoint["seq"] if checkpoint else -1
    issues = [event for event in members if event["seq"] > safe and event["type"] in _ISSUES]
    warnings = [event for event in members if event["seq"] > safe and event["type"] == "warning.logged"]
    return {
        "interrupted": interrupted,
        "events": len(members),
        "gaps": len(_gaps(members)),
        "checkpoint": checkpoint["data"]["label"] if checkpoint else None,
        "tasks": {task: state["status"] for task, state in _tasks(members).items()},
        "active_agents": _active_agents(members),
        "issues": len(issues),
        "warnings": len(warnings),
    }


def count_interrupted(folder: str) -> int:
    """How many features below a progress folder were left by their last session without its end."""
    found = 0
    for name in sorted(os.listdir(folder)):
        sessions = list_sessions(read_events(os.path.join(folder, name, "events.jsonl")))
        found += bool(sessions) and not sessions[-1]["has_end"]
    return found


def _gaps(members: list[Event]) -> list[dict[str, int]]:
    gaps: list[dict[str, int]] = []
    ordered = sorted(members, key=lambda event: int(event["seq"]))
    for before, after in pairwise(ordered):
        expected = before["seq"] + 1
        if after["seq"] != expected:
            gaps.append({"after_seq": before["seq"], "missing_count": after["seq"] - expected})
    return gaps


def _tasks(members: list[Event]) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for event in members:
        data = event["data"]
        match event["type"]:
            case "task.started":
                tasks[data["taskId"]] = {"status": "IN_PROGRESS", "agent": data["agent"], "files": data["files"]}
            case "task.completed":
                tasks[data["taskId"]] = {"status": "COMPLETE", "files_changed": data["files_changed"]}
            case "task.failed":
                tasks[data["taskId"]] = {"status": "FAILED", "error": data["error"], "attempts": data["attempts"]}
    return tasks


def _active_agents(members: list[Event]) -> list[str]:
    active: dict[str, bool] = {}
    for event in members:
        if event["type"] == "agent.spawned":
            active[event["data"]["name"]] = True
        elif event["type"] == "agent.completed":
            active.pop(event["data"]["name"], None)
    return list(active)
