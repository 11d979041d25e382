"""What a terminal showed, as SVG: a recording whose lines appear in the time that they took, or one still screen.

No line waits longer than a reader would like. Everything is in the file: no font and no script is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from xml.sax.saxutils import escape

Style = Literal["narration", "command", "output"]

_COLUMN: Final = 7.8
_ROW: Final = 18
_MARGIN: Final = 16
#: The longest and the shortest pause between two lines, and how long the end stays, in seconds.
_LONGEST, _SHORTEST, _END = 1.2, 0.06, 6.0
_TEXT: Final = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d6dae0; \
white-space: pre }
"""
_STYLE: Final = f"""{_TEXT}\
.narration {{ fill: #f2c063; font-weight: 600 }}
.command {{ fill: #8fd18a; font-weight: 600 }}
"""
_LOOKS: Final = {
    "bold": "font-weight: 600",
    "italics": "font-style: italic",
    "underscore": "text-decoration: underline",
    "strikethrough": "text-decoration: line-through",
    "red": "fill: #f07178",
    "green": "fill: #8fd18a",
    "yellow": "fill: #f2c063",
    "brightyellow": "fill: #f2c063",
    "blue": "fill: #82aaff",
    "magenta": "fill: #c792ea",
    "cyan": "fill: #78d0dc",
    "brightblack": "fill: #8b929e",
}


@dataclass(frozen=True)
class Line:
    """One line, and when it was shown, in seconds of any clock."""

    at: float
    style: Style
    text: str


def svg(lines: Sequence[Line], columns: int = 112, rows: int = 32) -> str:
    """The recording, played again and again."""
    folded = [piece for line in lines for piece in _folded(line, columns)]
    times = _times(folded)
    whole = (times[-1] if times else 0.0) + _END
    width, height = round(columns * _COLUMN) + 2 * _MARGIN, rows * _ROW + 2 * _MARGIN
    drawn = [
        f'<text class="{line.style}" x="{_MARGIN}" y="{_MARGIN + _ROW * (number + 1) - 5}" opacity="0">'
        f"{_appearing(moment, whole)}{escape(line.text)}</text>"
        for number, (line, moment) in enumerate(zip(folded, times, strict=True))
        if line.text
    ]
    return "\n".join(
        [
            *_frame(width, height, _STYLE),
            f'<clipPath id="screen"><rect y="{_MARGIN}" width="{width}" height="{rows * _ROW}"/></clipPath>',
            '<g clip-path="url(#screen)"><g>',
            _scrolling(times, whole, rows),
            *drawn,
            "</g></g>",
            "</svg>",
            "",
        ]
    )


def still(lines: Sequence[Sequence[tuple[str, str]]], columns: int = 80) -> str:
    """One screen. Each line is pieces of text, each with its look: names joined by `+`, empty for plain text."""
    looks = sorted({name for line in lines for look, _ in line for name in look.split("+") if name in _LOOKS})
    style = _TEXT + "".join(f".{name} {{ {_LOOKS[name]} }}\n" for name in looks)
    width, height = round(columns * _COLUMN) + 2 * _MARGIN, len(lines) * _ROW + 2 * _MARGIN
    drawn = [
        f'<text x="{_MARGIN}" y="{_MARGIN + _ROW * (number + 1) - 5}">{"".join(_piece(*one) for one in line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    return "\n".join([*_frame(width, height, style), *drawn, "</svg>", ""])


def _piece(look: str, text: str) -> str:
    names = " ".join(name for name in look.split("+") if name in _LOOKS)
    return f'<tspan class="{names}">{escape(text)}</tspan>' if names else escape(text)


def _frame(width: int, height: int, style: str) -> list[str]:
    size = f'width="{width}" height="{height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>',
        f"<style>{style}</style>",
        f'<rect {size} rx="8" fill="#16191f"/>',
    ]


def _folded(line: Line, columns: int) -> list[Line]:
    """A line that is too long goes on in the next one."""
    pieces = [line.text[start : start + columns] for start in range(0, len(line.text), columns)] or [""]
    return [Line(line.at, line.style, piece) for piece in pieces]


def _times(lines: Sequence[Line]) -> list[float]:
    """When each line appears in the recording."""
    found: list[float] = []
    before: Line | None = None
    for line in lines:
        pause = _SHORTEST if before is None else min(_LONGEST, max(_SHORTEST, line.at - before.at))
        found.append((found[-1] if found else 0.0) + pause)
        before = line
    return found


def _appearing(moment: float, whole: float) -> str:
    times = f"0;{moment / whole:.5f};1"
    return (
        f'<animate attributeName="opacity" values="0;1;1" keyTimes="{times}" calcMode="discrete" '
        f'dur="{whole:.2f}s" repeatCount="indefinite"/>'
    )


def _scrolling(times: Sequence[float], whole: float, rows: int) -> str:
    """The newest line is always in sight."""
    hidden = [(moment, number + 1 - rows) for number, moment in enumerate(times) if number >= rows]
    if not hidden:
        return ""
    values = ";".join(["0 0", *(f"0 {-above * _ROW}" for _, above in hidden)])
    keys = ";".join(["0", *(f"{moment / whole:.5f}" for moment, _ in hidden)])
    return (
        f'<animateTransform attributeName="transform" type="translate" values="{values}" keyTimes="{keys}" '
        f'calcMode="discrete" dur="{whole:.2f}s" repeatCount="indefinite"/>'
    )
