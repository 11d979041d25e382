"""Copilot CLI calls a turn that failed a success, and says what happened in the model's name."""

from __future__ import annotations

import re
from typing import Any, Final

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.failure import Failure

_MARK: Final = "Error: "
#: Its own words, which also end a turn whose model has worked before.
_ITS_OWN: Final = re.compile(r"Error: (Failed to get response from the AI model|Authentication failed|\d{3} )")


class CopilotDialect(AcpDialect):
    """ACP, and the failures of turns: a turn in which the model took no tokens, or words that are the program's."""

    def failure_in(self, result: dict[str, Any]) -> Failure | None:
        """The failure that ended the turn."""
        words = self.last_words
        if _ITS_OWN.match(words) or (words.startswith(_MARK) and result.get("usage") is None):
            return Failure(None, words.removeprefix(_MARK).strip())
        return None
