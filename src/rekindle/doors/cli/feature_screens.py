"""What a person reads about a feature's resume: what was found, what is asked, what was decided, how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.amounts import used
from rekindle.doors.cli.measure import counted
from rekindle.doors.cli.next_step import next_step

Told = dict[str, Any]

_CASE = {
    "A": "a checkpoint and no open issues",
    "B": "issues after the last checkpoint",
    "C": "no checkpoint",
}
_NOTHING_ASKED = "  no input needed"
#: Only errors are reported with a resolved or unresolved state.
_MAY_BE_RESOLVED = ("error.encountered", "agent.error")
_TEAM = {
    "reused": "it lists the agents, and is used unchanged",
    "lacks agents": "it does not list all agents; a resume writes a new one and keeps the old one",
    "missing": "there is none; a resume writes one",
}


def onward(told: Told) -> Iterator[str]:
    """Nothing is asked: case A."""
    checkpoint = told["checkpoint"] or {}
    yield f'Resume of feature "{printable(told["feature"])}":'
    yield f'  checkpoint "{printable(str(checkpoint.get("label")))}" found'
    yield "  no open errors, blockers or failures after it"
    yield f"  next step: {printable(str(told['next_step'] or 'the next planned one'))}"
    if not told["locks"] and not any(row["state"] == "asked" for row in told["strays"]):
        yield _NOTHING_ASKED


def question(told: Told) -> Iterator[str]:
    """Somebody has to decide: cases B and C."""
    title = f'Resume analysis for feature "{printable(told["feature"])}":'
    yield title
    yield "=" * len(title)
    yield ""
    if told["case"] == "B":
        checkpoint = told["checkpoint"]
        yield f'Last checkpoint: "{printable(str(checkpoint["label"]))}" (seq {checkpoint["seq"]})'
        yield ""
        yield "Issues found after the checkpoint:"
        for number, issue in enumerate(told["issues"], start=1):
            yield f"  {number}. {_issue(issue)}"
    else:
        yield "No checkpoint found: the run was interrupted early."
        yield ""
        yield "State of the run:"
        begun = [row for row in told["tasks"] if row["action"] not in ("not begun", "done")]
        done = [row for row in told["tasks"] if row["action"] == "done"]
        yield f"  - plan: {'yes' if told.get('has_plan', True) else 'no'}"
        named = [f"{printable(row['name'])}: {told['states'].get(row['name'], 'PENDING')}" for row in begun]
        yield f"  - tasks begun: {len(begun)}" + (f" ({', '.join(named)})" if begun else "")
        yield f"  - tasks merged: {len(done)}"
        yield ""
        if told.get("has_plan", True):
            yield "Recommended: start over with the plan of the interrupted run (A)."
            yield f"To see that plan: rekindle resume {quoted(told['feature'])} --explain"
        else:
            yield "Recommended: start over. The journal has no plan; give one: --choose B --plan FILE"
    if told["active_agents"]:
        yield ""
        yield "Agents at work when it was interrupted:"
        yield from (f"  - {printable(name)}" for name in told["active_agents"])
    yield ""
    yield "Options:"
    affected = ", ".join(map(printable, told["affected"]))
    for option in told["options"]:
        yield f"  {option['key']}. {option['title']}: {printable(option['effect'])}"
    if affected:
        yield f"  (affected: {affected})"
    yield ""


def _issue(issue: Told) -> str:
    about = [f"task {printable(issue['task'])}"] if issue["task"] else []
    about += [printable(issue["place"])] if issue["place"] else []
    where = f"{', '.join(about)}: " if about else ""
    more = [f"attempts: {issue['attempts']}"] if issue["attempts"] else []
    more += [f"resolved: {str(issue['resolved']).lower()}"] if issue["type"] in _MAY_BE_RESOLVED else []
    tried = f" ({', '.join(more)})" if more else ""
    return f"[{issue['type']}] {where}{printable(issue['message'])}{tried}"


def foreign(told: Told, permission: str) -> Iterator[str]:
    """A journal that nobody here wrote: everything that it would run and say."""
    yield f'The journal of "{printable(told["feature"])}" was not written by your rekindle on this machine.'
    yield f"A resume would give its agents the permission {permission}, and use these commands and prompts:"
    yield from _orders(told["orders"])
    yield ""


def _orders(given: Told | None) -> Iterator[str]:
    if given is None:
        yield "  none: it has no plan"
        return
    yield f"  mode {given['mode']}"
    for title in ("lint", "checks"):
        yield from (f"  after each wave ({title}): {printable(command)}" for command in given[title])
    for task in given["tasks"]:
        yield f"  task {printable(task['id'])}, agent {printable(task['agent'])}, branch {printable(task['branch'])}"
        for title, text in (("prompt", task["prompt"]), ("added by a person", task["instructions"])):
            yield from (f"    {title}: {printable(line)}" for line in text.splitlines())
        yield from (f"    issue to fix: {printable(issue)}" for issue in task["issues"])
        yield from (f"    about the file: {printable(file)}" for file in task["files"])
        yield from (f"    check: {printable(command)}" for command in task["checks"])
        if task["reviewer"]:
            yield f"    reviewer {printable(task['reviewer'])}: {printable(task['review'])}"


_FROM = {
    "record": "as its journal says",
    "settings": "as your settings say",
    "built in": "the practice agent, because no agent is set; a resume says so, or asks which one",
}


def _terms(told: Told) -> Iterator[str]:
    """Who works on the tasks that name no agent of ours, and what new sessions get."""
    terms = told["terms"]
    if told["unstaffed"]:
        tasks = ", ".join(map(printable, told["unstaffed"]))
        yield f"  tasks that name no agent ({tasks}): {printable(terms['agent'])}, {_FROM[told['agent_from']]}"
    yield f"  new sessions get: {allowed(terms)}"


def allowed(terms: Told) -> str:
    """What a session may do and use, in words."""
    limits = terms.get("limits") or {}
    named = [f"{name.replace('_', ' ')} {value:g}" for name, value in limits.items()]
    return f"permission {terms['permission']}" + (f", limits: {', '.join(named)}" if named else "")


def strays(told: Told, task: str = "") -> Iterator[str]:
    """Work that is not on its task's branch: of one task, or of all."""
    rows = [row for row in told["strays"] if task in ("", row["task"])]
    for name in dict.fromkeys(row["task"] for row in rows):
        yield f"Work of task {printable(name)} that is not on its branch:"
        yield from (f"  {_stray(row)}" for row in rows if row["task"] == name)


