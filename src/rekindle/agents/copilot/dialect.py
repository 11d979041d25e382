"""Copilot CLI reports a failed turn as a success, and says what happened in the model's name."""

from __future__ import annotations

import re
from typing import Any, Final

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.failure import Failure

_MARK: Final = "Error: "
#: The program's own text, which can also end a turn in which the model has worked.
_ITS_OWN: Final = re.compile(r"Error: (Failed to get response from the AI model|Authentication failed|\d{3} )")


class CopilotDialect(AcpDialect):
    """ACP, plus failed turns: a turn in which the model used no tokens, or text that is the program's own."""

    def failure_in(self, result: dict[str, Any]) -> Failure | None:
        """The failure that ended the turn."""
        words = self.last_words
        if _ITS_OWN.match(words) or (words.startswith(_MARK) and result.get("usage") is None):
            return Failure(None, words.removeprefix(_MARK).strip())
        return None
