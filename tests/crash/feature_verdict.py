"""What a disturbed run has to leave behind: what the undisturbed one left, or a sentence that says why not."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from tests.crash.feature_yard import Yard
from tests.e2e.features import FEATURE

#: How the history may differ: not at all; by commits of others between our merges; by fewer or other merges.
History = Literal["same", "more", "other"]
_ORDER: dict[History, int] = {"same": 0, "more": 1, "other": 2}


@dataclass(frozen=True)
class Allows:
    """What a disturbance may change, as data. Everything that is not named here has to be as in the undisturbed run."""

    #: Files that the feature has in addition (or with another text).
    adds: Mapping[str, str] = field(default_factory=dict)
    #: Files that it may have in addition, or may lack.
    may_differ: frozenset[str] = frozenset()
    history: History = "same"
    #: All of these (patterns) are said if it ends complete.
    says: tuple[str, ...] = ()
    #: It may end with a question or a sentence, which has one of these (patterns) in it.
    asks: tuple[str, ...] = ()
    #: It must end so: a run that ends complete has told a lie.
    must_ask: bool = False
    #: Another conversation may do a task again (the one that did it is lost).
    again: bool = False
    #: Commits that agents made may be lost: whoever disturbed it has thrown them away.
    loses_commits: bool = False
    #: The journal has a damaged line.
    damages_journal: bool = False
    #: A merge may be somebody else's, of commits that nobody has checked.
    merged_by_hand: bool = False
    #: Branches and worktrees may be left.
    leaves: bool = False

    def __or__(self, other: Allows) -> Allows:
        """What two disturbances may change together; what each one has to say alone is not asked for any more."""
        return Allows(
            adds={},
            may_differ=self.may_differ | other.may_differ | {*self.adds, *other.adds},
            history=max(self.history, other.history, key=lambda one: _ORDER[one]),
            asks=self.asks + other.asks,
            again=self.again or other.again,
            loses_commits=self.loses_commits or other.loses_commits,
            damages_journal=self.damages_journal or other.damages_journal,
            merged_by_hand=self.merged_by_hand or other.merged_by_hand,
            leaves=self.leaves or other.leaves,
        )


@dataclass(frozen=True)
class Outcome:
    """What a run has left: the files of the feature, its history by first parents, and which tasks are complete."""

    files: dict[str, str]
    history: tuple[tuple[str, str], ...]
    complete: frozenset[str]
    ended: bool

    @property
    def merges(self) -> list[str]:
        return [subject for subject, _ in self.history if subject.startswith("Merge task ")]


def outcome(yard: Yard) -> Outcome:
    """What there is now."""
    branch = f"feature/{FEATURE}"
    files = {}
    for line in yard.git("ls-tree", "-r", branch).splitlines() if yard.tip(branch) else ():
        about, _, path = line.partition("\t")
        files[path] = yard.git("cat-file", "blob", about.split()[2])
    history = tuple(yard.shop.history()) if yard.tip(branch) else ()
    return Outcome(files, history, frozenset(yard.shop.count("task.completed")), yard.is_complete)


def faults(yard: Yard, control: Outcome, allows: Allows, *, checked: bool = True) -> list[str]:
    """Everything that is not as it has to be. `checked`: the plan's checks are run in its mode."""
    found = outcome(yard)
    told = yard.said()
    wrong: list[str] = []
    #: Who starts a task over after the one that it conflicted with was merged gets no conflict, and its text stays.
    alone = {path for path, text in found.files.items() if text.strip() in _started_over_by_choice(yard)}
    allows = replace(allows, may_differ=allows.may_differ | alone)
    if found.ended == control.ended and (found.ended or found.complete == control.complete):
        wrong += _differences(found, control, allows)
        wrong += [f"complete, but it has to ask: {allows.asks}"] if allows.must_ask and found.ended else []
        wrong += [f"it never said {words!r}" for words in allows.says if not re.search(words, told)]
    elif not any(re.search(words, told) for words in allows.asks):
        wrong.append(f"complete: {sorted(found.complete)}, not {sorted(control.complete)}, and nothing says why")
    if checked:
        wrong += _unproved(yard, found, allows)
    return wrong + _effects(yard, found, allows) + _lost_commits(yard, allows) + _around(yard, allows, told)


def _differences(found: Outcome, control: Outcome, allows: Allows) -> list[str]:
    wrong = []
    wanted = {**control.files, **allows.adds}
    wrong += [
        f"{path} is {found.files.get(path)!r}, not {wanted.get(path)!r}"
        for path in sorted({*wanted, *found.files} - allows.may_differ)
        if found.files.get(path) != wanted.get(path)
    ]
    same_trees = allows.history == "same" and not allows.adds and not allows.may_differ
    if same_trees and found.history != control.history:
        wrong.append(f"history {_short(found)}, not {_short(control)}")
    if not same_trees and allows.history != "other" and found.merges != control.merges:
        wrong.append(f"merges {found.merges}, not {control.merges}")
    return wrong


def _short(one: Outcome) -> list[str]:
    return [f"{subject} {tree[:6]}" for subject, tree in one.history]


def _unproved(yard: Yard, found: Outcome, allows: Allows) -> list[str]:
    """Tasks that are called complete although their checks never passed on the commit that is merged."""
    passed = set(yard.lines("passed"))
    form = "--format=%P%x09%(trailers:key=Rekindle-Task,valueonly,separator=%x2C)"
    merged = dict[str, str]()
    for line in yard.git("log", "--reverse", form, f"feature/{FEATURE}").splitlines() if found.history else ():
        parents, _, task = line.partition("\t")
        if task:
            merged[task.rpartition("/")[2]] = parents.split()[-1]
    wrong = []
    for task in sorted(found.complete):
        if allows.merged_by_hand:
            continue
        if task not in merged:
            wrong.append(f"{task} is complete without a merge of ours")
        elif f"{task} {merged[task]}" not in passed:
            wrong.append(f"{task} is complete, but its checks never passed on {merged[task][:12]}, which is merged")
    return wrong


