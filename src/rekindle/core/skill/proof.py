"""The proof object that every resume gives: what came of the activation, which path, at which phase. Pure."""

from __future__ import annotations

from typing import Any, Final, Literal

ResumePath = Literal["fast", "slow"]
SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "sessionReactivated": {
            "type": "string",
            "description": "Reactivation outcome (e.g., 'reactivated at Phase 3')",
        },
        "resumePath": {"type": "string", "description": "Which path was taken: fast (dehydrated) or slow (bare)"},
        "phaseResumed": {"type": "string", "description": "The phase the agent resumed at"},
    },
    "required": ["sessionReactivated", "resumePath", "phaseResumed"],
    "additionalProperties": False,
}


def proof_of(outcome: str, path: ResumePath, phase: str) -> dict[str, str]:
    """The proof of a resume. `outcome` in words, such as "reactivated"."""
    at = f" at {phase}" if phase else ""
    return {"sessionReactivated": f"{outcome}{at}", "resumePath": path, "phaseResumed": phase}
