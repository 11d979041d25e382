"""A feature's git in memory, held to the port by `tests.conformance.test_feature`.

Of the real one it lacks work outside of a task's branch (strays), snapshots, and locks: nobody plays those here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rekindle.core.feature import naming
from rekindle.core.feature.evidence import Done, GitEvidence, Merging, WorkBranch, WorkTree
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.records import choose_branch
from rekindle.core.feature.strays import Stray
from rekindle.core.git_locks import Lock
from rekindle.ports.errors import FeatureBlocked, GitFailed
from rekindle.ports.feature import Cleared, Merged, Prepared, StartedOver
from tests.fakes.git_repository import MARKER, Commit, FakeRepository, Worktree


class FakeFeatureGit:
    """One feature in one repository. See `rekindle.ports.feature.ResumableGit`."""

    shared_tree = False

    def __init__(self, repo: FakeRepository, feature: str, named: Sequence[str] = ()) -> None:
        self.repo = repo
        self._feature = feature
        there = {name: tip for name in named if (tip := repo.tip(name)) is not None}
        self.branch = choose_branch(feature, named, there, "main")
        self._folder = f"{repo.root}/.worktrees/{naming.branch_word(feature)}"
        self._seen: dict[str, tuple[str, bool]] = {}
        self._told: list[str] = []

    # evidence

    def observe(
        self,
        tasks: Mapping[str, TaskProgress],
        recorded: Mapping[str, str] | None = None,
        anew: Collection[str] | None = None,
    ) -> GitEvidence:
        repo, tip, last = self.repo, self._tip(), self._ref(naming.merged_ref(self._feature))
        prefix = f"refs/heads/work/{naming.branch_word(self._feature)}/"
        owners = {one.branch: task for task, one in tasks.items()}
        work = {ref.removeprefix("refs/heads/"): commit for ref, commit in repo.refs.items() if ref.startswith(prefix)}
        homes = {task: self.tree_of(task, one.branch) for task, one in tasks.items()}
        trees, remembered = self._trees(homes, anew)
        return GitEvidence(
            target=self.branch,
            tip=tip,
            branches={name: self._branch(name, commit, tip, owners.get(name)) for name, commit in work.items()},
            trees=trees,
            homes=homes,
            done={task: done for task, one in tasks.items() if (done := self._done(task, one, tip, last)) is not None},
            copies={task: repo.trees[path].head for task in tasks if (path := self.copy_of(task)) in repo.trees},
            checking=frozenset(
                task for task, one in tasks.items() if work.get(one.branch) == (self._left(task) or ("", 0))[0]
            ),
            merging=self._merging(tip),
            last_merge=last,
            rewritten=bool(tip and last and not repo.is_ancestor(last, tip)),
            fallen={
                task: one.qa.commit
                for task, one in tasks.items()
                if one.branch not in work and not (one.merged or one.unchanged)
                if one.qa is not None and one.qa.result == "passed" and one.qa.commit in repo.commits
            },
            remembered=remembered,
            removed=frozenset(task for task, path in homes.items() if path not in repo.trees),
        )

    def _trees(
        self, homes: Mapping[str, str], anew: Collection[str] | None
    ) -> tuple[dict[str, WorkTree], frozenset[str]]:
        owners = {path: task for task, path in homes.items()}
        found, remembered = {}, set()
        for path, tree in self.repo.trees.items():
            name = path.rpartition("/")[2]
            if not path.startswith(f"{self._folder}/") or name.startswith("."):
                continue
            task, head = owners.get(path), self.repo.head(tree)
            known = self._seen.get(path)
            if task is not None and anew is not None and task not in anew and known is not None and known[0] == head:
                remembered.add(task)
                changes = known[1]
            else:
                changes = self._has_work(tree, task)
                self._seen[path] = (head, changes)
            found[path] = WorkTree(path, tree.branch, changes)
        return found, frozenset(remembered)

    def _has_work(self, tree: Worktree, task: str | None) -> bool:
        left = self._left(task or "")
        ignored = set(left[1]) if left is not None and left[0] != self.repo.head(tree) else set()
        ignored |= set(left[1]) if left is not None else set()
        now, before = tree.files, self.repo.commits[self.repo.head(tree)].files
        return any(now.get(name) != before.get(name) for name in {*now, *before} - ignored)

    def _branch(self, name: str, commit: str, tip: str | None, task: str | None) -> WorkBranch:
        base = self._ref(naming.base_ref(self._feature, task)) if task is not None else None
        repo = self.repo
        goes_on = base is not None and repo.is_ancestor(base, commit)
        merged = tip is not None and (commit == tip if goes_on and base == tip else repo.is_ancestor(commit, tip))
        if goes_on or tip is None or not merged:
            work = repo.since(base if goes_on or tip is None else tip, commit)
            subjects = tuple(f"{one.id[:7]} {one.subject}" for one in work[:12])
            unrelated = not goes_on and tip is not None and repo.merge_base(tip, commit) is None
            return WorkBranch(name, commit, len(work), subjects, merged, unrelated=unrelated)
        is_work = commit not in {one.id for one in repo.first_parents(tip)}
        return WorkBranch(name, commit, int(is_work), (), merged)

    def _done(self, task: str, one: TaskProgress, tip: str | None, last: str | None) -> Done | None:
        repo = self.repo
        for commit in filter(None, (self._ref(naming.done_ref(self._feature, task)), one.merge)):
            made = repo.commits.get(commit)
            said = one.epoch if commit == one.merge else ""
            if made is None:
                return Done(commit, said, None, present=False)
            epoch = made.epoch if made.task == task else said
            if tip is not None and made.task == task and repo.is_ancestor(commit, tip):
                return Done(commit, epoch)
            if epoch:
                work = made.parents[1] if len(made.parents) > 1 else commit
                return Done(commit, epoch, work, self._is_present(made, tip or last, last))
        return None

    def _is_present(self, made: Commit, tip: str | None, last: str | None) -> bool:
        if tip is None or self.repo.is_ancestor(made.id, tip):
            return True
        if last is not None and self.repo.is_ancestor(made.id, last):
            began = self._ref(naming.base_ref(self._feature)) or self.repo.merge_base(last, tip)
            if began is not None and self._has_all(tip, began, last):
                return True
        return self._has_all(tip, made.parents[0], made.id)

    def _has_all(self, tip: str, before: str, after: str) -> bool:
        changed = self.repo.changed(before, after)
        return bool(changed) and not {*changed} & {*self.repo.changed(after, tip)}

    def _merging(self, tip: str | None) -> Merging | None:
        tree = self.repo.trees.get(self._integration)
        if tree is None or tree.merge is None or tip is None or tree.head != tip:
            return None
        conflicts = tuple(name for name, text in tree.files.items() if text.startswith(MARKER))
        return Merging(tree.merge, conflicts, path=tree.path)

    def snapshot_reasons(self, sessions: Collection[str]) -> dict[str, frozenset[str]]:
        return {session: frozenset() for session in sessions}

    def with_snapshots(self, branches: Mapping[str, str]) -> frozenset[str]:
        return frozenset()

    def fallen_in_snapshots(self, branches: Mapping[str, str]) -> dict[str, str]:
        return {}

    # the feature

    def check_base(self, base: str) -> None:
        if self._tip() is None:
            self._base(base)

    def choose_base(self, base: str) -> None:
        if self._tip() is None:
            earlier = self._ref(naming.merged_ref(self._feature))
            if earlier is not None:
                self.repo.refs[naming.kept_ref(self._feature, "earlier", earlier[:12])] = earlier
                del self.repo.refs[naming.merged_ref(self._feature)]
            self.repo.refs[naming.base_ref(self._feature)] = self._base(base)

    def make_feature(self, base: str) -> str:
        found = self._tip()
        if found is None:
            kept = [naming.merged_ref(self._feature), *([] if base else [naming.base_ref(self._feature)])]
            found = next((commit for ref in kept if (commit := self._ref(ref)) is not None), None)
            if found is None:
                self.choose_base(base)
                found = self._base(base)
            self.repo.set_tip(self.branch, found)
        return found

    def _base(self, base: str) -> str:
        found = self.repo.user if base in ("", "HEAD") else base
        if found not in self.repo.commits:
            raise FeatureBlocked(f"there is no commit {base!r} that {self.branch} could begin at", "name another one")
        return found

    def commit_as(self, environment: Mapping[str, str]) -> None:
        pass

    def keep_untracked(self) -> None:
        pass

    # tasks

    def tree_of(self, task: str, branch: str) -> str:
        return f"{self._folder}/{naming.branch_word(task)}"

    def prepare(self, task: str, branch: str, session: str, wave: str) -> Prepared:
        repo, tip = self.repo, self._demand_tip()
        path, made = self.tree_of(task, branch), None
        base = naming.base_ref(self._feature, task)
        at = repo.tip(branch)
        if at is not None and self._ref(base) == at and not repo.is_ancestor(at, tip) and path not in repo.trees:
            del repo.refs[f"refs/heads/{branch}"]  # it has no work, and began at what is no longer there
            at = None
        if at is None:
            made = repo.refs[base] = self._wave_base(wave, tip) if wave else tip
            repo.refs.pop(naming.left_ref(self._feature, task), None)
            repo.set_tip(branch, made)
        is_new = path not in repo.trees
        if is_new:
            head = repo.refs[f"refs/heads/{branch}"]
            repo.trees[path] = Worktree(path, branch, head, dict(repo.commits[head].files))
        return Prepared(path, made, is_new)

    def _wave_base(self, wave: str, tip: str) -> str:
        ref = naming.wave_ref(self._feature, wave)
        known = self._ref(ref)
        if known is None or not self.repo.is_ancestor(known, tip):
            known = self.repo.refs[ref] = tip
        return known

    def restore(self, task: str, branch: str, tip: str) -> None:
        repo, target, base = self.repo, self._tip(), naming.base_ref(self._feature, task)
        if base not in repo.refs and target is not None:
            began = repo.merge_base(tip, target)
            done = self._ref(naming.done_ref(self._feature, task))
            if began == tip and done is not None:
                began = repo.merge_base(tip, repo.commits[done].parents[0])
            if began is not None:
                repo.refs[base] = began
        if repo.tip(branch) is None:
            repo.set_tip(branch, tip)

    def commit(self, task: str, branch: str, message: str) -> tuple[str, ...]:
        tree = self._tree(task, branch)
        head, left = self.repo.head(tree), self._left(task)
        besides = set(left[1]) if left is not None else set()
        before = self.repo.commits[head].files
        files = {name: text for name, text in tree.files.items() if name not in besides}
        files |= {name: before[name] for name in besides if name in before}
        if files != before:
            self.repo.set_tip(branch, self.repo.commit((head,), files, message.partition("\n")[0]))
        return ()

    def changed_files(self, task: str, branch: str) -> list[str]:
        base, tip = self._ref(naming.base_ref(self._feature, task)), self.repo.tip(branch)
        return self.repo.changed(base, tip) if base is not None and tip is not None else []

    def clear(self, task: str, branch: str, *, unchanged: bool = False) -> Cleared:
        repo, path, tip, target = self.repo, self.tree_of(task, branch), self.repo.tip(branch), self._tip()
        is_merged = tip is not None and target is not None and repo.is_ancestor(tip, target)
        removed, kept = None, []
        tree = repo.trees.get(path)
        if tree is not None:
            if not is_merged or self._has_work(tree, task):
                return Cleared(kept=(f"{path}: it has work that is in no commit: it is kept",))
            del repo.trees[path]
            removed = path
        if tip is not None and not is_merged:
            kept.append(f"{branch}: it has commits that {self.branch} lacks: it is kept")
            return Cleared(removed, None, tuple(kept))
        repo.refs.pop(f"refs/heads/{branch}", None)
        for name in (naming.base_ref, naming.left_ref):
            repo.refs.pop(name(self._feature, task), None)
        return Cleared(removed, branch if tip is not None else None)

    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        repo, kept = self.repo, dict[str, str]()
        for task, branch in branches.items():
            path = self.tree_of(task, branch)
            if repo.tip(branch) is not None and path in repo.trees:
                self.commit(task, branch, "What it had not committed")
            repo.trees.pop(path, None)
            tip = repo.refs.pop(f"refs/heads/{branch}", None)
            if tip is not None:
                kept[branch] = naming.kept_ref(self._feature, epoch, branch)
                repo.refs[kept[branch]] = tip
            for name in (naming.done_ref, naming.base_ref, naming.left_ref):
                repo.refs.pop(name(self._feature, task), None)
        tip, base = self._tip(), self._ref(naming.base_ref(self._feature))
        if whole and tip is not None and base not in (None, tip) and tip == self._ref(naming.merged_ref(self._feature)):
            kept[self.branch] = naming.kept_ref(self._feature, epoch, self.branch)
            repo.refs[kept[self.branch]] = tip
            repo.set_tip(self.branch, str(base))
            del repo.refs[naming.merged_ref(self._feature)]
        return StartedOver(kept)

    # checks and reviews

    def begin_checks(self, task: str, branch: str, tip: str) -> None:
        tree = self._tree(task, branch)
        if tree.branch is not None:
            self.repo.refs[naming.left_ref(self._feature, task)] = f"{tip} "

    def put_back(self, task: str, branch: str) -> tuple[str, ...]:
        tree = self._tree(task, branch)
        files = self.repo.commits[self.repo.head(tree)].files
        changed = tuple(name for name in files if tree.files.get(name) != files[name])
        tree.files.update({name: files[name] for name in changed})
        return changed

    def end_checks(self, task: str, branch: str) -> tuple[str, ...]:
        tree, ref = self._tree(task, branch), naming.left_ref(self._feature, task)
        if ref not in self.repo.refs:
            return ()
        known = self.repo.commits[self.repo.head(tree)].files
        left = tuple(sorted(name for name in tree.files if name not in known))
        self.repo.refs[ref] = f"- {' '.join(left)}"
        return left

    def _left(self, task: str) -> tuple[str, list[str]] | None:
        """The commit whose checks are under way ("-": none), and the files that checks have left."""
        found = self.repo.refs.get(naming.left_ref(self._feature, task))
        if found is None:
            return None
        commit, _, names = found.partition(" ")
        return commit, names.split()

    def copy_of(self, task: str) -> str:
        return f"{self._folder}/{naming.copy_folder(task)}"

    def make_copy(self, task: str, tip: str) -> str | None:
        path = self.copy_of(task)
        there = self.repo.trees.get(path)
        kept = None
        if there is None or there.head != tip or self.repo.is_dirty(there):
            kept = self.drop_copy(task)
            self.repo.trees[path] = Worktree(path, None, tip, dict(self.repo.commits[tip].files))
        return kept

    def drop_copy(self, task: str) -> str | None:
        tree = self.repo.trees.pop(self.copy_of(task), None)
        if tree is None or not self.repo.is_dirty(tree):
            return None
        return self._keep(tree, f"copy-{naming.branch_word(task)}")

    def _keep(self, tree: Worktree, word: str) -> str:
        made = self.repo.commit((tree.head,), tree.files, f"what was in {tree.path}")
        ref = naming.kept_ref(self._feature, word, made[:12])
        self.repo.refs[ref] = made
        return ref

    # merges

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        repo, target = self.repo, self._demand_tip()
        done = self._ref(naming.done_ref(self._feature, task))
        is_there = done is not None and repo.is_ancestor(done, target) and repo.is_ancestor(tip, done)
        if done is not None and is_there and repo.commits[done].epoch == epoch:
            return Merged(done)
        subject = message.partition("\n")[0]
        if repo.is_ancestor(tip, target):
            files = dict(repo.commits[target].files)
        else:
            path = self.integration(tip)
            tree = repo.trees[path]
            if tree.merge is None:
                tree.files, conflicts = repo.merged_files(target, tip)
                tree.merge = tip if conflicts else None
            conflicts = tuple(name for name, text in tree.files.items() if text.startswith(MARKER))
            if conflicts:
                return Merged(None, conflicts)
            files, tree.merge = tree.files, None
        made = repo.commit((target, tip), files, subject, task, epoch)
        for ref in (
            f"refs/heads/{self.branch}",
            naming.done_ref(self._feature, task),
            naming.merged_ref(self._feature),
        ):
            repo.refs[ref] = made
        if (there := repo.trees.get(self._integration)) is not None:
            there.head, there.files, there.merge = made, dict(files), None
        return Merged(made)

    @property
    def _integration(self) -> str:
        return f"{self._folder}/{naming.INTEGRATION}"

    def integration(self, tip: str = "") -> str:
        target, path = self._demand_tip(), self._integration
        tree = self.repo.trees.get(path)
        if tree is not None and (under_way := self._merging(target)) is not None and under_way.branch_tip == tip:
            return path
        if tree is not None and (tree.head != target or self.repo.is_dirty(tree)):
            if self.repo.is_dirty(tree):
                self._told.append(f"what was left in {path} is kept as {self._keep(tree, naming.INTEGRATION_WORD)}")
            tree = None
        if tree is None:
            self.repo.trees[path] = Worktree(path, None, target, dict(self.repo.commits[target].files))
        return path

    def keep_left(self, wave: int) -> None:
        tree = self.repo.trees.get(self._integration)
        if tree is not None and self.repo.is_dirty(tree):
            ref = self._keep(tree, f"wave-{wave}")
            self._told.append(f"the checks of wave {wave} left something behind in {tree.path}: it is kept as {ref}")

    def clear_integration(self) -> None:
        if self._tip() is not None and self._integration in self.repo.trees:
            self.integration()
            del self.repo.trees[self._integration]

    # for people

    def notices(self) -> tuple[str, ...]:
        told, self._told = tuple(self._told), []
        return told

    def keep_strays(self, task: str, branch: str, found: Sequence[Stray]) -> None:
        raise NotImplementedError

    def take_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        return ()

    def leave_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        return ()

    def locks(self) -> list[Lock]:
        return []

    def remove_lock(self, lock: Lock) -> bool:
        return False

    # names

    def _ref(self, name: str) -> str | None:
        return self.repo.refs.get(name)

    def _tip(self) -> str | None:
        return self.repo.tip(self.branch)

    def _demand_tip(self) -> str:
        found = self._tip()
        if found is None:
            raise GitFailed(f"{self.branch} is gone", f"make it again: git branch {self.branch} COMMIT")
        return found

    def _tree(self, task: str, branch: str) -> Worktree:
        path = self.tree_of(task, branch)
        found = self.repo.trees.get(path)
        if found is None:
            raise GitFailed(f"{path} is gone", "resume the feature: it is made again")
        return found
