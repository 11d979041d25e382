"""The rows: every promise about speed and size, with its target. `bench/words.py` says what each one measures."""

from __future__ import annotations

from collections.abc import Callable

from bench import (
    appending,
    committing,
    daemon_appends,
    door,
    fleet_jobs,
    hooked,
    page,
    planning,
    reading,
    searching,
    sessions,
    snapshotting,
    starting,
    streaming,
    tailing,
    taking_over,
    waking,
)
from bench.measured import Bound, Measured, Row
from bench.stage import Stage
from bench.words import UNKNOWN, WHAT, WHY

NAIVE = "naive (json.loads, line by line)"
NODE = "node (readline, JSON.parse)"
PLAIN = "open, append, fsync"
PASS = "python -c pass"
ADD = "git add -A, git write-tree"
RESUMED = "the agent's own resume (claude --resume)"
ASKING = "the same with --permission-prompt-tool stdio"
#: Claude Code as the tests have it, and the newest version that was tried.
PINNED, NEWEST = "claude", "claude-newest"

_TABLE: tuple[tuple[str, Bound, float, str, Callable[[Stage], Measured]], ...] = (
    ("detect an interrupted run, 1e6 lines", "at most", 2, "the same at 1e4 lines", reading.detect),
    ("analyse warm, 1e6 lines, tail of 1,000", "at least", 1_000, NAIVE, reading.analyse_warm),
    ("analyse cold, against naive", "at least", 10, NAIVE, reading.analyse_cold),
    ("analyse cold, against node", "at least", 4, NODE, reading.analyse_cold_node),
    ("list the runs of a file", "at least", 5, NAIVE, reading.list_runs),
    ("scan feature folders cold", "at least", 30, NAIVE, reading.scan_cold),
    ("scan feature folders warm", "at least", 100, NAIVE, reading.scan_warm),
    ("durable append, 8 writers: processor", "at most", 2, PLAIN, appending.with_writers(8)),
    ("durable append, 64 writers: processor", "at most", 2, PLAIN, appending.with_writers(64)),
    ("appends through the daemon, 64 writers: syncs", "at most", 0.1, "one sync per event", daemon_appends.syncs),
    ("appends through the daemon, 64 writers: processor", "at most", 2, PLAIN, daemon_appends.processor),
    ("a plan, 40 tasks in 10 waves", "at most", 3, "git and the same agent in a script", planning.overhead),
    ("begin a plan of 500 tasks", "at most", 10, "a plan of 50 tasks", planning.begin(500)),
    ("begin a plan of 5,000 tasks", "at most", 100, "a plan of 50 tasks", planning.begin(5_000)),
    ("explain a plan of 500 tasks", "at most", 10, "a plan of 50 tasks", planning.explain(500)),
    ("explain a plan of 5,000 tasks", "at most", 100, "a plan of 50 tasks", planning.explain(5_000)),
    ("search all conversations", "at least", 500, "naive (read and decode every spool)", searching.search),
    ("memory of guard and keeper", "at most", 1, "15 MB a session", sessions.memory),
    ("recovery with 1,000 idle sessions", "at most", 5, "the same with 100", sessions.starts(1000)),
    ("start of the daemon with 3,000 idle sessions", "at most", 3, "the same with 100", sessions.starts(3000)),
    ("rekindle ps with 3,000 sessions", "at most", 3, "the same with 100", sessions.listings),
    ("send to a sleeping session", "at most", 1.15, RESUMED, waking.send),
    ('run "say hi", with a daemon', "at most", 1.5, "the agent alone (claude -p)", waking.run_warm),
    ('run "say hi", without a daemon', "at most", 2.5, "the agent alone (claude -p)", waking.run_cold),
    ("kill -9 to the next request", "at most", 1.3, "a loop around the agent's own resume", waking.kill),
    ("characters given to the model at a resume", "at most", 1.05, RESUMED, waking.characters(PINNED)),
    ("prefix that stays the same at a resume", "at least", 1, RESUMED, waking.prefix(PINNED)),
    ("characters at a resume, both may ask", "at most", 1.05, ASKING, waking.characters(PINNED, may_ask=True)),
    ("prefix at a resume after a change, stable prompt", "at least", 1, RESUMED, waking.prefix(PINNED, stable=True)),
    ("characters at a resume, newest version", "at most", 1.05, RESUMED, waking.characters(NEWEST)),
    ("prefix at a resume, newest version", "at least", 1, RESUMED, waking.prefix(NEWEST)),
    (
        *("characters at a resume, newest version, both may ask", "at most", 1.05, ASKING),
        waking.characters(NEWEST, may_ask=True),
    ),
    ("50 live agents: processor of the daemon", "at most", 1, "0.5 % of a core for each", streaming.processor(50)),
    ("50 live agents: memory of the daemon", "at most", 1, "3 MB for each", streaming.memory(50)),
    ("200 live agents: processor of the daemon", "at most", 1, "0.5 % of a core for each", streaming.processor(200)),
    ("200 live agents: memory of the daemon", "at most", 1, "3 MB for each", streaming.memory(200)),
    ("50 live, 950 idle sessions: to the WebSocket", "at most", 3, "the bare socket", door.lateness),
    ("commits of 64 sessions at once: syncs", "at most", 0.1, "one sync per fact", committing.syncs),
    ("commits of 64 sessions at once: the loop is held up", "at most", 0.1, "commits in the loop", committing.pauses),
    ("follow 500 growing records: how late", "at most", 1.15, "a bare watch", tailing.lateness),
    ("follow 500 growing records: processor", "at most", 3.3, "a bare watch", tailing.processor),
    ("start of rekindle ps", "at most", 6, PASS, starting.ps),
    ("hook call with a daemon", "at most", 0.3, PASS, starting.hook_with_daemon),
    ("hook call without a daemon", "at most", 2, PASS, starting.hook),
    (
        "hook call that gives a fresh conversation its notes, with a daemon",
        "at most",
        0.3,
        PASS,
        hooked.start_with_daemon,
    ),
    ("hook call that gives a fresh conversation its notes", "at most", 2, PASS, hooked.start),
    ("hook call of the heartbeat, with a daemon", "at most", 0.3, PASS, hooked.beat_with_daemon),
    ("hook call of the heartbeat", "at most", 2, PASS, hooked.beat),
    ("start of rekindle --version", "at most", 4.5, PASS, starting.version),
    ("start of bare rekindle", "at most", 4.5, PASS, starting.status),
    ("snapshot of 20,000 files, unchanged", "at most", 1.5, ADD, snapshotting.unchanged),
    ("snapshot of 20,000 files, 40 changed", "at most", 1.5, ADD, snapshotting.changed),
    ("snapshot of 20,000 files, all new", "at most", 1.5, ADD, snapshotting.first),
    ("size of the page", "at most", 1, "100 kB, packed", page.size),
    ("page: first paint of a conversation of 50,000 entries", "at most", 1.5, "one of 50 entries", page.first_paint),
    (
        "a host dies: the engine has another one go on",
        "at most",
        1,
        "heartbeat timeout + 2 s",
        taking_over.by_the_engine,
    ),
    ("short jobs over three workers with random kills", "at most", 3, "the same on one machine", fleet_jobs.some),
    ("a thousand short jobs over three workers", "at most", 3, "the same on one machine", fleet_jobs.a_thousand),
)
#: Rows that take longer than others may, in seconds.
_LONG = {"a thousand short jobs over three workers": 2_400.0}

ROWS: tuple[Row, ...] = tuple(
    Row(name, reference, bound, target, measure, WHAT[name], WHY.get(name, UNKNOWN), _LONG.get(name, 420.0))
    for name, bound, target, reference, measure in _TABLE
)
