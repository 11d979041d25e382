"""Errors as they travel: from the daemon to its clients, and from the host that has a session to the one that asked."""

from __future__ import annotations

from rekindle.ports.errors import OwnedError, QuestionError, RekindleError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KINDS: dict[int, type[RekindleError]] = {2: UsageError, 3: QuestionError, 4: OwnedError}


def as_told(error: RekindleError) -> dict[str, Any]:
    """An error as a JSON object."""
    shown: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    return {**shown, "exit": error.exit_status, "details": error.details}


def from_told(shown: Mapping[str, Any]) -> RekindleError:
    """The error again, as far as anybody distinguishes errors: by exit status and code."""
    kind = _KINDS.get(int(shown.get("exit") or 1), RekindleError)
    details = shown.get("details")
    told, hint, code = str(shown.get("message")), str(shown.get("hint") or ""), str(shown.get("code"))
    return kind(told, hint, code=code, details=details if isinstance(details, dict) else {})
