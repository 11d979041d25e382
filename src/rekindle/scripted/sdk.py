"""Loads the ACP SDK in half the time.

Its schema is hundreds of pydantic models. Half of the import is spent on reading their docstrings out of the source,
for JSON schemas that nobody needs here, and on building validators of which an agent uses a dozen. Both can be
postponed: pydantic accepts missing sources, and builds a validator on first use if told to. Nothing depends on
either: without them the import is slower and everything else is the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast


def load() -> None:
    """Import the SDK; `import acp` costs nothing afterwards."""
    import pydantic

    pydantic.BaseModel.model_config["defer_build"] = True
    try:
        with _sources_out_of_reach():
            import acp  # noqa: F401
    finally:
        del pydantic.BaseModel.model_config["defer_build"]


@contextmanager
def _sources_out_of_reach() -> Iterator[None]:
    def no_source(_object: Any) -> Any:
        raise OSError("not needed")

    frame, lines = inspect.currentframe, inspect.getsourcelines
    inspect.currentframe = lambda: None
    inspect.getsourcelines = cast(Any, no_source)
    try:
        yield
    finally:
        inspect.currentframe, inspect.getsourcelines = frame, lines
