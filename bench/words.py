"""What each row of the benchmark measures, and why it misses its target where it does. By the name of the row."""

from __future__ import annotations

from bench.fleet_jobs import MANY, SOME

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
    "durable append, 8 writers: processor": "8 processes append to one journal and sync each event.",
    "durable append, 64 writers: processor": "64 processes append to one journal and sync each event.",
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
    "prefix at a resume after a change, stable prompt": (
        "The share of the last request before the resume that the first one after it begins with, if somebody has made "
        "a new file in the work tree meanwhile. The session has `--stable-prompt on`, so that its system prompt says "
        "nothing of git; that of the agent by itself does, and changes."
    ),
    "characters at a resume, newest version, both may ask": (
        "The same with a way to ask for permission on both sides: what is left is what rekindle itself adds."
    ),
    "characters at a resume, newest version": "The same with the newest version of Claude Code that was tried.",
    "prefix at a resume, newest version": "The same with the newest version of Claude Code that was tried.",
    "50 live agents: processor of the daemon": STREAMING,
    "50 live agents: memory of the daemon": (
        "The same: how much the daemon's PSS has grown since it had no agent, per agent."
    ),
    "50 live, 950 idle sessions: to the WebSocket": (
        "Fifty scripted agents say ten words a second each beside 950 idle sessions, and a WebSocket hears all of it: "
        "from the last byte that an agent wrote to the end of its turn at the client. The reference is a client of the "
        "daemon's own socket in the same run. The details have the daemon's processor share and memory."
    ),
    "200 live agents: processor of the daemon": STREAMING,
    "200 live agents: memory of the daemon": (
        "The same: how much the daemon's PSS has grown since it had no agent, per agent."
    ),
    "commits of 64 sessions at once: syncs": (
        "64 sessions record 8 facts each, every one synced before the next, through the store's thread, which makes "
        "what has come together in one transaction: the number of syncs per fact."
    ),
    "commits of 64 sessions at once: the loop is held up": (
        "The same: the longest pause of a clock that ticks in the daemon's loop, against a commit each in the loop."
    ),
    "follow 500 growing records: how late": (
        "500 records grow by 100 lines a second in all: the 99th percentile of how late a line is in its vault. The "
        "reference is the same watch (watchfiles, debounce 50 ms, step 10 ms), which only looks at the size."
    ),
    "follow 500 growing records: processor": "The same: the share of a core that following and copying take.",
    "start of rekindle ps": "`rekindle ps` with 100 sessions in the store and no daemon.",
    "hook call with a daemon": (
        "The same call as below, with a daemon that runs, where perl exists: until the daemon has confirmed it. The "
        "program is `rekindle-hook-direct`, which the installed command puts in the place of the agent's own shell."
    ),
    "hook call without a daemon": "`rekindle-hook` with a PostToolUse call that appends two events.",
    "hook call that gives a fresh conversation its notes, with a daemon": (
        "The same call as below, with a daemon that runs, where perl exists."
    ),
    "hook call that gives a fresh conversation its notes": (
        "`rekindle-hook` at the start of a conversation, in a repository with 20 skill sessions, more than two seconds "
        "old, of which one has left dehydrated context for this agent, until it is printed."
    ),
    "hook call of the heartbeat, with a daemon": "The same call as below, with a daemon that runs.",
    "hook call of the heartbeat": (
        "`rekindle-hook` after a tool call of an agent that holds a skill session, on a branch of no feature: the call "
        "is counted in the state file, under its lock."
    ),
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
    "a host dies: the engine has another one go on": (
        "kill -9 of a worker with its keeper and its agent in the middle of a turn, heartbeat timeout 8 s, scripted "
        "agent, until the agent of another worker is asked to go on in the same conversation. The details split it: "
        "*detect* until that worker has the job; *fetch* until repository, snapshots and the agent's record are in "
        "place; *restore* until the work tree is built, the agent runs and its conversation is open; *first request*."
    ),
    "short jobs over three workers with random kills": (
        f"{SOME} jobs of three steps each, from the first submission until the last is over, six agents at once. Five "
        "times a worker is killed, alone or with its keepers and agents, and started again. The reference is one "
        "machine without a fleet, where nobody is killed. All hosts share the same cores, so this shows what it costs "
        "that any of them may die. Every job has to be done, its prompt given once, and no session may have two agents "
        "at any time. The target is our own."
    ),
    "a thousand short jobs over three workers": (
        f"The same with {MANY:,} jobs and five kills. It takes longer than the rest of a run, so it is measured only "
        "when it is named: `make bench ROWS=thousand MINUTES=40`."
    ),
    "size of the page": "What a browser loads before the first view, packed with gzip. Plots are loaded on demand.",
    "page: first paint of a conversation of 50,000 entries": (
        "In Chromium, from the click on a session until the end of its conversation is on the screen. Only a part of a "
        "long conversation is fetched and drawn."
    ),
}

