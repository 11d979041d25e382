"""How much longer than usual tests wait: `REKINDLE_TEST_PATIENCE=3 make soak` on a machine that is busy otherwise.

Only deadlines are longer. What is promised, and what has to come about, stays the same.
"""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("REKINDLE_TEST_PATIENCE", "1"))
