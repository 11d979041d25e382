"""Chromium and the page: how a test opens it, and what it sees of it."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from rekindle.adapters.daemon_socket.client import DaemonClient
from tests.e2e.daemon import Machine

PAGE = Path(__file__).parents[2] / "src" / "rekindle" / "page" / "index.html"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = (1280, 860), (390, 844)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Theme = Literal["light", "dark"]


@functools.cache
def chromium() -> str | None:
    """Where Chromium is; None: nowhere."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def why_not() -> str | None:
    """Why the page cannot be tested here; None: it can."""
    if chromium() is None:
        return "there is no chromium: apt-get install chromium"
    return None if PAGE.exists() else "the page is not built: make page"


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without any of the user's settings."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS, env=_environment())
        try:
            yield browser
        finally:
            browser.close()


def _environment() -> dict[str, str | float | bool]:
    return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}


class Window:
    """One browser window with the page. What goes wrong in it is kept, and a test can look."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.errors: list[str] = []

    def tab(self, link: str) -> Page:
        """Another tab, opened with a link."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda one: self.errors.append(one.text) if _is_fault(one) else None)
        page.goto(link)
        return page


def _is_fault(message: Any) -> bool:
    """A script that threw, or something that the Content-Security-Policy refused; no daemon is no fault of the page."""
    return message.type == "error" and "Content Security Policy" in message.text


@contextmanager
def window(browser: Browser, size: tuple[int, int] = DESKTOP, theme: Theme = "light") -> Iterator[Window]:
    """A window of a size, in a theme, without motion."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        reduced_motion="reduce",
        has_touch=size == PHONE,
        is_mobile=size == PHONE,
        locale="en-GB",
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    try:
        yield Window(context)
    finally:
        context.close()


def link(machine: Machine, *words: str) -> str:
    """A link to the page of this machine's daemon."""
    return machine.ok("open", "--print", *words).strip().splitlines()[0]


def go(page: Page, path: str) -> None:
    """To a place inside the page, as a link there does it: the page is not loaded again."""
    page.wait_for_selector("#main")
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)


def feed_of(machine: Machine, session: str) -> list[int]:
    """The places of a session's facts in the daemon's feed."""
    with closing(DaemonClient(machine.places)) as client:
        facts = client.ask("feed", after=0, limit=10_000)["facts"]
    return [one["seq"] for one in facts if one["session"] == session]
