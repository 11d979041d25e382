"""What notifications need to know of this machine: the time of the day, and which words are secrets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.core.inbox.news import News
from rekindle.core.masking import Masker


def minute_of_day(now: float) -> float:
    """The time of the day here, in minutes."""
    local = time.localtime(now)
    return local.tm_hour * 60 + local.tm_min + local.tm_sec / 60


def masker(environment: Mapping[str, str], sessions: str) -> Callable[[News], News]:
    """Hides the secrets of this environment, and those of the session's when it was started."""

    def masked(news: News) -> News:
        of_session = kept_environment.read(os.path.join(sessions, news.session)) if news.session else None
        found = Masker({**environment, **(of_session or {})})
        return replace(news, title=found.text(news.title), text=found.text(news.text))

    return masked
