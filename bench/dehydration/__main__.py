"""Prints how many planted facts survive: `python -m bench.dehydration [SEED]`. Deterministic, needs no network."""

from __future__ import annotations

import sys

from bench.dehydration.surviving import measured, table

if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(table(measured(seed)))
