"""A morning's sessions and features, one of each kind that a list has to tell apart, as the use cases tell them."""

from __future__ import annotations

from typing import Any

NOW = 1_800_000_000.0
HOME = "/home/ada"


def session(id_: str, status: str, title: str, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9000, "output_tokens": 3400, "cached_tokens": 0, "cost": 0.4213, "tokens": 12400}
    return {
        "id": id_,
        "agent": "claude",
        "title": title,
        "cwd": f"{HOME}/src/shop",
        "repository": f"{HOME}/src/shop",
        "branch": None,
        "feature": None,
        "task": None,
        "status": status,
        "is_running": status in ("working", "asking", "waiting", "starting"),
        "needs_resume": False,
        "needs_you": False,
        "why": "",
        "next": "",
        "waits_until": None,
        "turn_since": None,
        "usage": usage,
        "changed_at": NOW - 200,
        **more,
    }


SESSIONS = [
    session("1f00000001", "working", "Port the importer to the new API", turn_since=NOW - 754, branch="feature/import"),
    session("1f00000002", "asleep", "Write the release notes", usage=None, changed_at=NOW - 90_000),
    session(
        "1f00000003",
        "failed",
        "Upgrade the database driver",
        needs_you=True,
        why="the agent could not be started: claude is not installed (looked for it in /usr/local/bin and /usr/bin)",
        next="rekindle resume 1f00000003",
        usage=None,
    ),
    session(
        "1f00000004",
        "asking",
        "漢字の入力フォームを追加して、テストも書いてください。長い題名はここで切られます。",
        needs_you=True,
        why="it asks: May I run `rm -rf build && make dist`?",
        next="rekindle answer 1f00000004",
        turn_since=NOW - 65,
    ),
    session(
        "1f00000005",
        "waiting",
        "Fix the flaky login test",
        needs_you=True,
        why="the key is refused (401): sign in again with `claude login`",
        next='rekindle send 1f00000005 "how to go on"',
    ),
    session(
        "1f00000006",
        "asleep",
        "Translate the handbook",
        needs_you=True,
        why="it has reached its limit: 1200000 tokens of 1000000",
        next="rekindle resume 1f00000006 --max-tokens 2400000",
        usage={"tokens": 1_200_000, "cost": 31.5},
    ),
    session(
        "1f00000007",
        "working",
        "Benchmark the parser",
        why="the usage limit is reached",
        waits_until=NOW + 5400,
        turn_since=NOW - 30,
    ),
    session(
        "1f00000008",
        "interrupted",
        "cart: add the discount rules",
        needs_you=True,
        needs_resume=True,
        feature="checkout",
        task="cart",
        cwd=f"{HOME}/src/shop/.worktrees/checkout/cart-with-a-rather-long-name-for-a-folder",
        branch="feature/checkout-cart",
        why="its agent ended: killed by SIGKILL",
        next="rekindle resume checkout",
    ),
    session("1f00000009", "dead", "Rename the modules", agent="opencode", why="its agent is gone; a prompt wakes it"),
    session("1f0000000a", "completed", "Add a login form"),
]


def feature(**more: Any) -> dict[str, Any]:
    return {
        "sid": "ff12489f",
        "interrupted_sids": [],
        "end_reason": None,
        "end_message": None,
        "last_ts": "2027-01-15T07:40:00+00:00",
        "tasks": {},
        "active_agents": [],
        "checkpoint": None,
        "issues": 0,
        "problems": [],
        "has_plan": True,
        "case": "none",
        "next_step": None,
        "restart_tasks": [],
        "malformed": 0,
        **more,
    }


FEATURES = {
    "billing": feature(end_reason="completed", tasks={"COMPLETE": 4, "SKIPPED": 1}),
    "checkout": feature(
        interrupted_sids=["ff12489f"],
        is_foreign=False,
        tasks={"COMPLETE": 2, "IN_PROGRESS": 1, "PENDING": 2},
        active_agents=["claude"],
        case="A",
        checkpoint="wave-1-complete",
        next_step="wave-2-start",
        restart_tasks=["cart"],
    ),
    "import": feature(
        interrupted_sids=[],
        owner={"sid": "aa00bb11", "pid": 4711, "state": "alive"},
        tasks={"COMPLETE": 3, "IN_PROGRESS": 1, "PENDING": 1},
    ),
    "search": feature(
        end_reason="error",
        tasks={"COMPLETE": 1, "FAILED": 1, "PENDING": 3},
        issues=1,
        problems=[["index", "its checks failed 3 times: `make test` says that 2 of 214 tests do not pass"]],
    ),
    "spike": feature(end_reason="user_cancelled", tasks={"PENDING": 2}),
    "torn": {"error": "Permission denied"},
}
