"""The machine's view in a fleet: the hosts, when each was last seen, and what runs on it. Without a fleet: nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.daemon import Machine, until
from tests.fleet.hosts import fleet_of
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
        others = page.get_by_role("region", name="On other hosts").locator("tbody tr")
        expect(others).to_have_count(1)
        expect(others.nth(0)).to_contain_text(session)
        expect(others.nth(0)).to_contain_text(f"rekindle show {session}")


def test_one_machine_has_no_list_of_hosts(machine: Machine, desk: Window) -> None:
    page = desk.tab(link(machine))
    go(page, "/machine")
    expect(page.get_by_role("region", name="Agents")).to_be_visible()
    expect(page.get_by_role("region", name="Hosts")).to_have_count(0)
    go(page, "/sessions")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page.get_by_role("region", name="On other hosts")).to_have_count(0)
