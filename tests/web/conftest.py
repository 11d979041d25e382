"""A browser for all tests of a process, and a machine for each. Without Chromium or a built page they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import _no_starter_is_left, machine, shop
from tests.patience import FACTOR
from tests.web import browser as web

__all__ = ["_no_starter_is_left", "machine", "shop"]
expect.set_options(timeout=20_000 * FACTOR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, and say why; where it has to run, it fails instead."""
    why = web.why_not()
    if why is None or os.environ.get("REKINDLE_WEB_REQUIRED"):
        return
    for item in items:
        if "tests/web" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser; every test has windows of its own."""
    with web.started() as made:
        yield made


@pytest.fixture
def desk(browser: Browser) -> Iterator[web.Window]:
    """A window on a desktop. Nothing in it may have failed."""
    with web.window(browser) as made:
        yield made
        assert made.errors == []


@pytest.fixture
def phone(browser: Browser) -> Iterator[web.Window]:
    """A window of a phone. Nothing in it may have failed."""
    with web.window(browser, web.PHONE) as made:
        yield made
        assert made.errors == []
