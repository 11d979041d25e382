"""The start of the command line as older installations call it."""

from __future__ import annotations

from rekindle.entry import main

__all__ = ["main"]
