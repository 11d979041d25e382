"""The rows: every promise about speed and size, with its target and, if it is missed, the reason."""

from __future__ import annotations

from bench import (
    appending,
    committing,
    daemon_appends,
    planning,
    reading,
    searching,
    sessions,
    snapshotting,
    starting,
    streaming,
    tailing,
    waking,
)
from bench.measured import Row

NAIVE = "naive (json.loads, line by line)"
NODE = "node (readline, JSON.parse)"
PLAIN = "open, append, fsync"
PASS = "python -c pass"
ADD = "git add -A, git write-tree"
RESUMED = "the agent's own resume (claude --resume)"
STREAMING = (
    "So many scripted agents say ten words a second each, all at once: what the daemon uses of the processor, per "
    "agent. The details have the keepers' share, and how late the end of a turn reached a client of the feed."
)

HEADERS = (
    "In a profile, splitting the file into lines and decoding their headers is about half of the work; the loop over "
    "the headers and the lines that change a run are the rest. A second process makes half of the digests, so the row "
    "needs two cores that are free: with one it is 7× naive."
)
LOCKED = (
    "The numbers of a run have no holes and no doubles, so its writers take turns under a lock, and each waits until "
    "the one before it was scheduled; the reference has no lock and no numbers. With 8 writers, an append takes 1.4 "
    "times the processor time of the reference. One sync for all that wait, by whoever comes first, was tried on a "
    "busy machine and was not faster (0.4 to 0.6×): the kernel merges syncs already, and the turns remain. The daemon "
    "is the answer for many writers (below)."
)
THROUGH = (
    "Before the agent's program starts, the command line starts (60 ms of processor time on the machine that this was "
    "written on), the daemon records the prompt and the launch and syncs both, and guard and keeper start, which are "
    "interpreters too. The agent alone does none of it."
)
AFTER_KILL = (
    "The daemon records how the agent ended, reads the agent's record to prove that it is the same conversation, "
    "and starts guard and keeper, which are interpreters, before the agent. The loop only starts the agent."
)
UNKNOWN = "Why is not known: the row was met when it was last looked into."

