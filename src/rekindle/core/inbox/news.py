"""Something that a person may be told outside the terminal, and the message that tells it. Pure.

It is news as long as what it is about lasts: a question that was answered is none any more. The key names the occasion,
so that the same occasion is told once.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

#: What can be told: a question, a session that failed or needs a person without a question, a feature that ended, and
#: the daily report.
About = Literal["question", "failed", "needs_you", "feature", "report"]
#: What a person can choose among; the report has a setting of its own.
ABOUT: Final[tuple[About, ...]] = ("question", "failed", "needs_you", "feature")
#: The most items that a digest names one by one.
NAMED: Final = 50
#: The longest title, in characters.
LONGEST_TITLE: Final = 200


class News(msgspec.Struct, frozen=True):
    """`title` is one line, `link` is the command to type, `text` is told only if the settings ask for it.

    `since` is when it began. `session` is the session that it is about, if any.
    """

    key: str
    about: About
    title: str
    link: str
    since: float
    text: str = ""
    session: str | None = None


class DigestItem(msgspec.Struct, frozen=True):
    """One item in a digest."""

    title: str
    link: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver gets. `count` is how many items it stands for; `items` names them, at most `NAMED`.

    `may_be_repeated`: an earlier try may have arrived after all. A receiver can recognise it by its `id`.
    """

    id: str
    about: Literal["question", "failed", "needs_you", "feature", "report", "digest", "test"]
    title: str
    link: str
    at: float
    text: str = ""
    count: int = 1
    items: tuple[DigestItem, ...] = ()
    may_be_repeated: bool = False

    @property
    def body(self) -> str:
        """The lines below the title, for receivers that show plain text."""
        lines = [f"{one.title}: {one.link}" for one in self.items]
        lines += [f"and {self.count - len(self.items)} more"] if self.items and self.count > len(self.items) else []
        lines += [*([self.text] if self.text else []), self.link]
        lines += ["(This may be a repetition: rekindle was stopped while it sent it.)"] if self.may_be_repeated else []
        return "\n".join(lines)


def message(id_: str, news: list[News], at: float, *, with_text: bool, may_be_repeated: bool = False) -> Message:
    """The message that tells this: the one item itself, or a digest of several."""
    if len(news) == 1:
        one = news[0]
        return Message(
            id=id_,
            about=one.about,
            title=one_line(one.title),
            link=one.link,
            at=at,
            text=one.text if with_text else "",
            may_be_repeated=may_be_repeated,
        )
    items = tuple(DigestItem(one_line(one.title), one.link) for one in news[:NAMED])
    return Message(
        id=id_,
        about="digest",
        title=f"rekindle: {len(news)} things to look at",
        link="rekindle inbox",
        at=at,
        count=len(news),
        items=items,
        may_be_repeated=may_be_repeated,
    )


def one_line(title: str) -> str:
    """A title as one line of a sensible length, without anything that steers a terminal."""
    line = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"