def _effects(yard: Yard, found: Outcome, allows: Allows) -> list[str]:
    """At least once for a task that is complete (or a receipt says that nobody knows); at most once in a conversation;
    in a second one only for a reason."""
    done = Counter(yard.lines("effects"))
    cut = set(re.findall(rf"outcome unknown: {re.escape(yard.hand('effect'))} (\S+)", yard.said()))
    missing = [task for task in sorted(found.complete) if not done[task] and task not in cut]
    wrong = [f"{task} is complete, but its agent never did it" for task in missing]
    again = _started_over_by_choice(yard, all_of=done)
    again |= set(re.findall(r"task (\S+): started over", yard.said()))
    restarted = any("restarts" in event["data"] for event in yard.shop.events("session.start"))
    conversations: Counter[str] = Counter()
    for path in sorted((yard.machine.home / "conversations").glob("*.jsonl")):
        for task, number in _begun(yard, path.read_text().splitlines()).items():
            conversations[task] += 1
            if number > 1:
                wrong.append(f"{task}: its effect came {number} times in one conversation")
    for task, number in conversations.items():
        if number > 1 and not (allows.again or restarted or task in again):
            wrong.append(f"{task}: its effect came in {number} conversations, and nobody said that it starts over")
    return wrong


def _started_over_by_choice(yard: Yard, all_of: Iterable[str] = ()) -> set[str]:
    """The tasks for which a person chose A; `all_of`, where the decision names none."""
    return {
        str(task)
        for event in yard.shop.events("resume.decided")
        if event["data"].get("choice") == "A"
        for task in event["data"].get("tasks") or all_of
    }


def _begun(yard: Yard, lines: list[str]) -> Counter[str]:
    """How often each task's effect was begun in a conversation."""
    begun: Counter[str] = Counter()
    before = yard.hand("effect")
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # torn by a kill
        directive = str(record.get("directive", ""))
        if record.get("kind") == "step-started" and directive.startswith(before):
            begun[directive.split()[-1]] += 1
    return begun


def _lost_commits(yard: Yard, allows: Allows) -> list[str]:
    """Commits of agents that no ref has any more, and work that is called lost although it is there."""
    if allows.loses_commits:
        return []
    heads = re.findall(r"^HEAD ([0-9a-f]+)$", yard.git("worktree", "list", "--porcelain"), re.MULTILINE)
    reachable = set(yard.git("rev-list", "--all", *(one for one in heads if one.strip("0"))).split())
    made = [line.split() for line in yard.lines("commits")]
    wrong = [f"an agent's commit {one[:12]} ({what}) is in no ref" for one, what in made if one not in reachable]
    for task, at in _called_lost(yard).items():
        before = [one for one, what in made if what.partition("-")[0] == task and _made_at(yard, one) < at]
        if allows.merged_by_hand:  # who merges a branch and deletes it leaves no trace that those commits were its own
            before = [one for one in before if not yard.is_in_feature(one)]
        if before and before[0] in reachable:
            wrong.append(f"{task}: it says that nothing of its work was found, and {before[0][:12]} is there")
    return wrong


def _called_lost(yard: Yard) -> dict[str, int]:
    """The tasks that were started over because nothing of their work was found, and the second when that was said."""
    told = set(re.findall(r"task (\S+): started over, because nothing of its work was found", yard.said()))
    lost = [event for event in yard.shop.events("resume.decided") if event["data"].get("reason")]
    return {
        str(task): int(datetime.fromisoformat(event["ts"]).timestamp())
        for event in lost
        for task in event["data"]["tasks"]
        if task in told
    }


def _made_at(yard: Yard, commit: str) -> int:
    return int(yard.git("show", "-s", "--format=%ct", commit) or 0) if yard.tip(commit) else 0


def _around(yard: Yard, allows: Allows, told: str) -> list[str]:
    """The user's checkout, the journal, the logs, and what lies about."""
    wrong = []
    if (now := yard.look()) != yard.checkout:
        wrong.append(f"the user's checkout changed: {set(now) ^ set(yard.checkout)}")
    if yard.shop.journal.exists() and not allows.damages_journal:
        verified = yard.machine.run("journal", "verify", FEATURE)
        if verified.returncode != 0:
            wrong.append(f"journal verify: {verified.stdout}{verified.stderr}")
    if "Traceback" in told:
        wrong.append("a command ended with a traceback")
    log = yard.machine.places.daemon_log
    try:
        with open(log, errors="replace") as file:
            wrong += [
                f"a traceback in the daemon's log: {_last_error(text)}" for text in [file.read()] if "Traceback" in text
            ]
    except FileNotFoundError:
        pass
    if yard.is_complete and not allows.leaves:
        left = [line for line in yard.git("branch", "--list", f"work/{FEATURE}/*").splitlines() if line]
        left += yard.git("worktree", "list").splitlines()[1:]
        wrong += [f"left behind: {left}"] if left else []
    return wrong


def _last_error(log: str) -> str:
    lines = log[log.rindex("Traceback") :].splitlines()
    return next((line for line in lines[1:] if line and not line.startswith(" ")), "")[:300]
