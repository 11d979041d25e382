"""A report as one HTML page that loads nothing: no script, no font, no image from anywhere. Pure.

Every text that comes from people, agents or commands is escaped, and the page's own policy forbids whatever would get
past that. Dark and light follow the reader's system.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import Final

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.summary import headline
from rekindle.doors.cli import report_plots
from rekindle.doors.cli.html_text import escape
from rekindle.doors.cli.report_sections import ReportRow, Section, cited, clock, period, sections

_STYLE: Final = """
:root{--bg:#fff;--ink:#1c1e21;--soft:#5b626b;--line:#e3e6ea;--card:#f6f7f9;--needs:#9a5b00;--needs-bg:#fff4df;
--bad:#b3261e;
--good:#1d6b3a;--work:#5f7fb0;--ask:#d98a00;--wait:#c3b58a;--cut:#c9362c;--idle:#dfe3e8;--back:#2a8a4f;
--c0:#3a66a8;--c1:#2a8a4f;--c2:#b3591e;--c3:#7a4fa3;--c4:#a32a5b;--c5:#3b7f88}
@media (prefers-color-scheme:dark){:root{--bg:#14161a;--ink:#e4e7eb;--soft:#9aa3ad;--line:#2b3038;--card:#1c2026;
--needs:#f2b84b;
--needs-bg:#2d2410;--bad:#ff8a80;--good:#7fd39b;--work:#7f9fd0;--ask:#e8a33a;--wait:#7d734f;--cut:#ff6f61;
--idle:#2b3038;
--back:#57c07d;--c0:#8db1ee;--c1:#7fd39b;--c2:#f0a36b;--c3:#c3a0ea;--c4:#f08fb4;--c5:#7fc7d1}}
*{box-sizing:border-box}
body{margin:0 auto;padding:20px 16px 48px;max-width:860px;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px;margin:0}h2{font-size:16px;margin:28px 0 8px}h2 small,h1 small{font-weight:400;color:var(--soft);
font-size:13px}
p{margin:4px 0}.soft,.note,.legend,.axis,small,.evidence{color:var(--soft)}
.note,.legend,.axis,.evidence{font-size:13px}
.facts{display:flex;flex-wrap:wrap;gap:8px;margin:12px 0 0;padding:0;list-style:none}
.facts li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:4px 10px}
ul.rows{list-style:none;margin:0;padding:0}
ul.rows>li{padding:10px 12px;border:1px solid var(--line);border-radius:8px;margin:0 0 8px;background:var(--card)}
.needs h2{color:var(--needs)}.needs ul.rows>li{background:var(--needs-bg);border-left:4px solid var(--needs)}
.bad h2{color:var(--bad)}.bad ul.rows>li{border-left:4px solid var(--bad)}
.good h2{color:var(--good)}.good ul.rows>li{border-left:4px solid var(--good)}
.about{font-weight:600}.time{color:var(--soft);font-variant-numeric:tabular-nums;margin-right:8px}
blockquote{margin:4px 0;padding-left:10px;border-left:3px solid var(--line);font-style:italic}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.next code{display:block;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:8px 10px;
margin-top:6px;
overflow-x:auto;white-space:pre;user-select:all}
summary{cursor:pointer;list-style-position:inside}details>summary h2{display:inline}details{margin-top:20px}
details[open]>summary{margin-bottom:8px}
details.evidence{margin:4px 0 0}details.evidence[open]>summary{margin-bottom:2px}
svg{display:block}svg.bars{width:100%;height:16px}svg.plot{width:100%;height:160px;
border-bottom:1px solid var(--line)}
svg.key{display:inline-block;width:10px;height:10px;vertical-align:baseline}.legend span{margin-right:12px;
white-space:nowrap}
.bar{margin:0 0 8px}.bar .label{display:block;font-size:13px}.axis{display:flex;justify-content:space-between;
margin-top:4px}
.working{fill:var(--work)}.asking{fill:var(--ask)}.waiting{fill:var(--wait)}.cut{fill:var(--cut)}
.idle{fill:var(--idle)}
.cutmark{fill:var(--cut)}.backmark{fill:var(--back)}.cutline{stroke:var(--cut);stroke-width:1;stroke-dasharray:4 3}
.line{fill:none;stroke:var(--c0);stroke-width:2}.area{fill:var(--idle)}
.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}
.line.c5{stroke:var(--c5)}
.dot.c0{fill:var(--c0)}.dot.c1{fill:var(--c1)}.dot.c2{fill:var(--c2)}.dot.c3{fill:var(--c3)}.dot.c4{fill:var(--c4)}
.dot.c5{fill:var(--c5)}ul.contexts{list-style:none;padding:0;font-size:13px}
@media (max-width:480px){.axis span:nth-child(even){display:none}}
@media print{body{max-width:none}details:not([open])>*{display:block}}
"""
#: Sections that are shown folded: what went well, and is not proof.
_FOLDED: Final = ("Asked", "Done", "Waited", "Spent", "Cut off and resumed", "In the agents' own words")


def page(report: MorningReport, zone: tzinfo | None = None) -> str:
    """The whole page."""
    return "\n".join(_page(report, zone)) + "\n"


def policy() -> str:
    """What the page may do: nothing but use its own style, which is named by its digest."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _page(report: MorningReport, zone: tzinfo | None) -> Iterator[str]:
    told = clock(zone, report)
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(), quote=True)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
    yield f'<link rel="icon" href="data:,"><title>rekindle: {escape(period(report, zone))}</title>'
    yield f"<style>{_STYLE}</style></head><body>"
    yield f"<header><h1>Report</h1><p class=soft>{escape(period(report, zone))}</p>"
    facts = headline(report)
    if facts:
        yield f"<ul class=facts>{''.join(f'<li>{escape(one)}</li>' for one in facts)}</ul>"
    else:
        yield "<p>Nothing happened, and nothing is open.</p>"
    yield "</header><main>"
    parts = sections(report)
    urgent = [one for one in parts if one.title not in _FOLDED and one.title != "Still open"]
    for section in urgent:
        yield from _section(section, told, folded=False)
    axis = report_plots.TimeAxis(report, told)
    yield from report_plots.timeline(report, axis, told)
    yield from report_plots.costs(report, axis)
    yield from report_plots.contexts(report, axis)
    for section in parts:
        if section not in urgent:
            yield from _section(section, told, folded=section.title in _FOLDED)
    made = clock(zone, report)(report.made_at)
    yield f"</main><footer><p class=note>Made by rekindle at {escape(made)}.</p></footer></body></html>"


