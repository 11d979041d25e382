"""What each row of the benchmark measures, and why it misses its target where it does. By the name of the row."""

from __future__ import annotations

STREAMING = (
    "So many scripted agents say ten words a second each, all at once: what the daemon uses of the processor, per "
    "agent. The details have the keepers' share, and how late the end of a turn reached a client of the feed."
)

WHAT: dict[str, str] = {
    "detect an interrupted run, 1e6 lines": (
        "`read_tail`: who wrote last, read from the end. A journal a hundred times as long costs the same."
    ),
    "analyse warm, 1e6 lines, tail of 1,000": (
        "`read_state` from a snapshot that lacks the last 1,000 lines, then `analyse` and `document`. Renewing the "
        "snapshot is part of the time."
    ),
    "analyse cold, against naive": "`read_state` with no snapshot, then `analyse` and `document`, on 1e6 lines.",
    "analyse cold, against node": "The same against Node, whose start is not counted.",
    "list the runs of a file": "The runs of 1e6 lines with their times, events and ends, without any cache.",
    "scan feature folders cold": "`FeatureScan` over 5,000 folders of 200 lines each, nothing known before.",
    "scan feature folders warm": "The same again, when no journal has changed.",
    "durable append, 8 writers": "8 processes append to one journal and sync each event.",
    "durable append, 64 writers": "64 processes append to one journal and sync each event.",
    "appends through the daemon, 64 writers: syncs": (
        "64 processes append to one journal through the daemon, which syncs once for all that wait: the number of "
        "syncs per event."
    ),
    "appends through the daemon, 64 writers: processor": (
        "The same: what daemon and writers together use of the processor. The reference's writers append by themselves."
    ),
    "a plan, 40 tasks in 10 waves": (
        "`rekindle run --plan` with a daemon that runs, against a script that makes a worktree for each task, has the "
        "agent work in it, commits, merges and clears away. Four tasks at once on both sides."
    ),
    "begin a plan of 500 tasks": "`rekindle run --plan FILE --detach`, with a daemon that runs.",
    "begin a plan of 5,000 tasks": "`rekindle run --plan FILE --detach`, with a daemon that runs.",
    "explain a plan of 500 tasks": (
        "`rekindle resume FEATURE --explain --json` of a run that was cut at its beginning."
    ),
    "explain a plan of 5,000 tasks": (
        "`rekindle resume FEATURE --explain --json` of a run that was cut at its beginning."
    ),
    "search all conversations": (
        "A word that one message in some thousands has, in 100 sessions: opening the index, seeing that it is up to "
        "date, the query and its snippets."
    ),
    "memory of guard and keeper": "PSS of guard and keeper together, 50 sessions at once, per session.",
    "recovery with 1,000 idle sessions": (
        "From the start of the daemon's process to its first answer, which lists all sessions."
    ),
    "start of the daemon with 3,000 idle sessions": (
        "From the start of the daemon's process to its first answer, which lists all sessions."
    ),
    "rekindle ps with 3,000 sessions": "`rekindle ps` with a daemon that knows so many idle sessions.",
    "send to a sleeping session": (
        "`rekindle send` with a daemon, from the start of the command to the first request that the model gets."
    ),
    'run "say hi", with a daemon': (
        '`rekindle run "say hi"`, from the start of the command to its end, with the answer shown.'
    ),
    'run "say hi", without a daemon': "The same, when the command has to start the daemon first.",
    "kill -9 to the next request": (
        "An agent under `--policy continue` is killed in the middle of a turn: until the model is asked again. The "
        "reference waits for the agent and starts its own resume as soon as it is gone."
    ),
    "characters given to the model at a resume": (
        "Tools, system prompt and messages of the first request after an idle session was resumed."
    ),
    "prefix that stays the same at a resume": (
        "How many characters of the last request before the resume are, byte for byte, the beginning of the first one "
        "after it, in a work tree that has not changed: what a cache of the model's provider can use."
    ),
    "characters at a resume, both may ask": (
        "The same, where the agent by itself is started with a way to ask for permission too: what is left is what "
        "rekindle itself adds."
    ),
    "characters at a resume, newest version": "The same with the newest version of Claude Code that was tried.",
    "prefix at a resume, newest version": "The same with the newest version of Claude Code that was tried.",
    "50 live agents: processor of the daemon": STREAMING,
    "50 live agents: memory of the daemon": (
        "The same: how much the daemon's PSS has grown since it had no agent, per agent."
    ),
    "200 live agents: processor of the daemon": STREAMING,
    "200 live agents: memory of the daemon": (
        "The same: how much the daemon's PSS has grown since it had no agent, per agent."
    ),
    "commits of 64 sessions at once": (
        "64 sessions record 8 facts each, every one synced before the next: through the store's thread, which makes "
        "what has come together in one transaction, against a commit each in the daemon's loop."
    ),
    "follow 500 growing records: how late": (
        "500 records grow by 100 lines a second in all: the 99th percentile of how late a line is in its vault. The "
        "reference is the same watch (watchfiles, debounce 50 ms, step 10 ms), which only looks at the size."
    ),
    "follow 500 growing records: processor": "The same: the share of a core that following and copying take.",
    "start of rekindle ps": "`rekindle ps` with 100 sessions in the store and no daemon.",
    "hook call with a daemon": (
        "The same call as below, with a daemon that runs, where `nc -U` exists: until the daemon has confirmed it."
    ),
    "hook call without a daemon": "`rekindle-hook` with a PostToolUse call that appends two events.",
    "start of rekindle --version": "`rekindle --version`, from spawn to exit.",
    "start of bare rekindle": (
        "`rekindle` in a repository with three features of 2,000 lines, seen before, two of them interrupted."
    ),
    "snapshot of 20,000 files, unchanged": (
        "A snapshot of a work tree in which nothing has changed since the last one, so that none is made."
    ),
    "snapshot of 20,000 files, 40 changed": (
        "In each of 20 folders one file has changed and one is new. All of it is on the disk before the ref is."
    ),
    "snapshot of 20,000 files, all new": "The first snapshot of a repository without a commit.",
}

