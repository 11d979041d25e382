"""What is only tried in `make soak`: more seeds, and more variants of what `make test` tries at least once."""

from __future__ import annotations

import os
from typing import Any

import pytest

SOAK = os.environ.get("REKINDLE_TEST_PROFILE") == "soak"


def only_in_soak(*variants: Any) -> list[Any]:
    """These variants of a parametrised test; one with several values is a tuple."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.soak) for one in variants]
