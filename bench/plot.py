"""Draws the results as a plain SVG: one bar for each row, how far beyond its target (or short of it) it came."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10

from bench.measured import Result

_LEFT, _RIGHT, _TOP, _STEP, _WIDTH = 290, 110, 48, 26, 900
_MET, _MISSED, _INK, _GRID = "#2f7d4f", "#b5482f", "#24292f", "#d0d7de"


def score(result: Result) -> float | None:
    """How many times better than asked: 1 is the target exactly, less is a miss."""
    if result.ratio is None:
        return None
    return result.ratio / result.target if result.bound == "at least" else result.target / result.ratio


def draw(results: Sequence[Result]) -> str:
    """The SVG's text."""
    shown = [(result, value) for result in results if (value := score(result)) is not None]
    low, high = _decades([value for _, value in shown])
    height = _TOP + _STEP * len(shown) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}" role="img">',
        "<title>Achieved ratio relative to target, logarithmic</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">times better than the target (logarithmic)</text>',
    ]
    bottom = height - 34
    for tick in _ticks(low, high):
        x = _x(tick, low, high)
        colour, width = (_INK, 1.5) if tick == 1 else (_GRID, 1)
        parts.append(
            f'<line x1="{x}" y1="{_TOP - 10}" x2="{x}" y2="{bottom}" stroke="{colour}" stroke-width="{width}"/>'
        )
        label = "target" if tick == 1 else f"{tick:g}×"
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for number, (result, value) in enumerate(shown):
        parts.extend(_bar(result, value, _TOP + number * _STEP, low, high))
    return "\n".join([*parts, "</svg>", ""])


def _bar(result: Result, value: float, y: int, low: float, high: float) -> list[str]:
    one, end = _x(1, low, high), _x(value, low, high)
    colour = _MET if value >= 1 else _MISSED
    text = f"{value:.3g}×"
    return [
        f'<text x="{_LEFT - 12}" y="{y + 13}" text-anchor="end">{escape(result.name)}</text>',
        f'<rect x="{min(one, end)}" y="{y}" width="{max(1.0, round(abs(end - one), 1))}" height="17" fill="{colour}"/>',
        f'<text x="{max(one, end) + 6}" y="{y + 13}">{text}</text>',
    ]


def _decades(values: list[float]) -> tuple[float, float]:
    return min([0.5, *(value / 1.2 for value in values)]), max([2.0, *(value * 1.2 for value in values)])


def _ticks(low: float, high: float) -> list[float]:
    return [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]


def _x(value: float, low: float, high: float) -> float:
    share = (log10(value) - log10(low)) / (log10(high) - log10(low))
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)
