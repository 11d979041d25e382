"""What `--explain` foretells of a feature against what became of it: row by row, without knowing the case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.features import Shop

#: What a row says of a branch or a worktree that is still there afterwards.
_STAYS = ("keep", "warn", "blocked")


class Before:
    """How things stand when the rows are told."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.told: dict[str, Any] = shop.machine.json("resume", shop.feature, "--explain")
        self.tips = _tips(shop)
        self.trees = _trees(shop)
        self.events = len(shop.events())

    def rows(self, kind: str) -> dict[str, str]:
        return {row["name"]: row["action"] for row in self.told[kind]}

    def compare(self) -> list[str]:
        """Every row that did not come true, and everything that happened without being told."""
        return [*self._branches(), *self._worktrees()]

    def _branches(self) -> list[str]:
        wrong = []
        after = _tips(self.shop)
        rows = self.rows("branches")
        worked = {row["branch"] for row in self._sessions()} | self._needs_nobody()
        for name, action in rows.items():
            before = self.tips.get(name)
            ok = {
                "delete": before is not None and name not in after,
                "nothing": before is None and name not in after,
                "go on": before is not None and self._is_in_feature(before) and name in worked,
                "start": before is not None and name in worked,
                "make again": before is None and name in worked,
            }.get(action, action in _STAYS and after.get(name) == before)
            wrong += [] if ok else [f"branch {name}: {action}, {before} -> {after.get(name)}"]
        for name in (self.tips.keys() | after.keys()) - rows.keys() - {self.told["branch"]}:
            wrong += [] if self.tips.get(name) == after.get(name) else [f"branch {name}: changed without a row"]
        return wrong

    def _worktrees(self) -> list[str]:
        wrong = []
        after = _trees(self.shop)
        rows = self.rows("worktrees")
        events = self.shop.events()[self.events :]
        made = {e["data"]["path"]: e["data"]["branch"] for e in events if e["type"] == "worktree.created"}
        branches = {**{path: told.partition(" ")[0][11:] for path, told in self.trees.items()}, **made}
        nobody = {path for path, branch in branches.items() if branch in self._needs_nobody()}
        worked = {row["cwd"] for row in self._sessions()} | nobody
        removed = {event["data"]["path"] for event in events if event["type"] == "worktree.removed"}
        for path, action in rows.items():
            was = path in self.trees
            ok = {
                "delete": was and path not in after and path in removed,
                "go on": was and path in worked and path not in made,
                "make again": not was and path in worked and path in made,
            }.get(action, action in _STAYS and after.get(path) == self.trees.get(path))
            wrong += [] if ok else [f"worktree {path}: {action}, {self.trees.get(path)} -> {after.get(path)}"]
        begun = {event["data"]["name"] for event in events if event["type"] == "branch.created"}
        wrong += [
            f"worktree {path}: made without a row" for path in made.keys() - rows.keys() if made[path] not in begun
        ]
        return wrong

    def _needs_nobody(self) -> set[str]:
        """The branches of tasks for which no agent is announced."""
        steps = self.rows("tasks")
        given = self.told["orders"]["tasks"]
        return {task["branch"] for task in given if steps[task["id"]] in ("check", "merge", "done", "skipped")}

    def _sessions(self) -> list[dict[str, Any]]:
        rows = self.shop.machine.json("ps", "--all")["sessions"]
        return [row for row in rows if row["feature"] == self.shop.feature]

    def _is_in_feature(self, tip: str) -> bool:
        contained = self.shop.git("branch", "--contains", tip, "--format=%(refname:short)").splitlines()
        return self.told["branch"] in contained


def _tips(shop: Shop) -> dict[str, str]:
    told = shop.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
    return {name: tip for line in told.splitlines() for name, _, tip in [line.rpartition(" ")]}


def _trees(shop: Shop) -> dict[str, str]:
    """The worktrees that are there, each with its branch and whatever is not committed in it."""
    found = {}
    for block in shop.git("worktree", "list", "--porcelain").split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines())
        if Path(fields["worktree"]).is_dir():
            dirty = shop.git("status", "--porcelain", cwd=fields["worktree"])
            found[fields["worktree"]] = f"{fields.get('branch', 'detached')} {dirty}".strip()
    return found
