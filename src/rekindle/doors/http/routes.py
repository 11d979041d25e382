"""How the handlers of the API are declared: each can be answered by any of the same problems, and is described so."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import litestar
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter

from rekindle.doors.http.answers import ProblemReport
from rekindle.doors.http.problems import MEDIA_TYPE

_STATUSES: Final = {
    400: "The request is wrong: `detail` says how.",
    401: "The secret is missing or wrong.",
    403: "Not allowed: by its origin, from inside an agent, or with a secret for reading.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "Refused: somebody else has it, or it is too late.",
    413: "The body is too long.",
    422: "The key was used for another request.",
    429: "Too many requests.",
    503: "Not now.",
}
_RESPONSES: Final = {status: ResponseSpec(ProblemReport, False, told, MEDIA_TYPE) for status, told in _STATUSES.items()}
get = partial(litestar.get, responses=_RESPONSES)
post = partial(litestar.post, responses=_RESPONSES)
put = partial(litestar.put, responses=_RESPONSES)
patch = partial(litestar.patch, responses=_RESPONSES)
delete = partial(litestar.delete, responses=_RESPONSES)
#: An id or a name in a path.
Id = Annotated[str, PathParameter(max_length=300)]
