"""How agent and client greet each other: what each of them can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle import __version__

PROTOCOL_VERSION = 1
NAME = "rekindle-scripted"


@dataclass(frozen=True, slots=True)
class Offers:
    """What the client does for the agent."""

    read: bool = False
    write: bool = False
    terminal: bool = False


def answer(*, load: bool) -> dict[str, Any]:
    """The result of `initialize`."""
    capabilities: dict[str, Any] = {"loadSession": load, "promptCapabilities": {"embeddedContext": False}}
    if load:
        capabilities["sessionCapabilities"] = {"list": {}, "resume": {}}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": NAME, "title": "Scripted agent", "version": __version__},
        "agentCapabilities": capabilities,
        "authMethods": [],
    }


def offers(params: Any) -> Offers | None:
    """What the client of an `initialize` offers; None if it says no version of the protocol."""
    match params:
        case {"protocolVersion": int(), "clientCapabilities": dict(offered)}:
            files = offered.get("fs")
            files = files if isinstance(files, dict) else {}
            return Offers(
                read=files.get("readTextFile") is True,
                write=files.get("writeTextFile") is True,
                terminal=offered.get("terminal") is True,
            )
        case {"protocolVersion": int()}:
            return Offers()
        case _:
            return None
