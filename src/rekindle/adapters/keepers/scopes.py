"""Agents in scopes of their own, where the daemon is a service of the user's systemd.

A scope is a control group that systemd names, counts and shows (`systemctl --user status`), and that is not part of the
daemon's service: nothing that systemd does to the service, whatever its settings, reaches the agent. Where systemd does
not make one, the agent starts without it: the unit's `KillMode=process` and `OOMPolicy=continue` keep it alive, too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping

#: The words in front of the command that is to run in a scope. They replace themselves with it: the pid stays.
ScopeWords = Callable[[str], tuple[str, ...]]
_SECONDS = 10.0


def scopes_here(environment: Mapping[str, str]) -> ScopeWords | None:
    """How to start an agent (by its name) in a scope; None: this daemon is no service, or scopes do not work here."""
    program = shutil.which("systemd-run", path=environment.get("PATH"))
    if program is None or environment.get("SYSTEMD_EXEC_PID") != str(os.getpid()):
        return None

    def words(name: str) -> tuple[str, ...]:
        unit = f"rekindle-{name}-{secrets.token_hex(3)}"  # an earlier one of this name may not be gone yet
        about = f"--description=agent of rekindle session {name}"
        return (program, "--user", "--scope", "--quiet", "--collect", f"--unit={unit}", about, "--")

    try:
        tried = subprocess.run([*words("try"), "true"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return words if tried.returncode == 0 else None
