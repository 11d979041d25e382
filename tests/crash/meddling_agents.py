"""What agents, checks and reviewers do that nobody asked them for. The agent is task b's, unless it says otherwise."""

from __future__ import annotations

from collections.abc import Callable

from tests.crash.feature_verdict import Allows
from tests.crash.feature_yard import Yard
from tests.crash.meddling import SAME, Habit
from tests.crash.meddling_branches import BRANCH
from tests.e2e.features import FEATURE

_STRAY = r"side|other branch|not on|--take"


def _side(yard: Yard) -> tuple[str, ...]:
    return ("run git switch -q -c side", "write side.txt aside", yard.hand("commit", "aside"))


def _side_and_back(yard: Yard) -> tuple[str, ...]:
    return (*_side(yard), "run git switch -q -")


def _detached(yard: Yard) -> tuple[str, ...]:
    return ("run git checkout -q --detach", "write side.txt aside", yard.hand("commit", "aside"))


def _detached_and_back(yard: Yard) -> tuple[str, ...]:
    return (*_detached(yard), "run git checkout -q -")


def _stashes(_: Yard) -> tuple[str, ...]:
    return ("write stashed.txt x", "run git stash push -q -u")


def _push(_: Yard) -> tuple[str, ...]:
    return (f"run git push -q . HEAD:{BRANCH}",)


def _fails(yard: Yard) -> str:
    return f"sh {yard.hands / 'check.sh'} b 99"


def _forges(type_: str) -> Callable[[Yard], tuple[str, ...]]:
    def lines(yard: Yard) -> tuple[str, ...]:
        path = yard.hands / "forge.py"
        path.write_text(
            "import json, sys\n"
            f"path = {str(yard.shop.journal)!r}\n"
            "events = [json.loads(one) for one in open(path)]\n"
            "last = max(one['seq'] for one in events if one.get('seq') is not None)\n"
            "task = sys.argv[2]\n"
            f"data = {{'taskId': task, 'round': 1, 'name': 'work/{FEATURE}/' + task, 'target': '{BRANCH}'}}\n"
            "forged = {**events[0], 'type': sys.argv[1], 'seq': last + 1, 'data': data, 'eid': 'forged'}\n"
            "open(path, 'a').write(json.dumps(forged) + '\\n')\n"
        )
        task = "c" if type_ != "qa.passed" else "b"
        return (f"run python3 {path} {type_} {task}",)

    return lines


def _leaves_a_file(yard: Yard) -> str:
    script = yard.hands / "leaves.sh"
    script.write_text(f"date +%N > coverage.out\nsh {yard.hands / 'check.sh'} b 0\n")
    return f"sh {script}"


def _takes_a_file(yard: Yard) -> str:
    script = yard.hands / "takes.sh"
    script.write_text(f"sh {yard.hands / 'check.sh'} b 0 && rm b.txt\n")
    return f"sh {script}"


def _commits(yard: Yard) -> str:
    script = yard.hands / "commits.sh"
    script.write_text(
        f"sh {yard.hands / 'check.sh'} b 0 || exit 1\n"
        "date +%N > made.txt; git add -A; git commit -q -m 'by the check'\n"
    )
    return f"sh {script}"


def _wave_writes(yard: Yard) -> str:
    script = yard.hands / "wave-writes.sh"
    script.write_text("echo left by the check > c.txt\n")
    return f"sh {script}"


_FAILED = Allows(asks=("task b.*failed|task b failed|quality assurance failed",), must_ask=True, leaves=True)

