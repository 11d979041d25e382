"""The decision of a feature's run, played against a world in memory, with kills at any moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.feature import effects as e
from rekindle.core.feature.evidence import RunMemory
from rekindle.core.feature.plan import Plan, Task, arrange, skip
from rekindle.core.journal.run import COMPLETE, FAILED, IN_PROGRESS, Qa
from rekindle.core.session import facts as f
from tests.fakes.feature_world import World
from tests.sessions import told

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = NAMES[: draw(st.integers(1, 5))]
    needs = {
        name: tuple(chosen)
        for place, name in enumerate(names)
        if (chosen := draw(st.lists(st.sampled_from(names[:place]), unique=True)) if place else [])
    }
    checks = ("check",) if draw(st.booleans()) else ()
    reviewer = "scripted" if draw(st.booleans()) else ""
    tasks = [Task(name, name, "do it", "scripted", (), checks, reviewer) for name in names]
    return arrange(tasks, needs=needs, after={}, waves=None, lint=draw(st.sampled_from([(), ("lint",)])))


def play(world: World, kills: frozenset[int] = frozenset(), most: int = 600) -> e.Finish:
    """Perform what is due, one effect at a time, until the run ends; before the numbered steps everything dies."""
    for step in range(most):
        if step in kills:
            world.kill()
        wanted = world.due()
        for effect in wanted[:1]:
            if isinstance(effect, e.Finish):
                return effect
            world.perform(effect)
        if not wanted:
            world.agents()
    raise AssertionError("the run does not come to an end")


KILLS = st.frozensets(st.integers(0, 120), max_size=8)


@given(plans(), st.integers(1, 3), KILLS)
def test_whatever_dies_when_every_task_is_merged_once_in_the_order_of_the_plan(
    plan: Plan, jobs: int, kills: frozenset[int]
) -> None:
    undisturbed, killed = World(plan, jobs=jobs), World(plan, jobs=jobs)
    assert play(undisturbed) == e.Finish("completed")
    assert play(killed, kills) == e.Finish("completed")
    assert killed.merges == undisturbed.merges == [name for wave in plan.waves for name in wave]
    assert len(set(killed.said)) == len(killed.said)
    assert set(killed.said) == set(undisturbed.said)
    assert undisturbed.most_at_work <= jobs


@given(plans(), st.sampled_from(["failed", "died"]), st.integers(0, 30))
def test_no_agent_is_started_for_ever(plan: Plan, how: str, good: int) -> None:
    count = iter(range(10_000))
    world = World(plan, turn=lambda _prompt: "done" if next(count) < good else how)
    end = play(world)
    assert end.reason in ("completed", "error")
    if end.reason == "error":
        assert any(known.status == FAILED for known in world.known.values())


@given(plans(), st.data())
def test_what_git_knows_is_not_done_again_though_the_journal_lost_it(plan: Plan, data: st.DataObject) -> None:
    world = World(plan)
    stop = data.draw(st.integers(0, 120))
    for _ in range(stop):
        wanted = world.due()
        if any(isinstance(effect, e.Finish) for effect in wanted):
            break
        for effect in wanted[:1]:
            world.perform(effect)
        if not wanted:
            world.agents()
    world.kill()
    for name, known in world.known.items():
        if name in world.git.done or known.branch in world.git.branches:
            lost = data.draw(st.sampled_from(["nothing", "status", "quality", "everything"]))
            known.status = IN_PROGRESS if lost in ("status", "everything") else known.status
            known.merged = known.merged and lost not in ("status", "everything")
            known.qa = None if lost in ("quality", "everything") else known.qa
    assert play(world) == e.Finish("completed")
    assert sorted(world.merges) == sorted(name for wave in plan.waves for name in wave)
    assert len(set(world.said)) == len(world.said)


def one(checks: tuple[str, ...] = (), reviewer: str = "") -> Plan:
    return arrange([Task("a", "a", "do it", "scripted", (), checks, reviewer)], needs={}, after={}, waves=None)


def test_a_task_that_never_passes_fails_after_the_rounds_of_the_mode() -> None:
    for mode, rounds in (("strict", 3), ("standard", 2)):
        world = World(one(("check",)), mode=mode, issues=lambda _task, _round: ("bad",))  # type: ignore[arg-type]
        assert play(world) == e.Finish("error", "task a failed: bad")
        assert world.known["a"].qa == Qa("failed", rounds, ["bad"], f"work/shop/a@{rounds}")
        assert len(world.said) == rounds


def test_a_fast_run_checks_nothing() -> None:
    world = World(one(("check",)), mode="fast", issues=lambda _task, _round: ("bad",))
    assert play(world) == e.Finish("completed")


def test_a_task_mended_in_the_second_round_is_merged() -> None:
    world = World(one(("check",), "scripted"), issues=lambda _task, round_: ("bad",) if round_ == 1 else ())
    assert play(world) == e.Finish("completed")
    assert [prompt for _, prompt in world.said] == ["round/1", "round/2", "review/work/shop/a@"]
    assert "- bad" in world.sessions[world.said[0][0]].prompts[-1].text


def test_a_conflict_is_put_to_an_agent_and_then_merged_once() -> None:
    world = World(one(), conflicts=frozenset({"a"}))
    assert play(world) == e.Finish("completed")
    assert world.merges == ["a"]
    assert world.said[-1][1].startswith("merge/")


def test_a_conflict_that_no_agent_resolves_waits_for_a_person() -> None:
    world = World(one(), conflicts=frozenset({"a"}), turn=lambda prompt: "failed" if "merge" in prompt else "done")
    end = play(world)
    assert end.reason == "error" and "a.txt" in end.message
    assert world.merges == []
    world.memory.problems.clear()
    assert world.git.merging is not None
    world.git = replace(world.git, merging=replace(world.git.merging, conflicts=()))
    assert play(world) == e.Finish("completed")


@pytest.mark.parametrize("is_committed", [False, True])
def test_files_without_conflicts_are_not_merged_while_an_agent_is_still_at_them(is_committed: bool) -> None:
    """It may look at what it did, or be killed half-way: only the end of its turn says that it is content."""
    world = World(one(), conflicts=frozenset({"a"}), turn=lambda prompt: "works on" if "merge" in prompt else "done")
    while wanted := world.due():
        world.perform(wanted[0])
        world.agents()
    assert world.git.merging is not None
    world.git = replace(world.git, merging=None if is_committed else replace(world.git.merging, conflicts=()))
    assert world.due() == [] and world.merges == []
    world.turn = lambda _prompt: "died"
    world.agents()
    assert isinstance(world.due()[0], e.Revive)


def taken_over(world: World) -> World:
    """There are commits on the branch of task a, and no session of ours: another orchestrator's, or a lost store."""
    for effect in (e.MakeFeature(), e.Prepare("a", "work/shop/a", "")):
        world.perform(effect)
    world.work("work/shop/a")
    world.perform(e.Commit("a", "work/shop/a", 1, "0"))
    return world


