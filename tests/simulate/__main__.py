"""`python -m tests.simulate`: plays kept stories and fresh seeds, and tells the shortest story of what fails."""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing import Pool

from tests.simulate.play import Outcome, play
from tests.simulate.shrink import shrunk, sort_of
from tests.simulate.story import from_text, keep, kept, replay, story

#: So many stories that fail are told.
_TOLD = 5
#: The seeds that are played before every change lands.
FIXED = 1_000_000


def main(words: list[str] | None = None) -> int:
    """Play; 1 if anything failed."""
    asked = _parsed(words)
    logging.disable(logging.CRITICAL)
    if asked.seed is not None:
        return _one(asked)
    failed = [name for name in kept() if _is_bad(name)]
    first = secrets.randbelow(2**40) if asked.fresh else FIXED
    bad = _many(range(first, first + asked.seeds), asked.seconds, asked.processes)
    for sort, outcomes in list(bad.items())[:_TOLD]:
        print(f"\n== {len(outcomes)} seeds: {sort}\n{story(shrunk(outcomes[0]))}", flush=True)
    return 1 if bad or failed else 0


def _parsed(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to play")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--processes", type=int, default=1, help="how many to play at once")
    parser.add_argument("--fresh", action="store_true", help="seeds that nobody has played yet")
    parser.add_argument("--seed", type=int, help="play this one alone, and tell its story")
    parser.add_argument("--actions", help="with the moments of --seed, these actions in place of its own")
    parser.add_argument("--keep", nargs=2, metavar=("NAME", "FOUND"), help="keep the story of --seed")
    parser.add_argument("--trace", action="store_true", help="print the hash of all that happened, and no story")
    return parser.parse_args(words)


def _one(asked: argparse.Namespace) -> int:
    outcome = play(asked.seed, from_text(asked.actions) if asked.actions else None)
    if asked.trace:
        print(outcome.trace)
        return 0
    if outcome.has_failed and not asked.actions:
        outcome = shrunk(outcome)
    print(story(outcome) if outcome.has_failed else "\n".join((*outcome.lines, "", "All holds.")))
    if asked.keep:
        name, found = asked.keep
        print(f"kept as {keep(name, found, outcome)}")
    return int(outcome.has_failed)


def _is_bad(name: str) -> bool:
    outcome = replay(name)
    if outcome.has_failed:
        print(f"== kept story {name} fails again ({kept()[name][0]})\n{story(outcome)}", flush=True)
    return outcome.has_failed


def _many(seeds: Iterable[int], seconds: float, processes: int) -> dict[str, list[Outcome]]:
    """Play seeds; what failed, by the sort of problem."""
    bad: dict[str, list[Outcome]] = {}
    began, played, steps = time.monotonic(), 0, 0
    for outcome in _played(seeds, processes):
        played, steps = played + 1, steps + outcome.steps
        if outcome.has_failed:
            bad.setdefault(sort_of(outcome.problem), []).append(outcome)
            print(f"seed {outcome.seed} fails: {outcome.problem}", flush=True)
        took = time.monotonic() - began
        if played % 500 == 0:
            print(
                f"{played} seeds, {steps / took:.0f} steps a second, {sum(map(len, bad.values()))} failed", flush=True
            )
        if took > seconds:
            break
    took = max(time.monotonic() - began, 1e-9)
    failed = sum(map(len, bad.values()))
    rate = f"{steps / took:.0f} steps and {played / took:.1f} seeds a second"
    print(f"{len(kept())} kept stories, {played} seeds, {steps} steps in {took:.0f} s: {rate}; {failed} failed")
    return bad


def _played(seeds: Iterable[int], processes: int) -> Iterable[Outcome]:
    if processes == 1:
        yield from map(play, seeds)
        return
    with Pool(processes, initializer=logging.disable, initargs=(logging.CRITICAL,)) as pool:
        yield from pool.imap_unordered(_short, seeds, chunksize=8)


def _short(seed: int) -> Outcome:
    """How a seed's story went, without the story: it is played again where it is told."""
    return replace(play(seed), lines=(), cause=None)


if __name__ == "__main__":
    sys.exit(main())
