"""What is typed at the scripted agent's screen: bytes of a terminal in, keys and whole prompts out. Pure.

Enter (a carriage return) sends; a line feed is part of the text, so that a prompt may have several lines.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final, Literal

_ESCAPE: Final = "\x1b"
_PASTE_BEGINS, _PASTE_ENDS = "[200~", "[201~"


@dataclass(frozen=True, slots=True)
class Submitted:
    """Somebody pressed Enter."""

    text: str


#: Escape and Ctrl-C end a turn, Ctrl-D ends the program.
Key = Submitted | Literal["escape", "close"]


class InputLine:
    """The text that is being typed. `feed` returns what happened, and what to show of it."""

    def __init__(self) -> None:
        self.text = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._pasting = False

    def feed(self, data: bytes) -> tuple[list[Key], str]:
        """Take what was typed: the keys, in order, and the echo."""
        keys: list[Key] = []
        echo = ""
        rest = self._decode.decode(data)
        while rest:
            one, rest = rest[0], rest[1:]
            if one == _ESCAPE and rest[:1] in ("[", "O"):
                rest = self._sequence(rest)
            elif one in (_ESCAPE, "\x03"):
                keys.append("escape")
            elif one == "\x04" and not self.text:
                keys.append("close")
            elif one == "\r" and not self._pasting:
                keys.append(Submitted(self.text))
                self.text = ""
                echo += "\n"
            elif one in ("\x7f", "\b"):
                echo += "\b \b" if self.text and self.text[-1] != "\n" else ""
                self.text = self.text[:-1]
            elif one in "\r\n":
                self.text += "\n"
                echo += "\n"
            elif one.isprintable():
                self.text += one
                echo += one
        return keys, echo

    def _sequence(self, rest: str) -> str:
        """Leave out a key such as an arrow; the marks of a paste are remembered."""
        for mark, pasting in ((_PASTE_BEGINS, True), (_PASTE_ENDS, False)):
            if rest.startswith(mark):
                self._pasting = pasting
                return rest[len(mark) :]
        end = next((at for at, one in enumerate(rest[1:], 1) if one.isalpha() or one == "~"), len(rest) - 1)
        return rest[end + 1 :]