def test_work_of_an_unknown_agent_is_resumed_by_one_that_is_told_what_the_branch_holds() -> None:
    world = taken_over(World(one()))
    branch = replace(world.git.branches["work/shop/a"], subjects=("1234567 Half of it",))
    world.git = replace(world.git, branches={branch.name: branch})
    assert play(world) == e.Finish("completed")
    [(session, _)] = world.said
    assert "1234567 Half of it" in world.sessions[session].prompts[0].text


@pytest.mark.parametrize("said", ["passed", "complete"])
def test_work_that_is_known_to_be_finished_needs_no_agent(said: str) -> None:
    world = taken_over(World(one()))
    tip = world.git.branches["work/shop/a"].tip
    if said == "passed":
        world.known["a"].qa = Qa("passed", 1, [], tip)
    else:
        world.known["a"].status = COMPLETE
    assert play(world) == e.Finish("completed")
    assert (world.said, world.merges) == ([], ["a"])


def test_a_verdict_counts_for_its_own_commit_alone() -> None:
    """Passed, and then somebody commits: what is merged was checked and reviewed as it is."""
    world = World(one(("check",), "scripted"))
    while not isinstance(wanted := next(iter(world.due()), None), e.Merge):
        world.perform(wanted) if wanted is not None else world.agents()
    branch = world.git.branches["work/shop/a"]
    world.git = replace(world.git, branches={branch.name: replace(branch, tip="theirs", commits=2)})
    world.kill()
    done: list[e.Effect] = []
    while not isinstance(wanted := next(iter(world.due()), None), e.Merge):
        done += [wanted] if wanted is not None else []
        world.perform(wanted) if wanted is not None else world.agents()
    assert wanted.tip == "theirs"
    assert [type(one) for one in done if isinstance(one, e.RunChecks | e.ReadVerdict | e.Judge)] == [
        e.RunChecks,
        e.ReadVerdict,
        e.Judge,
    ]
    assert play(world) == e.Finish("completed")


