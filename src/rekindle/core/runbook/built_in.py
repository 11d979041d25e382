"""The built-in runbook: what every session does by itself unless somebody says otherwise. Pure."""

from __future__ import annotations

from functools import cache
from typing import Final

from rekindle.core.runbook.runbook import Reactions
from rekindle.core.runbook.runbook_file import parse

TEXT: Final = """\
# What every session does by itself. Your own runbook.toml, a runbook that you run with, and options win over it.

[default]
# An agent with nothing to do is put to sleep. The next prompt wakes it.
on_idle = { action = "sleep", cooldown = "10m", attempts = "forever" }

# An agent that dies waits for you (--policy ask). --policy continue is
#   on_dead = { action = "resume", attempts = 3, cooldown = ["0s", "2s", "8s"] }
# and --policy never is on_dead = "stop".
on_dead = "escalate"

# Rules with the same match are tried in their order; when their attempts are used up, you are asked.
on_error = [
  { match = "rate_limited", action = "wait", attempts = 12, cooldown = [5, 10, 20, 45, 90, 180, 300, 600] },
  { match = "overloaded", action = "wait", attempts = 12, cooldown = [5, 10, 20, 45, 90, 180, 300, 600] },
  { match = "no_internet", action = "wait", attempts = 12, cooldown = [5, 10, 20, 45, 90, 180, 300, 600] },
  { match = "transient", action = "wait", attempts = 12, cooldown = [5, 10, 20, 45, 90, 180, 300, 600] },
  { match = "context_overflow", action = "compact" },
  { match = "context_overflow", action = "renew" },
  { action = "escalate" },
]

# An agent that falls silent in the middle of a turn is ended. Then on_dead decides.
on_stall = { action = "stop", attempts = "forever" }

# What --permission does not answer is asked.
on_ask = "escalate"

# A session that has spent what it may stops and waits for a higher limit.
on_limit = { action = "stop", attempts = "forever" }

# A conversation that fills its context window (to limits.dehydrate_at, 0.76) is dehydrated before its next prompt:
# always in a skill's session; elsewhere, only if the agent does not shorten its conversations by itself.
# --overflow dehydrate is on_context = { action = "dehydrate", attempts = 3 }, and swaps compact and renew above.
on_context = [
  { match = "skill", action = "dehydrate", attempts = 3 },
  { match = "compacts", action = "leave", attempts = "forever" },
  { action = "dehydrate", attempts = 3 },
]
"""


@cache
def built_in() -> Reactions:
    """The built-in runbook's rules."""
    return parse(TEXT.encode(), "the built-in runbook", ()).default
