"""Questions on the page: everything is shown before it can be answered, and an answer counts once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.daemon import Machine, until
from tests.web.browser import Window, go, link

pytestmark = pytest.mark.timeout(180)


def asked(machine: Machine, *script: str) -> tuple[str, str]:
    """A session that asks, and the id of its question."""
    session = machine.begin("say before", *(script or ("ask may I deploy?",)), "say after")
    question = until(
        lambda: next((one for one in machine.questions() if one["session"] == session), None), "a question"
    )
    return session, question["id"]


def test_one_question_is_answered_in_two_tabs_and_one_answer_counts(machine: Machine, desk: Window) -> None:
    session, question = asked(machine)
    first, second = (desk.tab(link(machine)) for _ in range(2))
    cards = [page.locator(f"[data-question={question}]") for page in (first, second)]
    for card in cards:
        expect(card).to_contain_text("may I deploy?")
    second.route("**/api/v1/inbox", lambda route: route.abort())  # it does not hear of the other answer in time
    cards[0].get_by_role("button", name="Allow once").dblclick()
    expect(first.locator("body")).not_to_contain_text("did not count")
    machine.until_said(session, "after")
    cards[1].get_by_role("button", name="Reject").click()
    expect(cards[1]).to_contain_text(re.compile("was already answered: .*by "))
    answered = [one for one in machine.show(session)["session"]["settled"] if one["id"] == question]
    assert [(one["how"], one["kind"]) for one in answered] == [("answered", "allow_once")]


def test_the_tab_says_how_many_questions_are_open(machine: Machine, desk: Window) -> None:
    asked(machine)
    page = desk.tab(link(machine))
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    assert str(page.locator("#icon").get_attribute("href")).startswith("data:image/svg+xml")
    page.get_by_role("button", name="Allow once").click()
    expect(page).to_have_title("rekindle")


def test_on_a_phone_a_question_fills_the_screen_and_a_tap_counts_once_and_says_so(
    machine: Machine, phone: Window
) -> None:
    session, question = asked(machine)
    page = phone.tab(link(machine))
    assert page.locator("[data-question]").count() == 0  # no button can be tapped in the list
    page.locator(f"[data-question-tap={question}]").tap()
    screen = page.locator(f".big-ask[data-question={question}]")
    expect(screen).to_be_visible()
    box = screen.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (390, 844)
    button = screen.get_by_role("button", name="Allow once")
    size = button.bounding_box()
    assert size is not None
    assert size["height"] >= 44
    posts: list[str] = []
    page.on("request", lambda one: posts.append(one.url) if one.method == "POST" and "/answer" in one.url else None)
    button.evaluate("button => { button.click(); button.click(); button.click(); }")
    expect(screen).to_contain_text(re.compile("“Allow once” counted, "))
    machine.until_said(session, "after")
    assert len(posts) == 1
    screen.get_by_role("button", name="Done").tap()
    expect(page.locator("#main")).to_contain_text("Nothing needs you.")


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_no_button_works_before_all_of_a_long_question_was_on_the_screen(
    machine: Machine, request: pytest.FixtureRequest, size: str
) -> None:
    window: Window = request.getfixturevalue(size)
    _, question = asked(machine)
    page = window.tab("about:blank")
    detail = "\n".join(f"line {number} of a long command" for number in range(120))

    def longer(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        told = answer.json()
        for one in told["questions"]:
            one["detail"] = detail
        route.fulfill(response=answer, json=told)  # type: ignore[attr-defined]

    page.route("**/api/v1/inbox", longer)
    page.goto(link(machine))
    go(page, f"/q/{question}")
    card = page.locator(f"[data-question={question}]")
    button = card.get_by_role("button", name="Allow once")
    expect(button).to_be_disabled()
    expect(card).to_contain_text("Scroll to the end first")
    card.locator(".detail, .body").first.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    expect(button).to_be_enabled()
    assert detail in card.locator(".detail").inner_text()
