"""The API is what its description says: the description is current, and answers to any request fit it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rekindle.doors.http.describing import description
from tests.e2e.daemon import Machine
from tests.e2e.door import Door, opened

pytestmark = [pytest.mark.timeout(400), pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parent.parent.parent
#: How many requests are made up for each operation. The same ones every time.
REQUESTS = 6
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_the_description_that_the_page_is_built_from_is_current() -> None:
    """`make openapi` writes it anew."""
    assert (ROOT / "web/openapi.json").read_bytes() == description()


@pytest.fixture
def door(machine: Machine) -> Iterator[Door]:
    with opened(machine) as found:
        yield found


def test_whatever_is_asked_the_answer_fits_the_description(machine: Machine, door: Door) -> None:
    session = machine.begin("say hello", "ask May I?")
    machine.until_said(session, "hello")
    schema = schemathesis.openapi.from_dict(door.ask("/api/v1/openapi.json", secret="").json)
    asked = 0
    for found in schema.get_all_operations():
        operation = cast("Any", found).ok()

        @settings(
            max_examples=REQUESTS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def fits(case: Any) -> None:
            nonlocal asked
            asked += 1
            if "session" in (case.path_parameters or {}) and asked % 2:
                case.path_parameters["session"] = session
            answer = case.call(base_url=door.url.rstrip("/"), headers={"Authorization": f"Bearer {door.secret}"})
            case.validate_response(answer, checks=_CHECKS)

        fits()
    assert asked > 150
    assert door.ask("/api/v1/me").status == 200
