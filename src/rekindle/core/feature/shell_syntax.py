"""Whether a command only makes sense to a shell: a plan's commands run as words, without a shell. Pure."""

from __future__ import annotations

import re

#: What a shell would act on, outside quotes. Longer ones first: `&&` is not reported as `&`.
_SYNTAX = re.compile(r"&&|\|\||\$\(|\$\{|\$(?=[A-Za-z_])|>>|<<|[|;&<>`\n]")
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)


def shell_syntax(command: str) -> str | None:
    """The first thing in a command that a shell would act on; None if it is plain words."""
    plain = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), command.strip())
    found = _SYNTAX.search(plain)
    return found[0] if found is not None else None
