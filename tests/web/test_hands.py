"""The page by keyboard alone, with a screen reader's eyes, and with a long conversation."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.daemon import Machine, until
from tests.web import browser as web
from tests.web.browser import Window, go, link

pytestmark = pytest.mark.timeout(240)


def test_everything_that_matters_can_be_done_by_keyboard(machine: Machine, desk: Window) -> None:
    session = machine.begin("say before", "ask may I?", "say after", options=("--title", "Ask me"))
    until(machine.questions, "a question")
    page = desk.tab(link(machine))
    expect(page.locator("[data-question]")).to_be_visible()
    keys = page.keyboard
    keys.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    keys.press("Escape")
    keys.press("a")
    expect(page.get_by_role("button", name="Allow once")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("#main")).to_contain_text("Nothing needs you.")
    machine.until_said(session, "after")
    for key in ("g", "s", "j"):
        keys.press(key)
    expect(page.locator(f"[data-session='{session}']")).to_be_focused()
    keys.press("Enter")
    expect(page.locator(".stream")).to_contain_text("after")
    keys.press("Control+k")
    keys.type("machine")
    keys.press("Enter")
    expect(page.locator("h2", has_text="Daemon")).to_be_visible()
    keys.press("/")
    expect(page.get_by_label("Search all conversations")).to_be_focused()
    keys.type("befo")
    expect(page.locator("mark").first).to_have_text("before")


def faults(page: Page) -> list[dict[str, Any]]:
    """What axe finds, as far as it is serious."""
    page.evaluate(web.AXE.read_text())
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        {"id": one["id"], "nodes": [node["html"][:160] for node in one["nodes"][:3]]}
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(machine: Machine, browser: Browser, theme: web.Theme) -> None:
    session = machine.begin("say **hello** `code`", "write a.txt hi", "run seq 1 40", "ask may I?")
    until(machine.questions, "a question")
    for size in (web.DESKTOP, web.PHONE):
        with web.window(browser, size, theme) as window:
            page = window.tab(link(machine))
            question = machine.questions()[0]["id"]
            paths = ("/", "/sessions", "/f", "/jobs", "/search?q=hello", "/report", "/machine")
            for path in (*paths, f"/s/{session}", f"/s/{session}/changes", f"/s/{session}/record", f"/q/{question}"):
                go(page, path)
                page.wait_for_load_state("networkidle")
                expect(page.locator("[aria-busy=true]")).to_have_count(0)
                assert faults(page) == [], (path, size)


def test_a_long_conversation_is_on_the_page_in_parts(machine: Machine, desk: Window) -> None:
    session = machine.begin("\n".join(f"run echo {number}" for number in range(400)), "say the end")
    machine.until_said(session, "the end")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    stream = page.locator(".stream")
    expect(stream).to_contain_text("the end")
    total = int(str(stream.get_attribute("data-total")))
    assert total > 800
    assert page.locator(".stream [data-n]").count() < 200
    for _ in range(30):
        if stream.get_attribute("data-from") == "0":
            break
        before = stream.get_attribute("data-from")
        page.evaluate("scrollTo(0, 0)")
        expect(stream).not_to_have_attribute("data-from", str(before))
        assert page.locator(".stream [data-n]").count() <= 600
    expect(page.locator("#m0")).to_have_count(1)
    page.get_by_role("button", name="To the end").click()
    expect(stream).to_contain_text("the end")
    go(page, f"/s/{session}#m401")
    expect(page.locator(".block.target")).to_have_attribute("data-n", "401")


def test_attention_has_its_colour_and_the_name_of_a_session_stays_in_sight(machine: Machine, desk: Window) -> None:
    long = machine.begin("\n".join(f"run echo {number}" for number in range(60)), "stream 4000 0.1 word")
    machine.until_said(long, "word2")
    failed = machine.begin("say one", "fail unauthorized", options=("--title", "Write the docs"))
    until(machine.questions, "a question")
    page = desk.tab(link(machine))
    go(page, "/sessions")
    row = page.locator(f"[data-session='{failed}'] .why")
    expect(row).to_have_text("Authentication required: the key was refused")
    needs_you, plain = (
        page.locator(one) for one in (f"[data-session='{failed}'] .why", f"[data-session='{long}'] .why")
    )
    colours = [one.evaluate("e => getComputedStyle(e).color") for one in (needs_you, plain)]
    assert colours[0] != colours[1]
    go(page, f"/s/{long}")
    expect(page.locator(".stream")).to_contain_text("word3")
    expect(page.locator("[data-bar]")).to_contain_text("Working")  # it opens at its end, where its head is out of sight
    page.locator("[data-bar] .to-top").click()
    expect(page.locator("[data-bar]")).to_have_count(0)


def test_a_plot_stays_in_its_place(machine: Machine, desk: Window) -> None:
    session = machine.begin("say one", "context 1000 200000")
    machine.until_status(session, "waiting")
    machine.ok("send", session, "say two\ncontext 9000 200000")
    machine.until_said(session, "two")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    plot = page.locator(".plot", has=page.locator("canvas")).first
    expect(plot.locator("canvas")).to_be_visible()
    frame, drawn = plot.bounding_box(), plot.locator("canvas").bounding_box()
    assert frame is not None
    assert drawn is not None
    assert frame["y"] <= drawn["y"] and drawn["y"] + drawn["height"] <= frame["y"] + frame["height"]


def test_who_scrolls_up_in_an_answer_that_grows_finds_the_way_to_its_end(machine: Machine, desk: Window) -> None:
    session = machine.begin("\n".join(f"run echo {number}" for number in range(40)), "stream 4000 0.1 word")
    machine.until_said(session, "word2")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    expect(page.locator(".stream")).to_contain_text("word3")
    expect(page.locator(".newer")).to_have_count(0)
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -700)
    button = page.locator(".newer")
    expect(button).to_be_in_viewport()
    button.click()
    expect(button).to_have_count(0)


def test_a_long_command_does_not_make_a_phone_scroll_sideways(machine: Machine, phone: Window) -> None:
    machine.begin("ask " + "rm -rf /srv/shop/releases/2026-11-18-with-a-very-long-name-that-has-no-space " * 4)
    until(machine.questions, "a question")
    page = phone.tab(link(machine))
    expect(page.locator("[data-question-tap]")).to_be_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.ask, .ask *')].every(e => e.getBoundingClientRect().right <= 390)"
    )
