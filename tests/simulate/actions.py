"""What can be done to the world from outside, and how a seed chooses from it.

An action is data, so that a story can be written down, cut short and told again. A new kind of action is one line in
`KINDS`, one in `_argument` if it has an argument, and one in `WORDS`; what it does is a method of `Simulation` of the
same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.simulate.motifs import MOTIFS, PLAN_MOTIFS, Beat
from tests.simulate.plans import some_plan
from tests.simulate.rulebooks import BOOKS

#: How often each kind of action is taken.
KINDS = {
    "begin": 3,
    "begin_ruled": 3,
    "send": 20,
    "again": 8,
    "look": 7,
    "answer": 9,
    "cancel": 3,
    "stop": 4,
    "resume": 6,
    "resume_all": 3,
    "kill_agent": 10,
    "kill_keeper": 3,
    "kill_guard": 3,
    "kill_daemon": 8,
    "restart_daemon": 3,
    "freeze_daemon": 3,
    "thaw_daemon": 3,
    "reboot": 2,
    "fill_disk": 2,
    "free_disk": 2,
    "sync": 4,
    "hide_program": 2,
    "show_program": 2,
    "spoil_start": 3,
    "set_clock": 4,
    "forget": 1,
    "damage": 1,
    "model": 5,
    "sick": 4,
    "hold": 3,
    "hurry": 3,
    "answer_killed": 4,
    "wait": 8,
}
#: The same for stories with a plan; those have fewer of the others.
PLAN_KINDS = {
    "plan": 2,
    "plan_resume": 16,
    "plan_twice": 5,
    "plan_stop": 4,
    "meddle": 10,
    "kill_task": 10,
    "post": 3,
}
#: The same for stories of many sessions that wait for one limit.
CROWD_KINDS = {
    "crowd": 1,
    "hold": 6,
    "hurry": 6,
    "kill_daemon": 6,
    "restart_daemon": 3,
    "freeze_daemon": 2,
    "thaw_daemon": 2,
    "reboot": 2,
    "kill_agent": 6,
    "resume": 4,
    "send": 4,
    "set_clock": 3,
    "sick": 3,
    "sync": 2,
    "look": 4,
    "answer": 4,
    "wait": 12,
}
#: The same for a night of jobs.
NIGHT_KINDS = {
    "jobs": 1,
    "limit": 5,
    "power_cut": 4,
    "crash_daemon": 5,
    "restart_daemon": 2,
    "kill_task": 8,
    "set_clock": 3,
    "model": 3,
    "sick": 3,
    "sync": 2,
    "fill_disk": 1,
    "free_disk": 2,
    "spoil_start": 2,
    "job_cancel": 1,
    "job_retry": 2,
    "look": 2,
    "answer": 3,
    "wait": 6,
}
_JOBS = 20
#: How much time passes behind an action in a night.
_NIGHT_PAUSES = (1.0, 8.0, 60.0, 600.0, 600.0, 1800.0, 3600.0)
#: So many stories of a hundred have a plan, and so many of the others a crowd, or a night.
_WITH_PLAN = 0.12
_WITH_CROWD = 0.03
_NIGHTS = 0.01
_CROWD = 20
#: So many stories of a hundred have a motif in them, and its prompts have these numbers and up.
_WITH_MOTIF = 0.35
_MOTIF_PROMPTS = 100
_MEDDLING = (
    "removes a worktree",
    "removes a worktree",
    "deletes a branch",
    "resets the feature",
    "deletes the feature",
    "commits to the feature",
    "writes to a worktree",
)
#: What a story always has, whatever else a seed leaves out.
_ALWAYS = frozenset({"begin", "send", "wait"})
#: How much time passes behind an action.
_PAUSES = (0.0, 0.0, 0.002, 0.002, 0.004, 0.008, 0.02, 0.04, 0.1, 0.1, 0.6, 0.6, 3.0, 3.0, 25.0, 130.0, 700.0)
_PIECES = ("say", "say", "tool", "tool", "build", "ask", "ask")
_ENDS = ("", "", "", "", "", "overflow", "broken", "hang")
_POLICIES = ("ask", "continue", "continue", "never")
SESSIONS = 3
CLIENTS = 2

#: Each action in a person's words; {who} is a session, {client} a client, {arg} the argument.
WORDS = {
    "begin": "client {client} begins session {who}: {arg}",
    "begin_ruled": "client {client} begins session {who} with the runbook {arg}",
    "send": "client {client} sends to session {who}: {arg}",
    "again": "client {client} asks again for what it asked for last (the answer may have been lost)",
    "look": "client {client} looks at the open questions",
    "answer": "client {client} answers the question on its screen with {arg}",
    "cancel": "client {client} cancels the turn of session {who}",
    "stop": "client {client} stops session {who}: {arg}",
    "resume": "client {client} resumes session {who} {arg}",
    "resume_all": "client {client} resumes all",
    "kill_agent": "kill -9 of the agent of session {who}",
    "kill_keeper": "kill -9 of the keeper of session {who}",
    "kill_guard": "kill -9 of guard and keeper of session {who}",
    "kill_daemon": "kill -9 of the daemon",
    "restart_daemon": "the daemon is stopped and started again",
    "freeze_daemon": "the daemon is frozen, and another one takes its place",
    "thaw_daemon": "the frozen daemon goes on",
    "reboot": "the machine is restarted",
    "fill_disk": "the disk is full",
    "free_disk": "the disk has room",
    "sync": "syncs are {arg}",
    "hide_program": "the agent's program is gone",
    "show_program": "the agent's program is back",
    "spoil_start": "the next start of an agent fails",
    "set_clock": "the clock is set by {arg} s",
    "forget": "the agent of session {who} forgets its conversation",
    "damage": "the agent's record of session {who} loses its oldest turn",
    "model": "the model's service: {arg}",
    "wait": "time passes",
    "plan": "client {client} runs a plan: {arg}",
    "plan_resume": "client {client} resumes the feature {arg}",
    "plan_twice": "both clients resume the feature at once {arg}",
    "plan_stop": "client {client} stops the feature's run",
    "meddle": "the user {arg}",
    "kill_task": "kill -9 of an agent of the feature",
    "post": "the outbox is {arg}",
    "sick": "agents {arg}",
    "jobs": "client {client} submits jobs, and goes to bed: {arg}",
    "limit": "the service has a limit for {arg} s",
    "power_cut": "the power fails; the machine comes back",
    "crash_daemon": "kill -9 of the daemon; systemd starts another",
    "job_cancel": "client {client} cancels a job",
    "job_retry": "client {client} tries a job again {arg}",
    "hold": "client {client} puts session {who} on hold",
    "hurry": "client {client} hurries session {who}",
    "answer_killed": "client {client} answers the question on its screen with {arg}; the daemon is killed meanwhile",
    "crowd": "many sessions begin and meet a limit: {arg}",
}


@dataclass(frozen=True)
class Action:
    """One thing that is done from outside, and the time that passes behind it."""

    kind: str
    who: int = 0
    arg: str = ""
    pause: float = 0.0

    @property
    def client(self) -> int:
        """Which client does it."""
        return self.who % CLIENTS

    @property
    def words(self) -> str:
        """For a story."""
        return WORDS[self.kind].format(who=self.who % SESSIONS + 1, client=self.client + 1, arg=self.arg)

    def as_list(self) -> list[object]:
        """For a file."""
        return [self.kind, self.who, self.arg, self.pause]

    @classmethod
    def of(cls, told: Sequence[object]) -> Action:
        """From a file."""
        kind, who, arg, pause = told
        assert isinstance(who, int) and isinstance(pause, int | float)
        return cls(str(kind), who, str(arg), float(pause))


def actions_of(seed: int) -> list[Action]:
    """The story of a seed. Each leaves out some kinds of actions, so that others come close together."""
    random = Random(f"actions of {seed}")
    if random.random() < _WITH_PLAN:
        return _with_plan(random)
    if random.random() < _WITH_CROWD:
        return _with_crowd(random)
    if random.random() < _NIGHTS:
        return night_of(seed)
    kinds = [name for name in KINDS if name in _ALWAYS or random.random() < 0.6]
    weights = [KINDS[name] for name in kinds]
    brisk = random.random() < 0.5
    first = _action(random, "begin_ruled" if "begin_ruled" in kinds and random.random() < 0.4 else "begin", 0, brisk)
    numbers = range(1, random.randint(6, 22))
    others = [_action(random, random.choices(kinds, weights)[0], number, brisk) for number in numbers]
    return [first, *_with_motif(random, others, MOTIFS)]


def _with_motif(random: Random, actions: list[Action], motifs: dict[str, tuple[Beat, ...]]) -> list[Action]:
    """Some stories have actions in them that belong together."""
    if random.random() > _WITH_MOTIF:
        return actions
    at, who = random.randint(0, len(actions)), random.randrange(SESSIONS) if random.random() < 0.3 else 0
    chosen = motifs[random.choice(tuple(motifs))]
    told = [_beat(random, one, who, _MOTIF_PROMPTS + number) for number, one in enumerate(chosen)]
    return [*actions[:at], *told, *actions[at:]]


def _beat(random: Random, beat: Beat, who: int, number: int) -> Action:
    arg = beat.arg or _argument(random, beat.kind, number)
    if beat.arg and beat.kind == "send":
        arg = f"p{number}: {beat.arg}"
    elif beat.arg and beat.kind in ("begin", "begin_ruled"):
        arg = f"{beat.arg} p{number}: say"
    return Action(beat.kind, who, arg, random.choice(beat.pauses))


def _with_plan(random: Random) -> list[Action]:
    """A story of a plan. The sessions of its tasks are killed and asked about like all others."""
    some = {**KINDS, "send": 2, "begin": 1, "look": 4, "answer": 8, "wait": 20, **PLAN_KINDS}
    kinds = [name for name in some if name in {*PLAN_KINDS, "wait"} or random.random() < 0.4]
    weights = [some[name] for name in kinds]
    brisk = random.random() < 0.3
    first = _action(random, "plan", 0, brisk)
    numbers = range(1, random.randint(3, 14))
    others = [_action(random, random.choices(kinds, weights)[0], number, brisk) for number in numbers]
    return [first, *_with_motif(random, others, PLAN_MOTIFS)]


def night_of(seed: int, jobs: int = _JOBS) -> list[Action]:
    """A night of jobs."""
    random = Random(f"night {seed}")
    kinds = [name for name in NIGHT_KINDS if name == "wait" or (name != "jobs" and random.random() < 0.6)]
    weights = [NIGHT_KINDS[name] for name in kinds]
    found = [Action("jobs", 0, f"{jobs} {seed}", random.choice(_NIGHT_PAUSES[:3]))]
    for number in range(1, random.randint(8, 20)):
        action = _action(random, random.choices(kinds, weights)[0], number, brisk=False, many=jobs)
        arg = random.choice(("-3600", "3600")) if action.kind == "set_clock" else action.arg
        found.append(Action(action.kind, action.who, arg, random.choice(_NIGHT_PAUSES)))
    return found


def _with_crowd(random: Random) -> list[Action]:
    """A story of many sessions that wait for one limit."""
    kinds = [name for name in CROWD_KINDS if name == "wait" or (name != "crowd" and random.random() < 0.5)]
    weights = [CROWD_KINDS[name] for name in kinds]
    first = _action(random, "crowd", 0, brisk=True, many=_CROWD)
    numbers = range(1, random.randint(3, 9))
    return [
        first,
        *(_action(random, random.choices(kinds, weights)[0], number, brisk=False, many=_CROWD) for number in numbers),
    ]


def _action(random: Random, kind: str, number: int, brisk: bool, many: int = 6) -> Action:
    pause = random.choice(_PAUSES[:10] if brisk and random.random() < 0.7 else _PAUSES)
    who = random.randrange(many) if random.random() < 0.5 else 0
    return Action(kind, who, _argument(random, kind, number), pause)


def _argument(random: Random, kind: str, number: int) -> str:
    match kind:
        case "begin":
            mode = random.choice(("ask", "ask", "ask", "all"))
            return f"{random.choice(_POLICIES)} {mode} {_prompt(random, number)}"
        case "begin_ruled":
            return f"{random.choice(tuple(BOOKS))} {_prompt(random, number)}"
        case "send":
            return _prompt(random, number)
        case "answer":
            return random.choice(("yes", "no"))
        case "stop":
            return random.choice(("asleep", "asleep", "cancelled", "completed"))
        case "resume":
            return random.choice(("", "", "--kill"))
        case "sync":
            return random.choice(("slow", "failing", "fast"))
        case "set_clock":
            return str(random.choice((-7200, -7200, -3600, -90, -5, 40, 90, 3600, 7200)))
        case "model":
            return random.choice(("well", "rate_limited 60", "rate_limited 0", "overloaded 0", "unauthorized 0"))
        case "plan":
            return some_plan(random)
        case "plan_resume" | "plan_twice":
            return random.choice(("", "", "A", "A", "B", "C"))
        case "meddle":
            return random.choice(_MEDDLING)
        case "limit":
            return str(random.choice((300, 1800, 5400)))
        case "job_retry":
            return random.choice(("", "resume", "fresh"))
        case "sick":
            return random.choice(("die", "live"))
        case "answer_killed":
            return f"{random.choice(('yes', 'no'))} {random.choice((0.0, 0.0005, 0.001, 0.002, 0.004, 0.01))}"
        case "crowd":
            return f"{random.choice((4, 8, _CROWD))} {random.choice((20, 60, 300, 900))}"
        case "post":
            return random.choice(("late", "prompt"))
        case _:
            return ""


def _prompt(random: Random, number: int) -> str:
    pieces = [random.choice(_PIECES) for _ in range(random.randint(1, 3))]
    return f"p{number}: {' '.join([*pieces, random.choice(_ENDS)]).strip()}"
