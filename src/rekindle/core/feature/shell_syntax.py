"""Whether a command only makes sense to a shell: commands of a plan are run as words, without one. Pure."""

from __future__ import annotations

import re

#: What a shell would act upon, outside of quotes. Longer ones first: `&&` is not called `&`.
_SYNTAX = re.compile(r"&&|\|\||\$\(|\$\{|\$(?=[A-Za-z_])|>>|<<|[|;&<>`\n]")
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)


def shell_syntax(command: str) -> str | None:
    """The first thing in a command that a shell would act upon; None for one that is plain words."""
    plain = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), command.strip())
    found = _SYNTAX.search(plain)
    return found[0] if found is not None else None
