"""Commands are typed through a process of their own, which ends with each module: others count what is left running."""

from collections.abc import Iterator

import pytest

from tests.e2e import starter


@pytest.fixture(scope="module", autouse=True)
def _no_starter_is_left() -> Iterator[None]:
    yield
    starter.end()
