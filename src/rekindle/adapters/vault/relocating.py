"""An agent's own records follow a session whose folder has another name now: some agents keep them by folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping

from rekindle import files
from rekindle.agents.registry import record_place
from rekindle.core.session.state import Session


def carry_records(session: Session, cwd: str, environment: Mapping[str, str]) -> list[str]:
    """Copy the records of a session's conversations to where its agents look for them from `cwd`. The old ones stay.

    Returns a sentence for each that could not be taken along: the agent will not remember that conversation itself.
    """
    told = []
    tokens = {(session.agent, session.token), *((one.agent or session.agent, one.token) for one in session.attempts)}
    for agent, token in sorted((agent, token) for agent, token in tokens if token is not None):
        old = record_place(agent, environment, os.path.realpath(session.cwd), token)
        new = record_place(agent, environment, os.path.realpath(cwd), token)
        if old is None or new is None or old == new:
            continue
        try:
            problem = _carry(old, new)
        except OSError as error:
            problem = error.strerror or "it cannot be copied"
        if problem is not None:
            told.append(f"the record of {agent} stays with the folder's old name: {problem}")
    return told


def _carry(old: str, new: str) -> str | None:
    for path in glob.glob(old) if "*" in old else [old]:
        target = os.path.join(os.path.dirname(new), os.path.basename(path)) if "*" in new else new
        if "*" in target:
            return "where it belongs is not known"
        if not os.path.exists(path):
            continue
        data = files.read(path)
        there = files.read(target) if os.path.exists(target) else b""
        if there == data:
            continue
        if not data.startswith(there):  # a record is only ever added to
            return f"{target} is there already and says something else"
        files.make_private(os.path.dirname(target))
        files.replace(target, data, mode=0o600, durable=True)
    return None