def _stray(row: Told) -> str:
    commit = f"{row['commit'][:10]} " if row["commit"] else ""
    out = ", left out" if row.get("state") == "left out" else ""
    return f"{commit}{printable(row['subject'])} ({printable(row['where'])}{out})"


def explanation(told: Told) -> Iterator[str]:
    """Everything that a resume would do: `--explain`."""
    again = f"rekindle resume {quoted(told['feature'])}"
    case = f"case {told['case']}, {_CASE[told['case']]}"
    yield f'Feature "{printable(told["feature"])}", run {printable(str(told["run"]))}: {case}'
    yield f"  its work is merged into {printable(told['branch'])}"
    if told["case"] == "A":
        yield from (f"  {line.strip()}" for line in list(onward(told))[1:] if line != _NOTHING_ASKED)
    else:
        for issue in told["issues"]:
            yield f"  {_issue(issue)}"
        for option in told["options"]:
            yield f"  {option['key']}. {option['title']}: {printable(option['effect'])}"
        if told.get("has_plan", True):
            yield f"  a resume asks which; to choose A at once: {again} --choose A"
        else:
            yield f"  the journal has no plan; give one: {again} --choose B --plan FILE"
        if told["case"] == "C" and told.get("has_plan", True):
            yield "  the rows below show what C does; A and B start every task over, and keep the old branches"
    for title, key in (("Tasks", "tasks"), ("Branches", "branches"), ("Worktrees", "worktrees")):
        if told[key]:
            yield f"{title}:"
            width = max(len(printable(row["name"])) for row in told[key])
            for row in told[key]:
                yield f"  {printable(row['name']):<{width}}  {row['action']}: {row['why']}"
    yield from strays(told)
    asked = dict.fromkeys(row["task"] for row in told["strays"] if row["state"] == "asked")
    for name in map(quoted, asked):
        yield f"  a resume asks about it: {again} --take {name}, or --leave {name}"
    yield "Commands and prompts that it would use, if the mode requires them and a task still needs them:"
    yield from _orders(told["orders"])
    yield from _terms(told)
    if told["unapproved"] is not None:
        yield "Its journal was not written by your rekindle on this machine: a resume asks first. To approve it:"
        yield f"  rekindle resume {quoted(told['feature'])} --trust {told['unapproved'][:12]}"
    for lock in told["locks"]:
        yield f"A lock is in the way: {printable(lock)}"
    if told["locks"]:
        yield f"  a resume asks; to remove the locks of killed git commands: {again} --remove-locks"
    yield f"Team file: {_TEAM[told['team']]}"
    for warning in told["warnings"]:
        yield f"Warning: {printable(warning)}"


