"""What comes back on the page: agents that died, the daemon, prompts that were on their way."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.daemon import Machine, until
from tests.web.browser import Window, feed_of, go, link

pytestmark = pytest.mark.timeout(180)


def killed(machine: Machine, *script: str) -> str:
    """A session whose agent died in the middle of its turn."""
    session = machine.begin(*script, "stream 400 0.05 word", "say the end")
    machine.until_said(session, "word3")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    return session


def test_a_session_whose_agent_died_comes_back_when_it_is_opened_and_its_receipt_shows(
    machine: Machine, desk: Window
) -> None:
    session = killed(machine, "say the beginning")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    receipt = page.locator("[data-receipt=same]")
    expect(receipt).to_contain_text("the same conversation")
    expect(receipt).to_contain_text("outcome unknown")
    receipt.get_by_text("see the evidence").click()
    expect(receipt).to_contain_text("killed by SIGKILL")
    told = machine.show(session)
    assert (told["attempt"], told["state"], told["task_state"]) == (2, "WAITING_FOR_INPUT", "REVIEW")
    # The turn goes on when somebody says so, because that costs money.
    expect(page.locator(".stream .by-said", has_text="the end")).to_have_count(0)
    page.get_by_role("button", name="Go on", exact=True).click()
    expect(page.locator(".stream .by-said", has_text="the end")).to_have_count(1)
    assert machine.show(session)["attempt"] == 2


def test_the_daemon_is_killed_with_the_page_open_and_the_page_misses_nothing(machine: Machine, desk: Window) -> None:
    session = machine.begin("say the beginning", "stream 120 0.05 word", "say the end")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}/record")
    expect(page.locator("[data-seq]").first).to_be_visible()
    machine.until_said(session, "word5")
    machine.kill_daemon()
    expect(page.locator("[data-stale]")).to_contain_text(re.compile(r"As of \d\d:\d\d"))
    assert page.locator("[data-seq]").count() > 0  # the old state stays
    machine.ok("ps")
    machine.ok("inbox")
    expect(page.locator("[data-stale]")).to_have_count(0)
    machine.until_status(session, "waiting", "asleep")

    def told() -> list[int]:
        return [int(one) for one in page.locator("[data-seq]").evaluate_all("all => all.map(e => e.dataset.seq)")]

    until(lambda: told() == feed_of(machine, session), "every event of the feed on the page, once and in order")
    go(page, f"/s/{session}")
    expect(page.locator(".stream")).to_contain_text("the end")
    expect(page.locator(".stream")).to_contain_text("word120")
    assert page.locator(".stream").inner_text().count("word77") == 1


def test_a_prompt_that_comes_during_a_resume_is_delivered_once(machine: Machine, desk: Window) -> None:
    session = killed(machine)
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    box = page.get_by_label("Tell the agent something")
    box.fill("put seen.txt once\\n")
    box.press("Enter")
    box.press("Enter")
    expect(box).to_have_value("")
    machine.until_said(session, "seen.txt")
    machine.until_status(session, "waiting")
    prompts = [one["text"] for one in machine.show(session)["session"]["prompts"]]
    assert prompts.count("put seen.txt once\\n") == 1
    expect(page.locator(".block.by-prompt", has_text="seen.txt")).to_have_count(1)


def test_two_tabs_open_a_dead_session_and_one_resume_happens(machine: Machine, desk: Window) -> None:
    session = killed(machine)
    tabs = [desk.tab(link(machine)) for _ in range(2)]
    for page in tabs:
        expect(page.locator("[data-item]").first).to_be_visible()
    for page in tabs:
        go(page, f"/s/{session}")
    for page in tabs:
        expect(page.locator("[data-receipt=same]")).to_be_visible()
    assert machine.show(session)["attempt"] == 2


def waiting_prompts(page: Page) -> list[str]:
    """The prompts that wait, as the page shows them."""
    return page.locator(".queue .text").all_inner_texts()


def test_prompts_that_wait_can_be_changed_reordered_and_withdrawn_and_a_withdrawn_one_is_never_sent(
    machine: Machine, desk: Window
) -> None:
    session = machine.begin("stream 8000 0.05 word")
    machine.until_said(session, "word3")
    page = desk.tab(link(machine))
    go(page, f"/s/{session}")
    box = page.get_by_label("Tell the agent something")
    for text in ("say one", "write never.txt x", "say three"):
        box.fill(text)
        box.press("Enter")
        expect(box).to_have_value("")
    expect(page.locator(".queue li")).to_have_count(3)
    page.locator(".queue li", has_text="never.txt").get_by_role("button", name="withdraw").click()
    expect(page.locator(".queue li")).to_have_count(2)
    page.locator(".queue li", has_text="say three").get_by_label("Move up").click()
    until(lambda: waiting_prompts(page) == ["say three", "say one"], "the new order")
    page.locator(".queue li", has_text="say one").get_by_role("button", name="edit").click()
    page.get_by_label("Change the prompt").fill("say changed")
    page.get_by_role("button", name="save").click()
    until(lambda: waiting_prompts(page) == ["say three", "say changed"], "the new text")
    page.get_by_role("button", name="End the turn").click()
    machine.until_said(session, "changed")
    machine.until_status(session, "waiting")
    said = machine.said(session)
    assert said.index("say three") < said.index("say changed")
    assert "say one" not in said
    assert not (machine.work / "never.txt").exists()
    expect(page.locator(".queue li")).to_have_count(0)
