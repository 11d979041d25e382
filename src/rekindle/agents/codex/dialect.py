"""Codex's adapter reports a failed turn as a success, and says what happened only to a client that asks."""

from __future__ import annotations

from typing import Any

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base import fields
from rekindle.agents.base.failure import Failure

#: Where its extensions are in a `_meta`, both in our request and in its answer.
_VENDOR, _EXTENSIONS, _FAILURE = "jetbrains", "air", "sessionFailure"


class CodexDialect(AcpDialect):
    """ACP, and the failures of turns."""

    extensions = {_VENDOR: {_EXTENSIONS: {"version": 1, "capabilities": [_FAILURE]}}}  # noqa: RUF012

    def failure_in(self, result: dict[str, Any]) -> Failure | None:
        """The failure that ended the turn; a warning does not end one."""
        vendor = fields.mapping(fields.mapping(result.get("_meta")).get(_VENDOR))
        told = fields.mapping(fields.mapping(vendor.get(_EXTENSIONS)).get(_FAILURE))
        if told.get("severity") != "error":
            return None
        return Failure(None, fields.text(told.get("title"), "the turn failed"), {"category": told.get("category")})
