"""The environments of jobs in memory."""

from __future__ import annotations


class FakeJobPlaces:
    """Held to the promises of `rekindle.ports.job_places`."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[dict[str, str], dict[str, dict[str, str]]]] = {}

    def keep(self, job: str, env: dict[str, str], steps: dict[str, dict[str, str]]) -> None:
        self._kept[job] = (dict(env), {name: dict(one) for name, one in steps.items()})

    def environment(self, job: str, step: str) -> dict[str, str] | None:
        if job not in self._kept:
            return None
        env, steps = self._kept[job]
        return {**env, **steps.get(step, {})}

    def copy(self, job: str, to: str) -> None:
        if job not in self._kept:
            raise FileNotFoundError(job)
        self._kept[to] = self._kept[job]