def decided(told: Told) -> Iterator[str]:
    """What a resume has done before agents start."""
    before = printable(str(told["resumes"]))
    what = (
        f"starts over what run {before} began" if told["choice"].startswith("restart") else f"goes on with run {before}"
    )
    yield f"Run {told['sid']} {what} (team file: {told['team']})."
    for title, key in (("task", "tasks"), ("branch", "branches"), ("worktree", "worktrees")):
        for row in told[key]:
            if row["action"] not in ("nothing", "not begun", "done", "go on"):
                yield f"  {title} {printable(row['name'])}: {row['action']} ({row['why']})"
    for name in told["lost"]:
        yield f"  task {printable(name)}: started over, because nothing of its work was found"
    for warning in told["warnings"]:
        yield f"  warning: {printable(warning)}"


def finished(told: Told, plan_file: str) -> Iterator[str]:
    """A plan that was worked on before: nothing is started."""
    name, count = quoted(told["feature"]), len(told["tasks"])
    merged = sum(task["state"] == "merged" for task in told["tasks"])
    yield (
        f"Feature {printable(told['feature'])} is finished: run {told['sid']} completed this plan, "
        f"{merged} of {count} {'task' if count == 1 else 'tasks'} merged into {printable(told['branch'])}."
    )
    yield f"  Nothing was started. To see what was done: rekindle analyze {name}"
    yield f"  To run it again with new agents: rekindle run --plan {quoted(plan_file)} --again"


def _leftovers(told: Told) -> Iterator[str]:
    """What remains of tasks when the feature is done: why it is kept, and the command that deletes it."""
    for left in told["leftovers"]:
        where = f" in {printable(left['path'])}" if left["path"] else ""
        only = " and ".join(map(printable, left["only_there"]))
        yield f"  left over: {printable(left['branch'])}{where}" + (f", kept because it has {only}" if only else "")
        yield f"    to delete it{' with that work' if only else ''}: {printable(left['removal'])}"


def ended(told: Told) -> Iterator[str]:
    """How a run ended, with the receipts of everything that was brought back in it."""
    receipts = [(task["id"], receipt) for task in told["tasks"] for receipt in task["receipts"]]
    if receipts:
        yield "Receipts:"
    for task, receipt in receipts:
        place = f"session {receipt['session']}, attempt {receipt['attempt']}"
        yield f"  task {printable(task)}, {place}: {receipt['kind']} ({printable(receipt['reason'])})"
        for line in (*receipt["unknown"], *receipt["repeated"]):
            yield f"    - {printable(line)}"
    for task in told["tasks"]:
        for row in task["left_out"]:
            yield f"Left out of task {printable(task['id'])}: {_stray(row)}"
    name = printable(told["feature"])
    merged = sum(task["state"] == "merged" for task in told["tasks"])
    if told["reason"] == "completed":
        skipped = [printable(task["id"]) for task in told["tasks"] if task["state"] == "skipped"]
        idle = [printable(task["id"]) for task in told["tasks"] if task["state"] == "unchanged"]
        without = f"; done without changes: {', '.join(idle)}" if idle else ""
        without += f"; skipped: {', '.join(skipped)}" if skipped else ""
        into, tasks = printable(told["branch"]), counted(len(told["tasks"]), "task")
        amounts = ", ".join([duration(told["seconds"]), *used(told["tokens"], told["cost"])])
        yield f"{name}: completed, {merged} of {tasks} merged into {into}{without}. ({amounts})"
        if merged:
            yield "  " + next_step(f"git merge {quoted(told['branch'])}")
            yield f"  (first look: git diff HEAD...{quoted(told['branch'])})"
        yield from _leftovers(told)
        return
    how = "stopped" if told["reason"] == "user_cancelled" else told["reason"]
    yield f"{name}: {how}" + (f": {printable(told['message'])}" if told["message"] else "")
    if told["reason"] in ("error", "user_cancelled"):
        yield "  " + next_step(f"rekindle resume {quoted(told['feature'])}")
