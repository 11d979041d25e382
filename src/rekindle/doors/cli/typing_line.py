"""An input line that stays at the bottom of the terminal, apart from the output above it.

The terminal echoes nothing by itself while the line is there, so that no key can end up in the output. prompt_toolkit
is imported when the first line is opened: no other command pays for it.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings

How = Literal["over", "interrupted", "left"]
_REFRESH_SECONDS = 0.125
_MOST_TYPED_ROWS = 6


class LineOwner(Protocol):
    """The owner of the line. All of this is called in the thread that runs the line."""

    def above(self, columns: int) -> str:
        """The text between the output and the line; may be empty."""
        ...

    def label(self) -> tuple[str, bool]:
        """The text in front of the input, and whether it needs attention."""
        ...

    def below(self, columns: int) -> str:
        """The status, in one line."""
        ...

    def accept(self, text: str) -> bool:
        """Handle a line; returns whether it was accepted. If not, it stays for editing."""
        ...


class TypingLine:
    """`run` shows it until the person leaves, or until `finish`."""

    def __init__(self, owner: LineOwner, opened: Callable[[], None]) -> None:
        from prompt_toolkit.buffer import Buffer

        self._owner = owner
        self._opened = opened
        self._due: deque[str | Callable[[], None]] = deque()
        self._draft = ""
        self._buffer = Buffer(accept_handler=self._accepted, multiline=False)
        self._app = self._made()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is typed and nothing is set aside."""
        return not (self._buffer.text or self._draft)

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self._app.output.get_size().columns

    def run(self) -> How:
        """Show the line; returns how the person left it."""
        how = self._app.run(pre_run=self._begin, handle_sigint=False)
        self._write_due()
        return how

    def write(self, text: str) -> None:
        """Write above the line. Works from any thread; writes and calls keep their order."""
        self.call(text)

    def call(self, what: str | Callable[[], None]) -> None:
        """Call something in the line's own thread, or write a text there."""
        self._due.append(what)
        loop = self._app.loop
        if loop is not None and self._app.is_running:
            try:
                loop.call_soon_threadsafe(self._write_due)
            except RuntimeError:  # it has just ended; what is due is written when `run` returns
                return

    def finish(self) -> None:
        """End it. Only in the line's own thread."""
        self._exit("over")

    def put_aside(self) -> None:
        """Set the typed text aside, and start with an empty line."""
        self._draft = self._draft or self._buffer.text
        self._buffer.reset()

    def clear(self) -> None:
        """Discard the typed text."""
        self._buffer.reset()

    def bring_back(self, text: str = "") -> None:
        """Restore the text set aside, or this text; never overwrite what was typed since."""
        if not self._buffer.text:
            self._buffer.text = text or self._draft
            self._buffer.cursor_position = len(self._buffer.text)
            self._draft = self._draft if text else ""

    def _begin(self) -> None:
        loop = self._app.loop
        assert loop is not None
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._exit, "left")
        loop.add_signal_handler(signal.SIGINT, self._exit, "interrupted")
        loop.call_soon(self._write_due)
        self._opened()

    def _exit(self, how: How) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit(result=how)

    def _accepted(self, buffer: Buffer) -> bool:
        return not self._owner.accept(buffer.text)

    def _write_due(self) -> None:
        """Write pending output where the line is now; the line is redrawn below it."""
        if not self._due:
            return
        app, on_screen = self._app, self._app.is_running and not self._app.is_done
        if on_screen:
            app.renderer.erase()
        while self._due:
            what = self._due.popleft()
            if callable(what):
                what()
            else:
                app.output.write_raw(what.replace("\r\n", "\n").replace("\n", "\r\n"))
        app.output.flush()
        if on_screen and not app.is_done:
            app.renderer.request_absolute_cursor_position()
            app.invalidate()

    def _made(self) -> Application[How]:
        from prompt_toolkit.application import Application
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
        from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
        from prompt_toolkit.layout.dimension import Dimension
        from prompt_toolkit.layout.processors import BeforeInput

        def label() -> StyleAndTextTuples:
            text, wants_attention = self._owner.label()
            return [("ansiyellow bold" if wants_attention else "bold", text)]

        above = Window(
            FormattedTextControl(lambda: self._owner.above(self.columns)), wrap_lines=True, dont_extend_height=True
        )
        line = Window(
            BufferControl(self._buffer, input_processors=[BeforeInput(label)]),
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=_MOST_TYPED_ROWS),
        )
        below = Window(FormattedTextControl(lambda: [("ansibrightblack", self._owner.below(self.columns))]), height=1)
        shown = ConditionalContainer(above, Condition(lambda: bool(self._owner.above(self.columns))))
        return Application(
            layout=Layout(HSplit([shown, line, below]), focused_element=line),
            key_bindings=self._keys(),
            erase_when_done=True,
            refresh_interval=_REFRESH_SECONDS,
        )

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()
        keys.add("c-c")(lambda _event: self._exit("interrupted"))
        keys.add("c-d", filter=Condition(lambda: not self._buffer.text))(lambda _event: self._exit("left"))
        return keys
