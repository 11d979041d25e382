"""The environments of jobs as private files, one per job. See `ports.job_places`."""

from __future__ import annotations

import json
import os
import re

from rekindle import files

_ID = re.compile(r"j[0-9a-f]{8}")


class JobFolders:
    """Files under one folder of the store."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, job: str, env: dict[str, str], steps: dict[str, dict[str, str]]) -> None:
        """Write it, and sync it."""
        files.make_private(self._folder)
        document = json.dumps({"env": env, "steps": steps}).encode()
        files.replace(self._path(job), document, mode=0o600, durable=True)

    def environment(self, job: str, step: str) -> dict[str, str] | None:
        """Read it. What a step has of its own wins."""
        try:
            found = json.loads(files.read(self._path(job)))
            kept = {**found["env"], **found["steps"].get(step, {})}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return {name: value for name, value in kept.items() if isinstance(value, str)}

    def copy(self, job: str, to: str) -> None:
        """Write the same content for another job."""
        files.replace(self._path(to), files.read(self._path(job)), mode=0o600, durable=True)

    def _path(self, job: str) -> str:
        if _ID.fullmatch(job) is None:
            raise ValueError(f"{job!r} is not the id of a job")
        return os.path.join(self._folder, f"{job}.json")
