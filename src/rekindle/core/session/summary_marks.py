"""How a question for a summary begins, and where the summary stands in the answer. Pure data.

What is kept of a finished prompt of rekindle's own is its beginning, so that the title has to be short.
"""

from __future__ import annotations

from typing import Final

TITLE: Final = "SUM UP THIS CONVERSATION"
BEGIN: Final = "<<<DEHYDRATED"
END: Final = "DEHYDRATED>>>"
