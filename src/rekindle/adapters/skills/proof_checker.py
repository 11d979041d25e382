"""Checks proofs against the JSON Schemas that skills declare.

A schema comes with a repository: it may refer to itself only, and an expression in it that takes forever is cut short.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rekindle.ports.errors import UsageError

_SECONDS = 3.0
_SHOWN = 10


class JsonSchemaProofs:
    """JSON Schema, draft 2020-12 where a schema does not name another one."""

    def problems(self, schema: dict[str, Any], value: Any) -> list[str]:
        """What is wrong with a value; empty if it is valid."""
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            with _at_most(_SECONDS):
                kind = validator_for(schema, default=Draft202012Validator)
                kind.check_schema(schema)
                checker = kind(schema, registry=Registry())  # an empty one: nothing is looked up anywhere
                found = sorted(checker.iter_errors(value), key=lambda one: list(map(str, one.absolute_path)))
        except SchemaError as error:
            raise UsageError(
                f"the skill's schema of this proof is not valid: {error.message}", "fix it in the skill"
            ) from error
        except Unresolvable as error:
            raise UsageError(f"the skill's schema refers to {error.ref!r}", "fix it in the skill") from error
        except (_TooSlow, RecursionError) as error:
            raise UsageError("the skill's schema takes too long to check", "simplify it in the skill") from error
        except Exception as error:  # the checker trusts a schema that is formally valid; ours come from anywhere
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise UsageError(f"the skill's schema cannot be checked ({why})", "simplify it in the skill") from error
        return [_told(one) for one in found[:_SHOWN]]


def _told(error: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    message = " ".join(error.message.split())[:200]
    return f"{place}: {message}" if place else message


class _TooSlow(Exception):
    pass


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise _TooSlow when the time is over. Only the main thread can be interrupted; elsewhere nothing is limited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_signal: int, _frame: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
