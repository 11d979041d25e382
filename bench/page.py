"""How large the page is, and how soon a long conversation is on the screen.

Chromium and a built page (`make page`) are needed; where they are missing the rows are skipped, and say so.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from bench.measured import Measured, Skipped, in_turn
from bench.stage import Stage

_PAGE = Path(__file__).parents[1] / "src" / "rekindle" / "page"
#: What the page may weigh before anything is shown, packed: 100 kB.
_MOST_BYTES = 100_000
_SHORT = 50


def size(_stage: Stage) -> Measured:
    """What a browser loads before the first view, packed as servers pack it."""
    if not (_PAGE / "index.html").exists():
        raise Skipped("the page is not built: make page")
    markup = (_PAGE / "index.html").read_text()
    first = [one for one in (_PAGE / "assets").iterdir() if one.name in markup]
    packed = sum(len(gzip.compress(one.read_bytes(), 6)) for one in first)
    later = sum(len(gzip.compress(one.read_bytes(), 6)) for one in (_PAGE / "assets").iterdir() if one not in first)
    return Measured([float(_MOST_BYTES)], [float(packed)], {"bytes": packed, "bytes_loaded_on_demand": later})


def first_paint(stage: Stage) -> Measured:
    """Open a session whose conversation is long, and one whose conversation is short; both in the same browser."""
    os.environ.setdefault("REKINDLE_TEST_RUN", f"bench {os.getpid()}")
    from tests.e2e import starter
    from tests.e2e.daemon import Machine
    from tests.web import browser as web

    if why := web.why_not():
        raise Skipped(why)
    long = min(50_000, stage.sizes.long // 20)
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        try:
            names = {count: _spoken(machine, count) for count in (_SHORT, long)}
            with web.started() as browser, web.window(browser) as window:
                page = window.tab(web.link(machine))
                page.wait_for_selector("[data-item]")

                def painted(count: int) -> float:
                    web.go(page, "/machine")
                    page.wait_for_selector("text=Daemon")
                    return float(page.evaluate(_OPEN, [f"/s/{names[count]}", f"the end of {count}"])) / 1000

                for count in names:
                    painted(count)  # the daemon reads a conversation once
                measured = in_turn(stage.sizes.heavy, lambda: painted(_SHORT), lambda: painted(long))
        finally:
            machine.clean_up()
            starter.end()
    return replace(measured, facts={"entries": long, "entries_of_the_short_one": _SHORT})


_OPEN = """async ([path, text]) => {
  const begun = performance.now();
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const there = document.querySelector('.stream .by-said:last-of-type, .stream');
    if (there !== null && there.textContent.includes(text)) return performance.now() - begun;
  }
}"""


def _spoken(machine: object, count: int) -> str:
    """A session with so many entries: every tool call is two of them."""
    from tests.e2e.daemon import Machine, until

    assert isinstance(machine, Machine)
    (machine.work / "a.txt").write_text("x\n")
    session = machine.begin(*["read a.txt"] * (count // 2), f"say the end of {count}")
    until(lambda: machine.show(session)["status"] in ("waiting", "asleep"), "the end of the turn", 900)
    return session