HEADERS = (
    "In a profile, splitting the file into lines and decoding their headers is about half of the work; the loop over "
    "the headers and the lines that change a run are the rest. A second process makes half of the digests, so the row "
    "needs two cores that are free: with one it is 7× naive."
)
LOCKED = (
    "The numbers of a run have no holes and no doubles, so its writers take turns under a lock, and each waits until "
    "the one before it was scheduled; the reference has no lock and no numbers. The line is made before the lock is "
    "taken, so that others wait only for the write. Two things were tried and were slower: one sync for all that wait, "
    "by whoever comes first (0.4 to 0.6×; the kernel merges syncs already, and the turns remain), and trying for the "
    "lock several times before waiting in line. The daemon is the answer for many writers (below)."
)
THROUGH = (
    "Before the agent's program starts, the command line starts (60 ms of processor time on the machine that this was "
    "written on), the daemon records the prompt and the launch and syncs both, and guard and keeper start, which are "
    "interpreters too. The agent alone does none of it."
)
AFTER_KILL = (
    "The daemon records how the agent ended, reads the agent's record to prove that it is the same conversation, and "
    "starts guard and keeper, which are interpreters, before the agent. The loop only starts the agent."
)
ASKED = (
    "rekindle starts Claude Code with a way to ask for permission. It then offers its model tools to ask with (11,264 "
    "characters in 2.1.197, 4,643 in 2.1.325), which the agent by itself leaves out where nobody could answer "
    "(docs/agents/claude.md). The system prompt is the same as with the agent alone, and the tools are the same before "
    "and after a resume, so that the cached prefix keeps all of it."
)
UNKNOWN = "Why is not known: the row was met when it was last looked into."

WHY: dict[str, str] = {
    "analyse warm, 1e6 lines, tail of 1,000": (
        "The snapshot holds the whole state of all 200 runs. In a trial, loading it (read, hash, decode) took about "
        "two thirds of the time, and writing it anew for a tail of this length more than a quarter."
    ),
    "analyse cold, against naive": HEADERS,
    "analyse cold, against node": HEADERS,
    "list the runs of a file": HEADERS,
    "scan feature folders cold": (
        "It lies on both sides of the target: two full runs gave 34× and 25×. Why was not looked into."
    ),
    "durable append, 8 writers": LOCKED,
    "durable append, 64 writers": LOCKED,
    "appends through the daemon, 64 writers: syncs": (
        "What has come together is synced once, the record of orders and the journal. The fewer events come together "
        "(few writers, a quick disk), the more syncs there are for each."
    ),
    "appends through the daemon, 64 writers: processor": (
        "The daemon parses a request and writes an answer for each event, and so does the writer on its side; the "
        "reference does neither."
    ),
    "start of the daemon with 3,000 idle sessions": (
        "The answer itself grows with the number of sessions: every one of them is read and written as JSON."
    ),
    "rekindle ps with 3,000 sessions": (
        "The daemon reads and compares the record of every session, and encodes it; the command decodes all of them "
        "and lays out a line for each. Each of the two takes about half of the time that is added."
    ),
    "send to a sleeping session": THROUGH,
    'run "say hi", with a daemon': THROUGH,
    'run "say hi", without a daemon': (
        "The daemon's modules take half a second of processor time to load, nearly half of it for SQLAlchemy; the "
        "command waits for that."
    ),
    "kill -9 to the next request": AFTER_KILL,
    "characters given to the model at a resume": ASKED,
    "characters at a resume, newest version": ASKED,
    "start of rekindle ps": (
        "click alone takes two thirds of it (in instructions: 4.4 times the interpreter's own start)."
    ),
    "hook call with a daemon": (
        "Three programs start and end (sh, cat, nc), and the daemon answers the last one. What is measured is mostly "
        "how long the system takes to start programs."
    ),
    "hook call without a daemon": (
        "It lies close to the target and varies from run to run. Beyond the interpreter's own start it is the start of "
        "a shell and the import of small modules of its own."
    ),
    "snapshot of 20,000 files, 40 changed": (
        "It waits for the disk (objects, then the ref), which the reference does not, and starts more programs; on a "
        "busy machine that is what the difference consists of."
    ),
}
