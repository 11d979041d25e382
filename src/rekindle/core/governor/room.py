"""How many agents this machine has room for, and whether its memory is short now. Pure.

What the machine says is read elsewhere (`rekindle.ports.machine.MachineLoad`); here it is only judged.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rekindle.core.governor.rules import GovernorRules

_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB
#: An agent waits for its model most of the time, so that a core serves more than one.
_PER_CORE: Final = 2
#: How much memory an agent with its tools is expected to need: those that were measured take 100 to 400 MB by
#: themselves, and a build or a test run of theirs takes the rest.
_PER_AGENT: Final = _GIB
#: What has to stay free before another agent starts, if the user has not said otherwise; at most a tenth of all.
_RESERVE: Final = 512 * _MIB
#: Memory is short if everything on the machine stood still for so many percent of the last ten seconds to wait for it.
_STALLED: Final = 10.0


class MachineReading(msgspec.Struct, frozen=True):
    """What a machine has. Memory is in bytes, and both figures respect the limits of a container or a service.

    `stalled`: for how many percent of the last ten seconds all processes waited for memory; None: nobody can tell.
    """

    cores: float
    memory: int
    available: int
    stalled: float | None = None


class Room(msgspec.Struct, frozen=True):
    """How many agents may work at once, and why so many."""

    most: int
    why: str


def room(rules: GovernorRules, reading: MachineReading | None) -> Room | None:
    """How many agents may work at once; None: any number."""
    if rules.agents_at_once is not None:
        return Room(rules.agents_at_once, "the setting max_agents")
    if reading is None:
        return None
    by_cores, by_memory = max(1, int(reading.cores * _PER_CORE)), max(1, reading.memory // _PER_AGENT)
    if by_cores <= by_memory:
        return Room(by_cores, f"{_PER_CORE} for each of {_plural(reading.cores, 'core')}")
    return Room(by_memory, f"one for each GB of {in_words(reading.memory)} of memory")


def shortage(rules: GovernorRules, reading: MachineReading | None) -> str:
    """Why memory is short now, in words; empty: it is not, or nobody wants to know."""
    if reading is None or rules.memory_reserve == 0:
        return ""
    least = reserve(rules, reading)
    if reading.available < least:
        return (
            f"{in_words(reading.available)} of {in_words(reading.memory)} of memory are available,"
            f" and {in_words(least)} have to be"
        )
    if reading.stalled is not None and reading.stalled >= _STALLED:
        return f"everything stood still for {reading.stalled:.0f}% of the last 10 s to wait for memory"
    return ""


def reserve(rules: GovernorRules, reading: MachineReading) -> int:
    """How much memory has to be available before another agent starts, in bytes."""
    return rules.memory_reserve if rules.memory_reserve is not None else min(_RESERVE, reading.memory // 10)


def in_words(amount: int) -> str:
    """An amount of memory for a person."""
    return f"{amount / _GIB:.1f} GB" if amount >= _GIB else f"{amount // _MIB} MB"


def _plural(number: float, word: str) -> str:
    return f"{number:g} {word}{'s'[: number != 1]}"