ROWS: tuple[Row, ...] = (
    Row(
        name="detect an interrupted run, 1e6 lines",
        reference="the same at 1e4 lines",
        bound="at most",
        target=2,
        measure=reading.detect,
        what="`read_tail`: who wrote last, read from the end. A journal a hundred times as long costs the same.",
        reason=UNKNOWN,
    ),
    Row(
        name="analyse warm, 1e6 lines, tail of 1,000",
        reference=NAIVE,
        bound="at least",
        target=1_000,
        measure=reading.analyse_warm,
        what="`read_state` from a snapshot that lacks the last 1,000 lines, then `analyse` and `document`. "
        "Renewing the snapshot is part of the time.",
        reason="The snapshot holds the whole state of all 200 runs. In a trial, loading it (read, hash, decode) "
        "took about two thirds of the time, and writing it anew for a tail of this length more than a quarter.",
    ),
    Row(
        name="analyse cold, against naive",
        reference=NAIVE,
        bound="at least",
        target=10,
        measure=reading.analyse_cold,
        what="`read_state` with no snapshot, then `analyse` and `document`, on 1e6 lines.",
        reason=HEADERS,
    ),
    Row(
        name="analyse cold, against node",
        reference=NODE,
        bound="at least",
        target=4,
        measure=reading.analyse_cold_node,
        what="The same against Node, whose start is not counted.",
        reason=HEADERS,
    ),
    Row(
        name="list the runs of a file",
        reference=NAIVE,
        bound="at least",
        target=5,
        measure=reading.list_runs,
        what="The runs of 1e6 lines with their times, events and ends, without any cache.",
        reason=HEADERS,
    ),
    Row(
        name="scan feature folders cold",
        reference=NAIVE,
        bound="at least",
        target=30,
        measure=reading.scan_cold,
        what="`FeatureScan` over 5,000 folders of 200 lines each, nothing known before.",
        reason="It lies on both sides of the target: two full runs gave 34× and 25×. Why was not looked into.",
    ),
    Row(
        name="scan feature folders warm",
        reference=NAIVE,
        bound="at least",
        target=100,
        measure=reading.scan_warm,
        what="The same again, when no journal has changed.",
        reason=UNKNOWN,
    ),
    Row(
        name="durable append, 8 writers",
        reference=PLAIN,
        bound="at least",
        target=1.2,
        measure=appending.with_writers(8),
        what="8 processes append to one journal and sync each event.",
        reason=LOCKED,
    ),
    Row(
        name="durable append, 64 writers",
        reference=PLAIN,
        bound="at least",
        target=1.2,
        measure=appending.with_writers(64),
        what="64 processes append to one journal and sync each event.",
        reason=LOCKED,
    ),
    Row(
        name="appends through the daemon, 64 writers: syncs",
        reference="one sync per event",
        bound="at most",
        target=0.1,
        measure=daemon_appends.syncs,
        what="64 processes append to one journal through the daemon, which syncs once for all that wait: the number of "
        "syncs per event.",
        reason="What has come together is synced once, the record of orders and the journal. The fewer events come "
        "together (few writers, a quick disk), the more syncs there are for each.",
    ),
    Row(
        name="appends through the daemon, 64 writers: processor",
        reference=PLAIN,
        bound="at most",
        target=2,
        measure=daemon_appends.processor,
        what="The same: what daemon and writers together use of the processor. The reference's writers append by "
        "themselves.",
        reason="The daemon parses a request and writes an answer for each event, and so does the writer on its side; "
        "the reference does neither.",
    ),
    Row(
        name="a plan, 40 tasks in 10 waves",
        reference="git and the same agent in a script",
        bound="at most",
        target=3,
        measure=planning.overhead,
        what="`rekindle run --plan` with a daemon that runs, against a script that makes a worktree for each task, has "
        "the agent work in it, commits, merges and clears away. Four tasks at once on both sides.",
        reason=UNKNOWN,
    ),
    Row(
        name="begin a plan of 500 tasks",
        reference="a plan of 50 tasks",
        bound="at most",
        target=10,
        measure=planning.begin(500),
        what="`rekindle run --plan FILE --detach`, with a daemon that runs.",
        reason=UNKNOWN,
    ),
    Row(
        name="begin a plan of 5,000 tasks",
        reference="a plan of 50 tasks",
        bound="at most",
        target=100,
        measure=planning.begin(5_000),
        what="`rekindle run --plan FILE --detach`, with a daemon that runs.",
        reason=UNKNOWN,
    ),
    Row(
        name="explain a plan of 500 tasks",
        reference="a plan of 50 tasks",
        bound="at most",
        target=10,
        measure=planning.explain(500),
        what="`rekindle resume FEATURE --explain --json` of a run that was cut at its beginning.",
        reason=UNKNOWN,
    ),
    Row(
        name="explain a plan of 5,000 tasks",
        reference="a plan of 50 tasks",
        bound="at most",
        target=100,
        measure=planning.explain(5_000),
        what="`rekindle resume FEATURE --explain --json` of a run that was cut at its beginning.",
        reason=UNKNOWN,
    ),
    Row(
        name="search all conversations",
        reference="naive (read and decode every spool)",
        bound="at least",
        target=500,
        measure=searching.search,
        what="A word that one message in some thousands has, in 100 sessions: opening the index, seeing that it is up "
        "to date, the query and its snippets.",
        reason=UNKNOWN,
    ),
    Row(
        name="memory of guard and keeper",
        reference="15 MB a session",
        bound="at most",
        target=1,
        measure=sessions.memory,
        what="PSS of guard and keeper together, 50 sessions at once, per session.",
        reason=UNKNOWN,
    ),
    Row(
        name="recovery with 1,000 idle sessions",
        reference="the same with 100",
        bound="at most",
        target=5,
        measure=sessions.starts(1000),
        what="From the start of the daemon's process to its first answer, which lists all sessions.",
        reason=UNKNOWN,
    ),
    Row(
        name="start of the daemon with 3,000 idle sessions",
        reference="the same with 100",
        bound="at most",
        target=3,
        measure=sessions.starts(3000),
        what="From the start of the daemon's process to its first answer, which lists all sessions.",
        reason="The answer itself grows with the number of sessions: every one of them is read and written as JSON.",
    ),
    Row(
        name="rekindle ps with 3,000 sessions",
        reference="the same with 100",
        bound="at most",
        target=3,
        measure=sessions.listings,
        what="`rekindle ps` with a daemon that knows so many idle sessions.",
        reason="The daemon reads and compares the record of every session, and encodes it; the command decodes all of "
        "them and lays out a line for each. Each of the two takes about half of the time that is added.",
    ),
    Row(
        name="send to a sleeping session",
        reference=RESUMED,
        bound="at most",
        target=1.15,
        measure=waking.send,
        what="`rekindle send` with a daemon, from the start of the command to the first request that the model gets.",
        reason=THROUGH,
    ),
    Row(
        name='run "say hi", with a daemon',
        reference="the agent alone (claude -p)",
        bound="at most",
        target=1.5,
        measure=waking.run_warm,
        what='`rekindle run "say hi"`, from the start of the command to its end, with the answer shown.',
        reason=THROUGH,
    ),
    Row(
        name='run "say hi", without a daemon',
        reference="the agent alone (claude -p)",
        bound="at most",
        target=2.5,
        measure=waking.run_cold,
        what="The same, when the command has to start the daemon first.",
        reason="The daemon's modules take half a second of processor time to load, nearly half of it for SQLAlchemy; "
        "the command waits for that.",
    ),
    Row(
        name="kill -9 to the next request",
        reference="a loop around the agent's own resume",
        bound="at most",
        target=1.3,
        measure=waking.kill,
        what="An agent under `--policy continue` is killed in the middle of a turn: until the model is asked again. "
        "The reference waits for the agent and starts its own resume as soon as it is gone.",
        reason=AFTER_KILL,
    ),
    Row(
        name="characters given to the model at a resume",
        reference=RESUMED,
        bound="at most",
        target=1.05,
        measure=waking.characters,
        what="Tools, system prompt and messages of the first request after an idle session was resumed.",
        reason="rekindle starts Claude Code with a way to ask for permission; the version that is measured then offers "
        "its model three tools more (AskUserQuestion, EnterPlanMode, ExitPlanMode: 11,258 characters; "
        "docs/agents/claude.md). Everything else is as long as with the agent alone, and the tools are the same before "
        "and after a resume, so that the cached prefix keeps all of it.",
    ),
    Row(
        name="prefix that stays the same at a resume",
        reference=RESUMED,
        bound="at least",
        target=1,
        measure=waking.prefix,
        what="How many characters of the last request before the resume are, byte for byte, the beginning of the first "
        "one after it, in a work tree that has not changed: what a cache of the model's provider can use.",
        reason=UNKNOWN,
    ),
    Row(
        name="50 live agents: processor of the daemon",
        reference="0.5 % of a core for each",
        bound="at most",
        target=1,
        measure=streaming.processor(50),
        what=STREAMING,
        reason=UNKNOWN,
    ),
    Row(
        name="50 live agents: memory of the daemon",
        reference="3 MB for each",
        bound="at most",
        target=1,
        measure=streaming.memory(50),
        what="The same: how much the daemon's PSS has grown since it had no agent, per agent.",
        reason=UNKNOWN,
    ),
    Row(
        name="200 live agents: processor of the daemon",
        reference="0.5 % of a core for each",
        bound="at most",
        target=1,
        measure=streaming.processor(200),
        what=STREAMING,
        reason=UNKNOWN,
    ),
    Row(
        name="200 live agents: memory of the daemon",
        reference="3 MB for each",
        bound="at most",
        target=1,
        measure=streaming.memory(200),
        what="The same: how much the daemon's PSS has grown since it had no agent, per agent.",
        reason=UNKNOWN,
    ),
    Row(
        name="commits of 64 sessions at once",
        reference="one after the other, in the loop",
        bound="at least",
        target=2,
        measure=committing.commits,
        what="64 sessions record 8 facts each, every one synced before the next: through the store's thread, which "
        "makes what has come together in one transaction, against a commit each in the daemon's loop.",
        reason=UNKNOWN,
    ),
    Row(
        name="follow 500 growing records: how late",
        reference="a bare watch",
        bound="at most",
        target=1.15,
        measure=tailing.lateness,
        what="500 records grow by 100 lines a second in all: the 99th percentile of how late a line is in its vault. "
        "The reference is the same watch (watchfiles, debounce 50 ms, step 10 ms), which only looks at the size.",
        reason=UNKNOWN,
    ),
    Row(
        name="follow 500 growing records: processor",
        reference="a bare watch",
        bound="at most",
        target=3.3,
        measure=tailing.processor,
        what="The same: the share of a core that following and copying take.",
        reason=UNKNOWN,
    ),
    Row(
        name="start of rekindle ps",
        reference=PASS,
        bound="at most",
        target=6,
        measure=starting.ps,
        what="`rekindle ps` with 100 sessions in the store and no daemon.",
        reason="click alone takes two thirds of it (in instructions: 4.4 times the interpreter's own start).",
    ),
    Row(
        name="hook call with a daemon",
        reference=PASS,
        bound="at most",
        target=0.3,
        measure=starting.hook_with_daemon,
        what="The same call as below, with a daemon that runs, where `nc -U` exists.",
        reason="The hook client is Python with or without a daemon: a client of sh and `nc -U` was not written.",
    ),
    Row(
        name="hook call without a daemon",
        reference=PASS,
        bound="at most",
        target=2,
        measure=starting.hook,
        what="`rekindle-hook` with a PostToolUse call that appends two events.",
        reason="It lies close to the target and varies from run to run; beyond the interpreter's own start, most of "
        "what it imports is json, re and enum.",
    ),
    Row(
        name="start of rekindle --version",
        reference=PASS,
        bound="at most",
        target=4.5,
        measure=starting.version,
        what="`rekindle --version`, from spawn to exit.",
        reason=UNKNOWN,
    ),
    Row(
        name="start of bare rekindle",
        reference=PASS,
        bound="at most",
        target=4.5,
        measure=starting.status,
        what="`rekindle` in a repository with three features of 2,000 lines, seen before, two of them interrupted.",
        reason=UNKNOWN,
    ),
    Row(
        name="snapshot of 20,000 files, unchanged",
        reference=ADD,
        bound="at most",
        target=1.5,
        measure=snapshotting.unchanged,
        what="A snapshot of a work tree in which nothing has changed since the last one, so that none is made.",
        reason=UNKNOWN,
    ),
    Row(
        name="snapshot of 20,000 files, 40 changed",
        reference=ADD,
        bound="at most",
        target=1.5,
        measure=snapshotting.changed,
        what="In each of 20 folders one file has changed and one is new. All of it is on the disk before the ref is.",
        reason="It waits for the disk (objects, then the ref), which the reference does not, and starts more programs; "
        "on a busy machine that is what the difference consists of.",
    ),
    Row(
        name="snapshot of 20,000 files, all new",
        reference=ADD,
        bound="at most",
        target=1.5,
        measure=snapshotting.first,
        what="The first snapshot of a repository without a commit.",
        reason=UNKNOWN,
    ),
)
