"""Settings of the whole test run: fixed examples in `make test`, fresh ones in `make soak`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=150, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile("soak", deadline=None, max_examples=5000, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("REKINDLE_TEST_PROFILE", "fixed"))