@pytest.mark.parametrize("phase", ["working", "finished"])
def test_a_branch_that_another_hand_merged_is_reported_and_its_agent_goes_on(phase: str) -> None:
    world = begun(World(one(("check",)), issues=lambda _task, round_: ("bad",) if round_ == 1 else ()))
    world.turn = lambda _prompt: "works on"
    world.agents()
    branch = replace(world.git.branches["work/shop/a"], tip="first", commits=1, merged=True)
    world.git = replace(world.git, branches={branch.name: branch})
    [notice] = world.due()
    assert isinstance(notice, e.Notice) and "by somebody else, before it was checked" in notice.message
    world.perform(notice)
    assert world.due() == [] and world.merges == [], "its agent is in the middle of its turn"
    if phase == "finished":
        world.turn = lambda _prompt: "done"
    else:
        world.turn = lambda prompt: "done" if prompt != "round/1" or len(world.said) > 1 else "died"
    assert play(world) == e.Finish("completed")
    assert world.merges == ["a"], "what was brought in unchecked is checked after the fact, mended, and merged by us"
    assert [prompt for _, prompt in world.said] == ["round/1", "round/2"]


def test_work_that_fails_although_another_hand_merged_it_is_named() -> None:
    world = begun(World(one(("check",)), issues=lambda _task, _round: ("bad",)))
    while world.known["a"].status != FAILED:
        wanted = next(iter(world.due()), None)
        if isinstance(wanted, e.Fail):
            assert "is in feature/shop already, by somebody else" in wanted.error
        world.perform(wanted) if wanted is not None else world.agents()
        if branch := world.git.branches.get("work/shop/a"):
            world.git = replace(world.git, branches={branch.name: replace(branch, merged=branch.commits > 0)})
    assert world.merges == []


@given(plans(), st.data())
def test_a_merge_that_was_taken_out_of_the_feature_is_made_again_before_anything_that_needs_it(
    plan: Plan, data: st.DataObject
) -> None:
    world = World(plan)
    lost = data.draw(st.sampled_from([task.id for task in plan.tasks]))
    while not isinstance(wanted := next(iter(world.due()), None), e.Finish):
        world.perform(wanted) if wanted is not None else world.agents()
        if isinstance(wanted, e.Settle) and wanted.task == lost:
            break
    said = list(world.said)
    world.take_out(lost)
    world.memory = RunMemory()
    before = len(world.merges)
    for _ in range(20):
        if len(world.merges) > before:
            break
        [wanted, *_] = world.due()
        assert not isinstance(wanted, e.Assign), "nobody works before what is missing is back"
        world.perform(wanted)
    assert world.merges[before:] == [lost]
    assert world.said == said
    assert play(world) == e.Finish("completed")


def test_what_changes_for_ever_is_not_committed_for_ever() -> None:
    """A process that an agent left behind writes to its worktree, look after look."""
    world = World(one())
    for _ in range(100):
        wanted = next(iter(world.due()), None)
        if isinstance(wanted, e.Finish):
            break
        if wanted is None:
            world.agents()
            continue
        world.perform(wanted)
        if isinstance(wanted, e.Commit):
            before = world.memory.committed.get(("a", wanted.round), ())
            world.memory.committed["a", wanted.round] = (*before, wanted.tip)
            [tree] = world.git.trees.values()
            world.git = replace(world.git, trees={tree.path: replace(tree, uncommitted=True)})
    assert wanted == e.Finish("error", f"task a: {world.memory.problems['a']}")
    assert "keeps writing to /work/shop/a" in world.memory.problems["a"]


def test_what_checks_leave_behind_is_not_committed_while_they_are_repeated() -> None:
    world = World(one(("check",)))
    while not isinstance(wanted := next(iter(world.due()), None), e.RunChecks):
        world.perform(wanted) if wanted is not None else world.agents()
    [tree] = world.git.trees.values()
    dirty = {tree.path: replace(tree, uncommitted=True)}
    world.git = replace(world.git, trees=dirty, checking=frozenset({"a"}))
    world.kill()
    assert world.due() == [e.CloseChecks("a")], "they were cut: what is there by then is theirs, and nothing later"
    world.perform(e.CloseChecks("a"))
    world.git = replace(world.git, trees={tree.path: replace(tree, uncommitted=False)})
    assert world.due() == [wanted]


def asking(world: World, task: str) -> str:
    """Have a task's agent ask for something in the middle of its turn; returns its session."""
    [name] = [name for name, one in world.sessions.items() if one.task == task]
    world.turn = lambda _prompt: "works on"
    world.agents()
    question = f.PermissionAsked(at=0, attempt=1, request="1", title="rm -r build", kind="execute", options=[])
    world.sessions[name] = told(world.sessions[name], question)
    return name


