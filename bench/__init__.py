"""Programs that show and measure rekindle from the outside: nothing in the product imports them.

A row of the benchmark is added in three steps:

1. a function `measure(stage) -> Measured` in a module named after what it measures. It runs the reference and rekindle
   in turn (`measured.in_turn`) and returns the seconds of each round, or amounts, with `facts={"unit": ...}`. What it
   needs is in `stage`: scratch folder, environment without the user's home, sizes (a quick run has small ones),
   journals, repositories. A daemon comes from `served`. It raises `Skipped` with a sentence where this machine lacks
   something (the run says so, and the last figure stays), and `Disagreement` where both sides do not give the same
   answer.
2. a line in the table of `rows`: name, bound, target, reference, function. `make bench ROWS=...` finds it by its name.
3. what it measures, in `words.WHAT`; if it misses its target, why, in `words.WHY`, as seen in a measurement.

Compare ratios, never times. `python -m bench --quick NAME` shows in seconds whether a row runs. Everything together
has to end within `make bench MINUTES=14`; a row takes half a minute at most. Only those of a fleet take minutes, since
hosts are given up for dead in them: they come last, so that they keep no other row from being measured.
"""