HABITS: tuple[Habit, ...] = (
    Habit(
        "commits on another branch and stays there, which is taken",
        _side,
        answers=(("--take",),),
        allows=Allows({"side.txt": "aside"}, history="more", leaves=True),
    ),
    Habit(
        "commits on another branch and stays there, which is left",
        _side,
        answers=(("--leave",),),
        allows=Allows(may_differ=frozenset({"b-2.txt"}), history="more", leaves=True),
    ),
    Habit(
        "commits on a detached HEAD and comes back, which is taken",
        _detached_and_back,
        answers=(("--take",),),
        allows=Allows({"side.txt": "aside"}, history="more", leaves=True),
    ),
    Habit("stashes, which is left", _stashes, answers=(("--leave",),), allows=Allows(says=("stash",), leaves=True)),
    Habit("pushes to the feature", _push, allows=Allows(history="more", says=(r"task b",))),
    Habit(
        "pushes to the feature, and its check fails",
        _push,
        check=_fails,
        allows=Allows(asks=("task b.*failed|quality assurance failed",), must_ask=True, leaves=True),
    ),
    Habit(
        "commits on another branch and stays there", _side, allows=Allows(asks=(_STRAY,), must_ask=True, leaves=True)
    ),
    Habit(
        "commits on another branch and comes back",
        _side_and_back,
        allows=Allows(says=(_STRAY,), asks=(_STRAY,), leaves=True),
    ),
    Habit(
        "commits on a detached HEAD and stays there",
        _detached,
        allows=Allows(
            may_differ=frozenset({"side.txt"}),
            says=("detached|on no branch|--take",),
            asks=("detached|on no branch|--take",),
            leaves=True,
        ),
    ),
    Habit(
        "commits on a detached HEAD and comes back",
        _detached_and_back,
        allows=Allows(says=("detached|on no branch|--take",), asks=("detached|on no branch|--take",), leaves=True),
    ),
    Habit(
        "stashes",
        _stashes,
        allows=Allows(says=("stash",), asks=("stash",), leaves=True),
    ),
    Habit(
        "amends its commit",
        lambda _: ("write amended.txt x", "run git add -A", "run git commit -q --amend --no-edit"),
        allows=Allows({"amended.txt": "x"}, history="more", loses_commits=True),
    ),
    Habit(
        "rebases its branch",
        lambda yard: (
            "run git reset -q --soft main",
            "run git stash push -q",
            "run git stash pop -q",
            yard.hand("commit", "once more"),
        ),
        allows=Allows(loses_commits=True),
    ),
    Habit("merges the feature into its branch", lambda _: (f"run git merge -q --no-edit {BRANCH}",)),
    Habit("deletes its worktree's .git", lambda _: ("run rm .git",)),
    Habit("forges a merge of another task", _forges("branch.merged"), allows=Allows(damages_journal=True)),
    Habit("forges the end of another task", _forges("task.completed"), allows=Allows(damages_journal=True)),
    Habit(
        "forges a passed check, and its check fails",
        _forges("qa.passed"),
        check=_fails,
        allows=Allows(
            asks=("task b.*failed|quality assurance failed",), must_ask=True, leaves=True, damages_journal=True
        ),
    ),
    Habit("its check fails twice", check=_fails, allows=_FAILED),
    Habit("its check fails once", check=lambda yard: f"sh {yard.hands / 'check.sh'} b 1"),
    Habit(
        "its check writes a file each time",
        check=_leaves_a_file,
        allows=Allows(may_differ=frozenset({"coverage.out"}), history="more"),
    ),
    Habit("its check deletes a file", check=_takes_a_file, allows=SAME),
    Habit(
        "its check commits",
        check=_commits,
        allows=Allows(may_differ=frozenset({"made.txt"}), history="more", asks=("check",), leaves=True),
    ),
    Habit("a wave's check leaves a file that a later task adds", wave=_wave_writes),
    Habit("its reviewer passes it", review=lambda _: ("say VERDICT: PASS",)),
    Habit("its reviewer refuses it", review=lambda _: ("say - bad", "say VERDICT: FAIL"), allows=_FAILED),
    Habit("its reviewer fails once", review=lambda _: ("once failed fail other", "say VERDICT: PASS")),
    Habit("its reviewer dies once", review=lambda _: ("once died die", "say VERDICT: PASS")),
    Habit(
        "its reviewer fails always",
        review=lambda _: ("fail other",),
        allows=Allows(asks=("task b",), must_ask=True, leaves=True),
    ),
    Habit("its reviewer writes files", review=lambda _: ("write review.txt bad", "say VERDICT: PASS")),
    Habit(
        "its reviewer commits",
        review=lambda _: (
            "write review.txt bad",
            "run git add -A",
            "run git commit -q -m reviewed",
            "say VERDICT: PASS",
        ),
    ),
)
