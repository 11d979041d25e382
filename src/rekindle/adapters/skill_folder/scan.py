"""The artifact scan: a listing, the end of the log, the plan's checkboxes. Reads no file whole, follows no link."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.core.skill import artifacts as a
from rekindle.core.skill.skill import SkillRules, upper


def scan(folder: str, rules: SkillRules, skill: str) -> a.Artifacts:
    """What the artifacts of a session say."""
    log, plan, debrief = names(rules, skill)
    end = end_of(os.path.join(folder, log))
    steps = _beginning(os.path.join(folder, plan))
    return a.Artifacts(
        files=tuple(_listing(folder)),
        log=None if end is None else a.entries_of(end),
        plan=None if steps is None else a.steps_of(steps),
        debrief=os.path.isfile(os.path.join(folder, debrief)),
        log_end=end or "",
    )


def names(rules: SkillRules, skill: str) -> tuple[str, str, str]:
    """The names of log, plan and debrief."""
    begin = upper(skill)
    return rules.log or f"{begin}_LOG.md", rules.plan or f"{begin}_PLAN.md", rules.debrief or f"{begin}.md"


def end_of(path: str) -> str | None:
    """The end of a file from its first whole line on; None if there is no such file."""
    try:
        fd = files.open_to_read(path, follow=False)
    except OSError:
        return None
    try:
        size = os.fstat(fd).st_size
        start = max(size - a.LOG_TAIL, 0)
        text = os.pread(fd, a.LOG_TAIL, start).decode("utf-8", "replace")
    finally:
        os.close(fd)
    return text if start == 0 else text.partition("\n")[2]


def _beginning(path: str) -> str | None:
    try:
        fd = files.open_to_read(path, follow=False)
    except OSError:
        return None
    try:
        return os.pread(fd, a.PLAN_MOST, 0).decode("utf-8", "replace")
    finally:
        os.close(fd)


def _listing(folder: str) -> list[str]:
    """The names as `ls -F` shows them."""
    try:
        found = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return []
    shown = [one for one in found if not one.name.startswith(".")][: a.MOST_FILES]
    return [one.name + ("@" if one.is_symlink() else "/" if one.is_dir() else "") for one in shown]
