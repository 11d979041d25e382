"""Every view as a person sees it, after a night with a limit, a question and a killed agent.

With REKINDLE_WRITE_SCREENS set, the pictures in docs/page are written anew.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.daemon import Machine, until
from tests.web import browser as web
from tests.web.browser import go, link

pytestmark = pytest.mark.timeout(280)
DOCS = Path(__file__).parents[2] / "docs" / "page"
PLAN = """
feature = "checkout"
agent = "scripted"

[[task]]
id = "cart"
summary = "Cart model"
prompt = "write cart.py cart = []\\\\n"

[[task]]
id = "catalog"
summary = "Catalog"
prompt = "write catalog.py catalog = {}\\\\n"

[[task]]
id = "payment"
summary = "Payment form"
prompt = "write payment.py x\\nask run the migration on the test database?"
needs = ["cart"]

[[task]]
id = "shipping"
summary = "Shipping costs"
prompt = "stream 4000 0.1 counting"
needs = ["catalog"]

[[task]]
id = "receipt"
summary = "Receipt page"
prompt = "write receipt.py x\\\\n"
needs = ["payment", "shipping"]
"""
LOGIN = (
    "say I begin with the **form**; it posts to `/login`, and the password is checked with a slow hash.",
    "write login.py def login(user, password):\\n    return check(user, password)\\n",
    "run git diff",
    "say Now the tests.",
    "run seq 1 60",
    "stream 400 0.05 word",
)


def evening(machine: Machine) -> dict[str, str]:
    """A repository with agents in every state."""
    named = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    (machine.work / "login.py").write_text("def login():\n    pass\n")
    (machine.home / ".gitconfig").write_text("[user]\nname = you\nemail = you@example.invalid\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run(["git", *named, *words], cwd=machine.work, check=True)
    (machine.work.parent / "plan.toml").write_text(PLAN)
    login = machine.begin(*LOGIN, options=("--title", "Add a login form, with tests"))
    machine.until_said(login, "word3")
    machine.kill(machine.pids(login)["agent"])
    machine.until_status(login, "interrupted")
    machine.ok("resume", login)
    limit = machine.begin("say hello\nfail rate_limited 900", options=("--title", "Refactor the authentication"))
    machine.begin("stream 4000 0.1 thinking", options=("--title", "Upgrade the parser"))
    machine.ok("run", "--detach", "--plan", "../plan.toml")
    every = ("--every", "0 6 * * *", "--title", "Update the dependencies every morning")
    machine.ok("job", "submit", "--agent", "scripted", *every, "say updated")
    machine.ok("job", "submit", "--agent", "scripted", "--title", "Tidy the imports", "say tidied")
    until(machine.questions, "a question")
    machine.until_status(limit, "paused")
    return {"login": login, "limit": limit}


#: The pictures of other sizes and themes that the documents have.
KEPT = (("home", "dark"), ("session", "dark"), ("home", "phone"), ("session", "phone"))
VIEWS = ("home", "session", "changes", "record", "sessions", "feature", "jobs", "search", "report", "machine")


def shown(page: Page, view: str, known: dict[str, str], machine: Machine) -> None:
    """Go to a view, and wait until it is there."""
    path, text = {
        "home": ("/", "Upgrade the parser"),
        "session": (f"/s/{known['login']}", "I do not repeat it"),
        "changes": (f"/s/{known['login']}/changes", "login.py"),
        "record": (f"/s/{known['login']}/record", "receipt written"),
        "sessions": ("/sessions", "Refactor the authentication"),
        "feature": (f"/f/checkout?in={machine.work}", "Payment form"),
        "jobs": ("/jobs", "Update the dependencies every morning"),
        "search": ("/search?q=password", "password"),
        "report": ("/report", "killed by SIGKILL"),
        "machine": ("/machine", "Daemon"),
    }[view]
    go(page, path)
    expect(page.locator("#main")).to_contain_text(text)
    expect(page.locator("[aria-busy=true], [data-failed]")).to_have_count(0)


def test_every_view_shows_what_happened_in_both_sizes_and_themes(
    machine: Machine, browser: Browser, tmp_path: Path
) -> None:
    known = evening(machine)
    folder = DOCS if os.environ.get("REKINDLE_WRITE_SCREENS") else tmp_path
    folder.mkdir(exist_ok=True)
    sizes = (("desktop", web.DESKTOP, "light"), ("dark", web.DESKTOP, "dark"), ("phone", web.PHONE, "light"))
    for name, size, theme in sizes:
        with web.window(browser, size, "dark" if theme == "dark" else "light") as window:
            page = window.tab(link(machine))
            for view in VIEWS:
                shown(page, view, known, machine)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, name)
                page.wait_for_load_state("networkidle")
                place = folder if (view, name) in KEPT or name == "desktop" else tmp_path
                if view == "session":  # all of it: in a window as tall as it is, nothing floats over it
                    tall = page.evaluate("document.documentElement.scrollHeight")
                    page.set_viewport_size({"width": size[0], "height": tall + 40})
                    expect(page.locator("[data-bar], .newer")).to_have_count(0)
                page.screenshot(path=place / f"{view}-{name}.png")
                page.set_viewport_size({"width": size[0], "height": size[1]})
            if name == "phone":
                go(page, f"/q/{machine.questions()[0]['id']}")
                expect(page.locator(".big-ask")).to_be_visible()
                page.screenshot(path=folder / "question-phone.png")
            assert window.errors == []
