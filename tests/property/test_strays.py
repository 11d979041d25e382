"""Reflogs as git writes them, at random: no work of an agent is forgotten, and none that it replaced is asked about."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.feature.strays import Made, Past, ReflogEntry, holds, last_tip, lost, made, suspects

BRANCH = "work/shop/t"
OPERATIONS = ("commit", "commit", "commit", "amend", "back", "switch", "detach", "look", "rebase", "abort")


@dataclass
class Model:
    """A worktree and its repository, as far as commits go. `replaced` is what really took a commit's place."""

    parent: dict[str, str] = field(default_factory=lambda: {"base": ""})
    refs: dict[str, str] = field(default_factory=lambda: {BRANCH: "base", "other": "base"})
    on: str | None = BRANCH
    head: str = "base"
    entries: list[ReflogEntry] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)

    def new(self, parent: str) -> str:
        name = f"{len(self.parent):040x}"
        self.parent[name] = parent
        return name

    def move(self, to: str, action: str) -> None:
        self.entries.append(ReflogEntry(self.head, to, action))
        self.head = to
        if self.on is not None:
            self.refs[self.on] = to

    def chain(self, commit: str) -> list[str]:
        found = []
        while commit:
            found.append(commit)
            commit = self.parent[commit]
        return found

    def leave(self, to: str | None, at: str, word: str) -> None:
        self.entries.append(ReflogEntry(self.head, at, f"checkout: moving from {self.on or self.head} to {word}"))
        self.on, self.head = to, at

    def do(self, operation: str) -> None:
        match operation:
            case "commit":
                self.move(self.new(self.head), "commit: work")
            case "amend" if self.head != "base":
                old, made_ = self.head, self.new(self.parent[self.head])
                self.move(made_, "commit (amend): work")
                self.replaced[old] = made_
            case "back" if self.head != "base":
                self.move(self.parent[self.head], "reset: moving to HEAD~1")
            case "switch":
                to = "other" if self.on == BRANCH else BRANCH
                self.leave(to, self.refs[to], to)
            case "detach":
                self.leave(None, self.head, "HEAD")
            case "look" if self.head != "base":
                self.leave(None, self.parent[self.head], "HEAD~1")
            case "rebase" | "abort" if self.head != "base":
                self.rebase(aborted=operation == "abort")

    def rebase(self, *, aborted: bool) -> None:
        old = self.chain(self.head)[:-1]
        back, on = self.head, self.on
        self.on = None
        self.move("base", "rebase (start): checkout main")
        copies = []
        for _ in old:
            copies.append(self.new(self.head))
            self.move(copies[-1], "rebase (pick): work")
        self.on = on
        self.move(*((back, "rebase (abort): returning to it") if aborted else (self.head, "rebase (finish): to it")))
        gone = copies if aborted else old
        self.replaced |= dict.fromkeys(gone, self.head)

    def past(self) -> Past:
        inside = set(self.chain(self.refs[BRANCH]))
        outside = {name: Made(name, (before,)) for name, before in self.parent.items() if name not in inside}
        return Past(self.entries, self.on, outside)


@given(st.lists(st.sampled_from(OPERATIONS), max_size=40))
def test_every_commit_is_on_the_branch_or_replaced_or_asked_about(operations: list[str]) -> None:
    model = Model()
    for operation in operations:
        model.do(operation)
    past = model.past()
    asked = lost(past, suspects(past), lambda _commit, _rival: "nothing")
    for commit in made(model.entries):
        last, seen = commit, set[str]()
        while last in model.replaced and last not in seen:
            seen.add(last)
            last = model.replaced[last]
        assert last in asked or last not in past.outside or last in seen, "work is forgotten"
    assert not [one for one in asked if one not in past.outside], "what is on the branch is asked about"
    assert not [one for one in asked if one in model.replaced], "what was replaced is asked about"
    assert set(asked) <= made(model.entries).keys(), "what was only looked at is asked about"


@given(st.lists(st.sampled_from(OPERATIONS), max_size=40))
def test_the_tip_of_a_deleted_branch_is_where_it_was_last(operations: list[str]) -> None:
    model = Model()
    for operation in operations:
        model.do(operation)
    model.leave(None, model.head, "HEAD")
    assert last_tip(model.entries, None, BRANCH) == model.refs[BRANCH]


LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), min_size=1, max_size=6)


@given(LINES, LINES, st.lists(st.sampled_from([b"x", b"y"]), max_size=4))
def test_a_file_that_only_grew_has_every_change_and_one_that_lost_a_line_of_it_has_not(
    before: list[bytes], after: list[bytes], more: list[bytes]
) -> None:
    old, new = b"\n".join(before), b"\n".join(after)
    assert holds(old, new, new)
    is_reordered = sorted(before) == sorted(after) and before != after
    assert holds(old, new, b"\n".join([*after, *more])) or is_reordered
    for line in (line for line in set(after) if after.count(line) > before.count(line)):
        less = after.copy()
        less.remove(line)
        assert not holds(old, new, b"\n".join(less))
    assert holds(old, None, None) and not holds(old, None, old)
