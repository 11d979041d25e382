"""Errors as problem+json: the command line's code, message, hint and exit status, and the HTTP status that fits."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from rekindle.doors.http.answers import ProblemReport
from rekindle.ports.daemon import NoDaemon
from rekindle.ports.errors import InsideAgent, OwnedError, QuestionError, RekindleError, UsageError

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
#: Codes that mean: there is no such thing.
_MISSING = ("no_such_", "no_skill_session", "no_repository")
#: Codes that mean: another host of the fleet was asked, and nothing has come of it.
_NOT_YET = ("recorded", "not_taken")
_TITLES = {
    400: "bad request",
    401: "no secret",
    403: "not allowed",
    404: "not found",
    405: "not allowed here",
    408: "too slow",
    409: "refused",
    413: "too long",
    422: "the key was used for something else",
    429: "too many requests",
    500: "failed",
    503: "not now",
    504: "its host has not answered",
}


class DoorRefusal(RekindleError):
    """The door itself refuses a request, with this HTTP status."""

    code = "refused"

    def __init__(self, status: int, message: str, hint: str = "", *, code: str | None = None) -> None:
        super().__init__(message, hint, code=code)
        self.status = status


def status_of(error: RekindleError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, DoorRefusal):
        return error.status
    if isinstance(error, InsideAgent):
        return 403
    if isinstance(error, OwnedError | QuestionError):
        return 409
    if isinstance(error, UsageError):
        return 404 if error.code.startswith(_MISSING) else 400
    if isinstance(error, NoDaemon):
        return 503
    if error.code in _NOT_YET:
        return 504
    return 409 if error.code != "internal" else 500


def problem_of(error: RekindleError) -> ProblemReport:
    """An error as the door shows it."""
    status = status_of(error)
    return ProblemReport(
        title=_TITLES.get(status, "failed"),
        status=status,
        detail=error.message,
        code=error.code,
        hint=error.hint,
        exit=error.exit_status,
        details=_plain(error.details),
    )


def body_of(problem: ProblemReport) -> bytes:
    """A problem as bytes. What no encoder takes (half a character) is replaced."""
    try:
        return msgspec.json.encode(problem)
    except UnicodeEncodeError:
        return msgspec.json.encode(_replaced(msgspec.to_builtins(problem)))


def answer_of(problem: ProblemReport) -> Response[bytes]:
    """A problem as a response."""
    return Response(body_of(problem), status_code=problem.status, media_type=MEDIA_TYPE)


def known_error(_request: Request[Any, Any, Any], error: RekindleError) -> Response[bytes]:
    """What the use cases raise."""
    return answer_of(problem_of(error))


def http_error(_request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """What Litestar raises: no such path, a body that does not fit."""
    status = error.status_code
    detail = error.detail
    if isinstance(error, ValidationException) and error.extra:
        told = error.extra if isinstance(error.extra, list) else [error.extra]
        detail = "; ".join(_complaint(one) for one in told)
    hint = "see /api/v1/openapi.json" if status < 500 else "see the daemon's log"
    if status >= 500:
        log.error("a request failed: %s", detail)
    found = ProblemReport(
        title=_TITLES.get(status, "failed"),
        status=status,
        detail=detail,
        code="usage" if status < 500 else "internal",
        hint=hint,
        exit=2 if status < 500 else 1,
    )
    return answer_of(found)


def unknown_error(_request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """What nobody expected. The log has the rest."""
    log.error("a request failed", exc_info=error)
    told = RekindleError(f"{type(error).__name__}: {error}", "see the daemon's log", code="internal")
    return answer_of(problem_of(told))


def system_error(request: Request[Any, Any, Any], error: OSError) -> Response[bytes]:
    """A path that cannot be used, as the command line says it. A machine that has no room is the daemon's trouble."""
    if error.filename is None or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE):
        return unknown_error(request, error)
    hint = "check the path, its permissions and the disk"
    told = RekindleError(f"{error.filename}: {error.strerror or error}", hint, code="system")
    return answer_of(problem_of(told))


def value_error(request: Request[Any, Any, Any], error: ValueError) -> Response[bytes]:
    """A path with a zero character, which no system call takes; or a mistake of ours."""
    if "null byte" not in str(error) and "null character" not in str(error):
        return unknown_error(request, error)
    return answer_of(problem_of(UsageError("a path has a zero character in it", "give a path that can be")))


def deep_error(request: Request[Any, Any, Any], error: RecursionError) -> Response[bytes]:
    """A body that is nested deeper than anything here, which msgspec says with these words; or a mistake of ours."""
    if "deserializing" not in str(error):
        return unknown_error(request, error)
    return answer_of(problem_of(UsageError("the body is nested too deeply", "see /api/v1/openapi.json")))


def _complaint(one: Any) -> str:
    if isinstance(one, Mapping):
        key = f"{one['key']}: " if one.get("key") else ""
        return f"{key}{one.get('message', '')}"
    return str(one)


def _plain(details: Mapping[str, object]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(dict(details), enc_hook=str)
    return found


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_replaced(key): _replaced(one) for key, one in value.items()}
    return [_replaced(one) for one in value] if isinstance(value, list) else value
