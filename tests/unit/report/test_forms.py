"""The forms of a report: all say the same, and nothing in them comes alive, whatever agents say."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.making import report
from rekindle.core.report.sources import Sources, Window
from rekindle.doors.cli import report_html, report_markdown, report_screen
from rekindle.doors.cli.colours import Ink
from rekindle.doors.cli.report_sections import sections
from rekindle.doors.cli.session_screen import Surface
from tests.golden.report_samples import NOW, sample

EVIL = '"><script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)> [a](javascript:b) ![i](http://e/x)'
#: Elements that load or run something, or send it somewhere.
LOADING = {"script", "img", "iframe", "object", "embed", "form", "a", "base", "audio", "video", "use", "image"}


class Page(HTMLParser):
    """Which elements a page has, with their attributes, and what it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def spoiled(text: str) -> MorningReport:
    """The made night, with this text wherever people, agents or commands have a say."""
    found = sample()
    return replace(
        found,
        lines=tuple(
            replace(
                one,
                title=text,
                text=text,
                next=text if one.next else "",
                about=text,
                evidence=tuple(replace(each, ref=text, where=text) for each in one.evidence),
            )
            for one in found.lines
        ),
        claims=tuple(replace(one, quote=text, why=text, title=text) for one in found.claims),
        last_words=tuple(replace(one, text=text, title=text) for one in found.last_words),
        stories=tuple(replace(one, title=text, agent=text, status=text) for one in found.stories),
        problems=(text,),
    )


def test_the_page_loads_nothing_and_its_policy_forbids_everything_but_its_own_style() -> None:
    text = report_html.page(sample(), UTC)
    page = Page(text)
    assert not {tag for tag, _ in page.elements} & LOADING
    assert "http" not in re.sub(r"http-equiv", "", text)
    policy = next(about["content"] for tag, about in page.elements if about.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None and policy is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert not any("style" in about or any(name.startswith("on") for name in about) for _, about in page.elements)


@settings(max_examples=25, deadline=None)
@given(st.one_of(st.just(EVIL), st.text(min_size=1, max_size=80).filter(str.strip)))
def test_whatever_agents_say_stays_text_in_the_page(text: str) -> None:
    plain = Page(report_html.page(spoiled("x"), UTC))
    page = Page(report_html.page(spoiled(text), UTC))
    assert [tag for tag, _ in page.elements if tag not in ("p", "span", "small", "blockquote")] == [
        tag for tag, _ in plain.elements if tag not in ("p", "span", "small", "blockquote")
    ]
    known = {name for _, about in plain.elements for name in about}
    assert {name for _, about in page.elements for name in about} <= known


def test_what_is_said_is_there_to_read() -> None:
    shown = "".join(Page(report_html.page(spoiled(EVIL), UTC)).shown)
    assert EVIL in shown


def test_nothing_becomes_a_link_an_image_or_a_heading_in_markdown() -> None:
    from markdown_it import MarkdownIt

    text = "\n".join(report_markdown.lines(spoiled(f"# {EVIL} `x` **b**"), UTC))
    tokens = MarkdownIt().parse(text)
    kinds = {token.type for token in tokens} | {each.type for token in tokens for each in token.children or ()}
    assert not kinds & {"link_open", "image", "html_inline", "html_block"}
    headings = [one.content for before, one in pairwise(tokens) if before.type == "heading_open"]
    assert [one.partition(" (")[0] for one in headings[1:]] == [one.title for one in sections(spoiled(EVIL))]


@pytest.mark.parametrize("text", [EVIL, "\x1b[31mred\x1b[0m", "a\rb", "漢字" * 60])
def test_no_text_steers_the_terminal_or_gets_wider_than_it(text: str) -> None:
    from rekindle.doors.cli.measure import cells

    shown = list(report_screen.lines(spoiled(text), Surface(80, Ink(False), NOW), UTC))
    assert not any(char in line for line in shown for char in "\x1b\r")
    assert [line for line in shown if cells(line) > 80 and "next: " not in line] == []


def test_every_form_has_the_same_sections_in_the_same_order() -> None:
    found = sample()
    wanted = [one.title for one in sections(found)]
    terminal = "\n".join(report_screen.lines(found, Surface(None, Ink(False), NOW), UTC))
    markdown = "\n".join(report_markdown.lines(found, UTC))
    page = report_html.page(found, UTC)
    for form in (terminal, markdown):
        places = [form.index(f"{title} (") for title in wanted]
        assert places == sorted(places)
    assert all(title.replace("'", "&#x27;") in page for title in wanted)
    assert wanted[0] == "Needs you"


def test_an_empty_report_says_so_in_every_form() -> None:
    found = report(Sources(), Window(NOW - 10, NOW), NOW)
    said = "Nothing happened, and nothing is open."
    assert said in "\n".join(report_screen.lines(found, Surface(80, Ink(False), NOW), UTC))
    assert said in "\n".join(report_markdown.lines(found, UTC))
    assert said in report_html.page(found, UTC)
