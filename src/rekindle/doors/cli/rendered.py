"""An agent's output on a terminal that can move its cursor: wrapped Markdown, and a status line below.

A block (a paragraph, a list, a piece of code) is rendered when it is complete; until then its end is shown as it
arrives. Nothing from the agent can control the terminal, and Markdown loses no text: HTML stays as written.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.live import PREFIX, shown_lines, working_line
from rekindle.doors.cli.measure import cells, unbroken

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.markdown import Markdown
    from rich.spinner import Spinner

_TAIL_LINES = 5
#: Where a very long line may be cut: more than the tail can show on any terminal.
_CUT = 4096


class RenderedView:
    """Prints entries. Same use as `rekindle.doors.cli.live.LiveView`."""

    def __init__(self, session: str, console: Console) -> None:
        self._session = session
        self._console = console
        self._live: Live | None = None
        self._words = ""
        self._speaking = "said"
        self._status = ""
        self._spinner: Spinner | None = None

    def show(self, entries: list[ConversationEntry]) -> None:
        """Print some more."""
        for entry in entries:
            if entry.kind in ("said", "thought"):
                if entry.kind != self._speaking:
                    self._flush()
                self._speaking = entry.kind
                done, self._words = blocks(self._words + entry.text)
                for block in done:
                    self._print(block)
            else:
                self._flush()
                self._entry(entry)

    def status(self, told: dict[str, Any], seconds: float, now: float) -> None:
        """Show the status below, until something else is shown or `rest` is called."""
        self._status = working_line(told, seconds, now)
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=self._console, get_renderable=self._tail, transient=True, refresh_per_second=8)
            self._live.start()

    def rest(self) -> None:
        """Print what is complete as far as we know, and leave the terminal to others."""
        self._flush()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _flush(self) -> None:
        words, self._words = self._words, ""
        if words.strip():
            self._print(words)

    def _print(self, words: str) -> None:
        from rich.text import Text

        safe = "\n".join(printable(line) for line in words.strip("\n").split("\n"))
        if self._speaking == "thought":
            self._console.print(Text(safe, style="bright_black"))
        else:
            self._console.print(as_markdown(safe))

    def _entry(self, entry: ConversationEntry) -> None:
        from rich.padding import Padding
        from rich.text import Text

        mark, colour = PREFIX[entry.kind]
        said = "finished" if (entry.kind, entry.text) == ("end", "end_turn") else entry.text
        first, *more = shown_lines(said, self._session) or [""]
        behind = " " * (cells(mark) + 1)
        head, *tail = unbroken(first, max(self._console.width - len(behind), 8)) or [""]
        self._console.print(Text.assemble((mark, colour or ""), " ", head))
        for line in tail:
            self._console.print(Text(behind + line))
        for line in more:
            self._console.print(Padding(Text(line), (0, 0, 0, 6)))

    def tail(self, width: int) -> str:
        """The end of a block that is not complete yet, as it arrives."""
        ends = [printable(_end(line)) for line in self._words.split("\n")[-_TAIL_LINES:]]
        lines = [part for line in ends for part in unbroken(line, width)]
        return "\n".join(lines[-_TAIL_LINES:]).strip("\n")

    def _tail(self) -> Group:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        width = max(self._console.width, 1)
        tail = self.tail(width)
        status = Text(self._status, style="bright_black", no_wrap=True)
        status.truncate(max(width - 2, 1), overflow="ellipsis")
        self._spinner = self._spinner or Spinner("dots")
        self._spinner.update(text=status)
        return Group(*([Text(tail)] if tail.strip() else []), self._spinner)


class RenderedAbove(RenderedView):
    """The same into a file, for a caller that prints it above its own status line."""

    def __init__(self, session: str, file: IO[str]) -> None:
        from rich.console import Console

        super().__init__(session, Console(file=file, force_terminal=True))

    def status(self, told: dict[str, Any], seconds: float, now: float) -> None:
        """The status is shown elsewhere."""


def _end(line: str) -> str:
    """The end of a very long line. It is cut at few places, so that lines do not move with every word that comes."""
    return line[max(len(line) // _CUT - 1, 0) * _CUT :]


def blocks(text: str) -> tuple[list[str], str]:
    """The blocks of Markdown that are complete: a blank line follows, outside of fenced code. And what is left."""
    found: list[str] = []
    block: list[str] = []
    fence = ""
    *lines, last = text.split("\n")
    for line in lines:
        start = line.strip()[:3]
        if start in ("```", "~~~") and fence in ("", start):
            fence = "" if fence else start
        if line.strip() or fence:
            block.append(line)
        elif block:
            found.append("\n".join(block))
            block = []
    return found, "\n".join([*block, last])


def as_markdown(text: str) -> Markdown:
    """Markdown in which each line of a paragraph stays a line, and what looks like HTML or a link's target is text."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    parser = MarkdownIt().enable(["strikethrough", "table"]).disable(["html_block", "html_inline", "reference"])
    found = Markdown("", hyperlinks=False)
    found.parsed = parser.parse(text)
    for token in found.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return found