HEADERS = (
    "In a profile, splitting the file into lines and decoding their headers is about half of the work; the loop over "
    "the headers and the lines that change a run are the rest. A second process makes half of the digests, so the row "
    "needs two cores that are free: with one it is 7× naive."
)
LOCKED = (
    "The numbers of a run have no holes and no doubles, so its writers take turns under a lock, and look for what "
    "others have written; the reference has no lock and no numbers."
)
THROUGH = (
    "Before the agent's program starts, the command line starts (35 ms of processor time for a plain `send` on the "
    "machine that this was written on, 60 for others), the daemon looks at the work tree and records "
    "the prompt and the launch and syncs both, and guard and keeper are "
    "forked and make their files. The prompt is sent after the agent has said that its conversation is open, "
    "which is recorded too. The agent alone does none of it."
)
AFTER_KILL = (
    "The daemon records how the agent ended, reads the agent's record to prove that it is the same conversation, "
    "and has guard and keeper forked before the agent starts. The loop only starts the agent."
)
ASKED = (
    "None of it is rekindle's: with the same flag the agent by itself gives its model as much (the rows in which "
    "both may ask). rekindle starts Claude Code with a way to ask for permission. It then offers its model tools "
    "to ask with (11,264 characters in 2.1.197, 4,643 in 2.1.325), which the agent by itself leaves out where "
    "nobody could answer (docs/agents/claude.md). The system prompt is the same as with the agent alone, and the "
    "tools are the same before and after a resume, so that the cached prefix keeps all of it."
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
        "It lies on both sides of the target: full runs gave 34×, 28× and 25×, and 31× a trial in which nothing else "
        "had the processor. Of 16 µs for the end of a journal 10 are opening, reading and closing it, and 4 the parser "
        "of the standard library, which has the last word on a line."
    ),
    "a plan, 40 tasks in 10 waves": (
        "Each task costs about 50 calls of git where the script makes six: three snapshots of its work tree, looks at "
        "the worktree before each step, refs that make each step repeatable after a kill. Each also has a session with "
        "guard and keeper, whose facts are synced. In processor time all of it, agents included, is 2.8 times the "
        "script's: of 18 s for 40 tasks the daemon takes 8, git 4.5, agents and keepers the rest."
    ),
    "scan feature folders warm": (
        "Of 6 µs for a folder 3 are the system call that asks for the file's size, time and inode. A trial in which "
        "nothing else had the processor gave 106 to 115×."
    ),
    "durable append, 8 writers: processor": LOCKED,
    "durable append, 64 writers: processor": LOCKED,
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
        "It lies close to the target and varies from run to run. On a machine that has nothing else to do, the start "
        "of perl is 0.12, a round trip to the daemon 0.06 (of which its own work is 0.04), and reading the program, "
        "the call and the answer is the rest."
    ),
    "hook call that gives a fresh conversation its notes, with a daemon": (
        "The same program as in the plain call above, and 20 small files that the daemon looks at."
    ),
    "hook call of the heartbeat, with a daemon": (
        "The same program as in the plain call above; the daemon makes a new state file and renames it, which a "
        "busy disk delays."
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
