"""How strictly a plan's work is checked, by name. A module of its own, because every command line imports it."""

from __future__ import annotations

from typing import Literal

Mode = Literal["strict", "standard", "fast"]
MODES: tuple[Mode, ...] = ("strict", "standard", "fast")