def begun(world: World) -> World:
    """A world whose agents have their first prompt."""
    while wanted := world.due():
        world.perform(wanted[0])
    return world


def test_an_agent_that_asks_is_reported_once_and_waited_for() -> None:
    world = begun(World(one()))
    name = asking(world, "a")
    [report] = world.due()
    assert report == e.Report("a", name, "rm -r build")
    world.perform(report)
    assert world.due() == []


def test_while_an_agent_works_its_worktree_is_its_own() -> None:
    """It may rebase, which detaches its HEAD, or look at another branch."""
    world = begun(World(one()))
    world.turn = lambda _prompt: "works on"
    world.agents()
    [tree] = world.git.trees.values()
    world.git = replace(world.git, trees={tree.path: replace(tree, branch=None)})
    assert world.due() == []
    world.turn = lambda _prompt: "died"
    world.agents()
    assert isinstance(world.due()[0], e.Prepare)


def removed(world: World, *, commits: int) -> str:
    """Somebody removes the worktree of task a while its agent works, which then finishes; returns its session."""
    begun(world)
    world.agents()
    branch = replace(world.git.branches["work/shop/a"], tip="half", commits=commits)
    world.git = replace(world.git, trees={}, branches={branch.name: branch}, removed=frozenset({"a"}))
    return world.said[0][0]


@given(st.integers(0, 3), st.booleans(), st.booleans())
def test_a_turn_that_ended_in_a_removed_worktree_is_not_complete_and_a_person_is_asked(
    commits: int, had_passed: bool, is_killed: bool
) -> None:
    world = World(one(("check",)))
    removed(world, commits=commits)
    if had_passed:
        world.known["a"].qa = Qa("passed", 1, [], "older")
    if is_killed:
        world.kill()
    end = play(world)
    assert end.reason == "error" and "in no commit and in no snapshot" in end.message
    assert (world.merges, world.known["a"].status) == ([], IN_PROGRESS)
    assert not any(session.is_up for session in world.sessions.values())


def test_work_that_a_snapshot_of_the_end_of_the_turn_has_goes_on_though_its_worktree_was_removed() -> None:
    world = World(one(("check",)))
    world.kept = frozenset({removed(world, commits=1)})
    assert play(world) == e.Finish("completed")
    assert world.merges == ["a"]


@pytest.mark.parametrize("has_passed", [False, True])
def test_a_branch_that_shares_no_commit_with_the_feature_is_asked_about_and_not_merged(has_passed: bool) -> None:
    world = begun(World(one(("check",))))
    world.turn = lambda _prompt: "works on"
    world.agents()
    branch = replace(world.git.branches["work/shop/a"], tip="root", commits=1, merged=False, unrelated=True)
    world.git = replace(world.git, branches={branch.name: branch})
    assert world.due() == [], "its agent may still put it right"
    world.turn = lambda _prompt: "done"
    if has_passed:
        world.known["a"].qa = Qa("passed", 1, [], "root")
    while not isinstance(wanted := next(iter(world.due()), None), e.Block):
        assert not isinstance(wanted, e.Merge | e.Settle | e.Finish)
        world.perform(wanted) if wanted is not None else world.agents()
    assert wanted.is_blocker and "no commit in common with feature/shop" in wanted.problem


def test_work_that_has_passed_needs_no_worktree() -> None:
    world = World(one(("check",)))
    removed(world, commits=1)
    world.known["a"].qa = Qa("passed", 1, [], "half")
    assert play(world) == e.Finish("completed")


def test_an_agent_that_a_person_has_told_what_to_do_goes_on_where_its_worktree_was_removed() -> None:
    world = World(one(("check",)))
    session = removed(world, commits=1)
    play(world)
    world.memory = RunMemory()
    world.known["a"].told, world.known["a"].instructions = "cafe0001", "write the second half again"
    assert play(world) == e.Finish("completed")
    assert [name for name, _ in world.said] == [session, session]
    assert "write the second half again" in world.sessions[session].prompts[-1].text


def test_conflicts_that_an_agent_leaves_are_put_to_it_and_not_committed() -> None:
    world = begun(World(one()))
    world.agents()
    [tree] = world.git.trees.values()
    world.git = replace(world.git, trees={tree.path: replace(tree, conflicts=("a.txt",))})
    world.perform(world.due()[0])
    [judged] = world.due()
    assert isinstance(judged, e.Judge) and "a.txt" in judged.issues[0]
    world.perform(judged)
    world.git = replace(world.git, trees={tree.path: replace(tree, conflicts=())})
    assert play(world) == e.Finish("completed")
    assert len(world.said) == 2


