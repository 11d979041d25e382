"""Who holds a skill session, and which one is meant. Pure.

Without a folder, a search passes over what another live process holds; a command of a working agent never guesses.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class SeenSession(msgspec.Struct, frozen=True):
    """A session's folder as a search sees it. `holder`: the pid that holds it now; `is_mine`: the asker is that one."""

    folder: str
    skill: str
    lifecycle: str
    phase: str
    newest: float
    pane: str | None = None
    holder: int | None = None
    is_mine: bool = False
    #: why its state file cannot be used, if so
    problem: str = ""


def meant(found: Sequence[SeenSession], pane: str | None) -> SeenSession | None:
    """The session that `continue` means without a folder: mine, my pane's, the newest that nobody else holds."""
    usable = [one for one in found if one.lifecycle != "completed" and not one.problem]
    ordered = sorted(usable, key=lambda one: one.newest, reverse=True)
    mine = next((one for one in ordered if one.is_mine), None)
    if mine is not None:
        return mine
    free = [one for one in ordered if one.holder is None]
    in_pane = next((one for one in free if pane and one.pane == pane), None)
    return in_pane or next(iter(free), None)


def in_use(found: Sequence[SeenSession], pane: str | None) -> SeenSession | None:
    """The session that a command of a working agent means: only mine, or my pane's. Never a guess."""
    usable = sorted((one for one in found if not one.problem), key=lambda one: one.newest, reverse=True)
    mine = next((one for one in usable if one.is_mine and one.lifecycle != "completed"), None)
    if mine is not None:
        return mine
    here = [one for one in usable if pane and one.pane == pane and one.holder is None]
    if here:
        return here[0]
    return None
