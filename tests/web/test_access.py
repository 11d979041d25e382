"""Who sees the page, and what a text that somebody else wrote can do there: nothing but be read."""

from __future__ import annotations

import subprocess

import pytest
from playwright.sync_api import expect

from tests.e2e.daemon import Machine, until
from tests.web.browser import Window, go, link

pytestmark = pytest.mark.timeout(180)
#: What runs if any of it ever becomes markup.
SCRIPT = "<img src=x onerror=hacked=1><script>hacked=1</script>"


def test_a_wrong_secret_an_old_link_and_no_link_are_told_apart(machine: Machine, desk: Window) -> None:
    used = link(machine)
    page = desk.tab(used)
    expect(page.locator("#main")).to_be_visible()
    assert "code=" not in page.url
    assert page.evaluate("document.cookie") == ""
    old = desk.tab(used)
    expect(old.locator("[data-gate='old link']")).to_contain_text("rekindle open")
    none = desk.tab(used.partition("#")[0])
    expect(none.locator("[data-gate='no secret']")).to_be_visible()
    page.evaluate("sessionStorage.setItem('rekindle.secret', 'wrong')")
    page.reload()
    expect(page.locator("[data-gate='wrong secret']")).to_contain_text("rekindle open")
    assert page.evaluate("sessionStorage.getItem('rekindle.secret')") is None


def test_the_secret_is_in_no_address_that_stays(machine: Machine, desk: Window) -> None:
    asked: list[str] = []
    page = desk.tab("about:blank")
    page.on("request", lambda one: asked.append(one.url))
    page.goto(link(machine))
    expect(page.locator("#main")).to_be_visible()
    secret = page.evaluate("sessionStorage.getItem('rekindle.secret')")
    assert secret
    assert not [url for url in asked if secret in url]
    page.go_back()
    assert "code=" not in page.url


def test_a_link_for_reading_shows_everything_and_changes_nothing(machine: Machine, desk: Window) -> None:
    session = machine.begin("ask may I?")
    until(machine.questions, "a question")
    page = desk.tab(link(machine, "--read-only"))
    expect(page.get_by_role("button", name="Allow once")).to_be_disabled()
    go(page, f"/s/{session}")
    expect(page.locator(".composer")).to_contain_text("for reading only")
    assert machine.show(session)["attempt"] == 1


def test_script_in_every_text_that_others_write_is_shown_as_text(machine: Machine, desk: Window) -> None:
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        named = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        subprocess.run(["git", *named, *words], cwd=machine.work, check=True)
    name = "a<img src=x onerror=hacked=1>.txt"
    (machine.work / "tool.sh").write_text("")
    session = machine.begin(
        f"say hello {SCRIPT} [link](javascript:hacked=1) ![image](https://x.invalid/{SCRIPT})",
        f"write '{name}' {SCRIPT}\\n",
        f"run printf '{SCRIPT}'",
        f"ask {SCRIPT}",
        options=("--title", SCRIPT),
    )
    until(machine.questions, "a question")
    page = desk.tab(link(machine))
    expect(page.locator("[data-question]")).to_contain_text(SCRIPT)
    for path in (f"/s/{session}", f"/s/{session}/changes", f"/s/{session}/record", "/sessions", "/report"):
        go(page, path)
        expect(page.locator("#main")).to_contain_text("onerror=hacked")
        for one in page.locator("details.tool").all():
            one.locator("summary").click()
        assert page.evaluate("typeof hacked") == "undefined", path
        assert page.locator("#main img, #main script, #main a[href^='javascript']").count() == 0, path
    go(page, "/search?q=hello")
    expect(page.locator(".hit").first).to_contain_text("hello")
    assert page.evaluate("typeof hacked") == "undefined"
