"""The HTTP door as one application: its routes, its description, and what every answer has in common."""

from __future__ import annotations

from typing import Any

from litestar import Litestar, Request, Router
from litestar.config.app import AppConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from rekindle import __version__
from rekindle.doors.http import live, looking, metrics, page, problems, sessions, work
from rekindle.doors.http.guard import Guard, IsInside, admitted
from rekindle.doors.http.house import HttpHouse
from rekindle.doors.http.live import LiveChanges
from rekindle.doors.http.names import DoorPlace
from rekindle.doors.http.page import PageFiles
from rekindle.doors.http.passes import Passes
from rekindle.doors.http.repeats import Repeats
from rekindle.ports.errors import RekindleError
from rekindle.ports.kept_answers import KeptAnswers

API = "/api/v1"


def application(house: HttpHouse | None, passes: Passes, files: PageFiles, changes: LiveChanges) -> Litestar:
    """The application without its guard. Without a house it can only be described."""

    async def of_house() -> Any:
        return house

    async def of_key(request: Request[Any, Any, Any]) -> Any:
        return dict(request.scope).get("rekindle.key")

    async def of_files() -> Any:
        return files

    api = Router(
        API,
        route_handlers=[*sessions.HANDLERS, *work.HANDLERS, *looking.HANDLERS, live.live],
        guards=[admitted],
    )
    config = AppConfig(
        route_handlers=[api, metrics.metrics, page.page],
        dependencies={"house": Provide(of_house), "key": Provide(of_key), "files": Provide(of_files)},
        exception_handlers={
            RekindleError: problems.known_error,
            HTTPException: problems.http_error,
            RecursionError: problems.deep_error,
            OSError: problems.system_error,
            ValueError: problems.value_error,
            Exception: problems.unknown_error,
        },
        state=State({"passes": passes, "changes": changes}),
        openapi_config=_openapi(),
        logging_config=None,
        request_max_body_size=None,  # the guard has counted already
        debug=False,
    )
    return Litestar.from_config(config)


def guarded(app: Litestar, place: DoorPlace, passes: Passes, kept: KeptAnswers, is_inside: IsInside) -> Any:
    """The application as it is served."""
    return Guard(Repeats(app, kept), place, passes, is_inside)


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="rekindle",
        version=__version__,
        description="Coding agents that nothing interrupts for good: their sessions, questions, jobs and features.",
        path=API,
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, *_: handler.handler_name,
        components=Components(
            security_schemes={"secret": SecurityScheme(type="http", scheme="bearer", description="The door's secret.")}
        ),
        security=[{"secret": []}],
    )