def _section(section: Section, told: Callable[[float], str], *, folded: bool) -> Iterator[str]:
    note = f" <small>{escape(section.note)}</small>" if section.note else ""
    heading = f"<h2>{escape(section.title)} <small>{len(section.rows)}</small>{note}</h2>"
    rows = "".join(_row(row, told(row.at)) for row in section.rows)
    if folded:
        yield f"<details class={section.tone}><summary>{heading}</summary><ul class=rows>{rows}</ul></details>"
    else:
        yield f"<section class={section.tone}>{heading}<ul class=rows>{rows}</ul></section>"


def _row(row: ReportRow, at: str) -> str:
    told = "feature" if row.name == f"feature {row.about}" else row.name
    name = f" <small>{escape(told)}</small>" if told else ""
    times = f" ({row.times} times)" if row.times > 1 else ""
    parts = [f"<span class=time>{escape(at)}</span><span class=about>{escape(row.about)}</span>{name}"]
    parts += [f"<blockquote>{escape(row.quote)}</blockquote>"] if row.quote else []
    parts += [f"<p>{escape(row.text)}{times}</p>"] if row.text else []
    if row.evidence:
        looks = ", ".join(dict.fromkeys(one.look for one in row.evidence))
        words = f"<summary>{escape(cited(row.evidence))}</summary><code>{escape(looks)}</code>"
        parts.append(f"<details class=evidence>{words}</details>")
    parts += [f"<div class=next><code>{escape(row.next)}</code></div>"] if row.next else []
    return f"<li>{''.join(parts)}</li>"
