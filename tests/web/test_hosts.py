"""The machine's view in a fleet: the hosts, when each was last seen, and what runs on it. Without a fleet: nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.daemon import Machine, until
from tests.fleet.hosts import fleet_of
from tests.fleet.test_doors import paused
from tests.web.browser import Window, go, link

pytestmark = pytest.mark.timeout(280)


def test_the_machine_s_view_shows_every_host_of_the_fleet(desk: Window) -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        b.ok("ps")
        until(
            lambda: (
                {one["host"]: one["report"]["in_use"] for one in b.json("fleet", "status")["hosts"]} == {"a": 1, "b": 0}
            ),
            "both hosts, and an agent at work on a",
        )
        page = desk.tab(link(b))
        go(page, "/machine")
        there = page.get_by_role("region", name="Hosts").locator("tbody tr")
        expect(there).to_have_count(2)
        expect(there.nth(0)).to_contain_text("a")
        expect(there.nth(0)).to_contain_text("no worker")
        expect(there.nth(0)).to_contain_text("s ago")
        expect(there.nth(1)).to_contain_text("this one")
        go(page, "/sessions")
        row = page.locator(f"[data-session='{session}']")
        expect(row).to_contain_text("on host a")
        expect(page.locator("[data-fleet]")).to_contain_text("This page is of host b.")
        row.click()
        expect(page.get_by_role("complementary", name="Another host")).to_contain_text("This session is on host a")


def test_a_session_of_another_host_is_read_and_told_something_and_nothing_pretends_to_be_live(desk: Window) -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        page = desk.tab(link(b))
        go(page, f"/s/{session}")
        note, told, status = (
            page.get_by_role("complementary", name="Another host"),
            page.locator("[data-told]"),
            page.locator(".session-head [data-status]"),
        )
        expect(note).to_contain_text("This session is on host a, seen")
        expect(note).to_contain_text("This is a copy from host a, as of")
        expect(note).to_contain_text("It is not live.")
        expect(status).to_have_attribute("data-status", "working")
        stream = page.get_by_role("log")
        expect(stream).to_contain_text("begin")
        expect(stream).to_contain_text("word40")
        expect(page.get_by_role("group", name="Timeline")).not_to_contain_text("now")

        page.get_by_role("button", name="Hold", exact=True).click()
        expect(told).to_contain_text("Host a has done it. On hold until you resume it.")
        assert a.show(session)["session"]["on_hold"] == "the page on host b"
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(status).to_have_attribute("data-status", "asleep")
        assert a.status(session) == "asleep"
        page.get_by_label("Tell the agent something").fill("say from the page")
        page.get_by_label("Tell the agent something").press("Enter")
        expect(told).to_contain_text("Host a has your prompt.")
        expect(stream).to_contain_text("from the page")
        assert "from the page" in a.said(session)

        page.get_by_role("tab", name="Changes").click()
        expect(page.locator("[data-only-on=a]")).to_contain_text("Its files and snapshots are on host a")
        page.get_by_role("tab", name="Conversation").click()
        go(page, "/search?q=begin")
        expect(page.locator("[data-not-searched]")).to_contain_text("Other hosts have 1 more session (a: 1)")


def test_a_host_that_may_be_gone_has_no_button_that_pretends_and_the_takeover_is_shown(phone: Window) -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        page = phone.tab(link(b))
        go(page, f"/s/{session}")
        told = page.locator("[data-told]")
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        with paused(a):
            page.get_by_label("Tell the agent something").fill("say patience")
            page.get_by_role("button", name="Send").click()
            expect(told).to_contain_text("recorded; host a has not taken it yet")
            note = page.get_by_role("complementary", name="Another host")
            expect(note).to_contain_text("It may be gone. If you know that it is, continue the session here:")
            expect(note).to_contain_text(f"rekindle fleet takeover {session} --host-is-gone")
            for name in ("Stop", "Hold", "Resume", "Go on", "End the turn"):
                expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
            go(page, "/")
            parked = page.locator(f"[data-parked='{session}']")
            expect(parked).to_contain_text("on host a")
            expect(parked).to_contain_text(f"rekindle fleet takeover {session} --host-is-gone")
            go(page, f"/s/{session}")
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()


def test_one_machine_has_no_list_of_hosts(machine: Machine, desk: Window) -> None:
    page = desk.tab(link(machine))
    go(page, "/machine")
    expect(page.get_by_role("region", name="Agents")).to_be_visible()
    expect(page.get_by_role("region", name="Hosts")).to_have_count(0)
    go(page, "/sessions")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page.locator("[data-fleet]")).to_have_count(0)