def test_what_cannot_be_committed_is_tried_once() -> None:
    world = begun(World(one()))
    world.agents()
    world.perform(world.due()[0])
    [commit] = world.due()
    assert isinstance(commit, e.Commit)
    world.memory.committed["a", 1] = (commit.tip,)
    assert not any(isinstance(one, e.Commit) for one in world.due())


def test_merged_work_that_cannot_be_cleared_away_ends_the_run_and_is_no_loop() -> None:
    world = begun(World(one()))
    while not isinstance(wanted := next(iter(world.due()), None), e.Settle):
        world.perform(wanted) if wanted is not None else world.agents()
    world.memory.problems["a"] = "its agent does not end"
    assert world.due() == [e.Finish("error", "task a: its agent does not end")]


def test_a_task_that_was_done_without_a_branch_is_done() -> None:
    world = World(one())
    world.known["a"].status = COMPLETE
    assert play(world) == e.Finish("completed")
    assert (world.said, world.merges) == ([], [])


@given(plans(), st.sets(st.sampled_from(NAMES)))
def test_after_skipping_everybody_else_has_what_they_need(plan: Plan, chosen: set[str]) -> None:
    found = skip(plan, chosen)
    out = chosen | set(found.cannot_run)
    for name, missing in found.cannot_run.items():
        assert missing in out and missing in plan.needs[name]
    for task in plan.tasks:
        if task.id not in out:
            assert not out.intersection(plan.needs.get(task.id, ()))
            assert not out.intersection(found.plan.after.get(task.id, ()))


@given(plans(), st.data())
def test_a_task_that_only_waits_for_a_person_is_not_overtaken_by_later_ones_of_its_wave(
    plan: Plan, data: st.DataObject
) -> None:
    stuck = data.draw(st.sampled_from([task.id for task in plan.tasks]))
    world = World(plan)
    for _ in range(data.draw(st.integers(0, 60))):
        for effect in world.due()[:1]:
            if not isinstance(effect, e.Finish):
                world.perform(effect)
        world.agents()
    world.memory.problems[stuck] = "git was killed"
    order = [name for wave in plan.waves for name in wave]
    play(world)
    assert world.merges == order[: len(world.merges)]
    world.kill()
    assert play(world) == e.Finish("completed")
    assert world.merges == order


@given(plans(), st.sets(st.sampled_from(NAMES)), KILLS)
def test_a_task_that_rightly_changes_nothing_is_done_once_and_not_merged(
    plan: Plan, idle: set[str], kills: frozenset[int]
) -> None:
    undisturbed, killed = World(plan, idle=frozenset(idle)), World(plan, idle=frozenset(idle))
    assert play(undisturbed) == play(killed, kills) == e.Finish("completed")
    order = [name for wave in plan.waves for name in wave]
    assert killed.merges == undisturbed.merges == [name for name in order if name not in idle]
    assert {name for name, known in killed.known.items() if known.unchanged} == idle & set(order)
    assert set(killed.said) == set(undisturbed.said) and len(set(killed.said)) == len(killed.said)


def test_a_task_that_changes_nothing_and_does_not_pass_has_failed() -> None:
    world = World(one(("check",)), idle=frozenset({"a"}), issues=lambda _task, _round: ("bad",))
    assert play(world) == e.Finish("error", "task a failed: bad")
    assert not world.known["a"].unchanged


@pytest.mark.parametrize("phase", ["works on", "died", "failed"])
def test_a_task_whose_agent_has_not_finished_is_not_done_without_a_change(phase: str) -> None:
    world = begun(World(one(), idle=frozenset({"a"})))
    world.turn = lambda _prompt: phase
    for _ in range(20):
        world.agents()
        for effect in world.due()[:1]:
            assert not isinstance(effect, e.Settle | e.RunChecks | e.Judge)
            world.perform(effect)
    assert world.known["a"].status != COMPLETE


def test_what_could_not_be_committed_is_not_called_nothing() -> None:
    world = begun(World(one(), idle=frozenset({"a"})))
    world.agents()
    world.perform(world.due()[0])
    [tree] = world.git.trees.values()
    world.git = replace(world.git, trees={tree.path: replace(tree, withheld=True)})
    [judged] = world.due()
    assert isinstance(judged, e.Judge) and "could not be committed" in judged.issues[0]
