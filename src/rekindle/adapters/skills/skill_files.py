"""Skills in `.claude/skills/NAME/SKILL.md`: of the repository first, then of the user's home.

The front matter (YAML) declares the phases; a `skill.toml` beside it may say the same. Both are data from anywhere:
limits on size and depth, no tags, no aliases, no links that lead out.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from rekindle import files
from rekindle.core.names import why_not
from rekindle.core.skill import plain_json
from rekindle.core.skill.skill import BadSkill, Skill, skill_of
from rekindle.ports.skills import NoSuchSkill

MANUAL, TABLE = "SKILL.md", "skill.toml"
_LARGEST = 1 << 20
_LONGEST_FRONT = 64 << 10
_DEEPEST = 30
_MOST = 500


class SkillFilesHere:
    """The skills of some folders, each `…/.claude/skills`; the first one that has a skill counts."""

    def __init__(self, places: Sequence[str]) -> None:
        self._places = places

    def load(self, name: str) -> Skill:
        """What a skill declares."""
        problem = why_not(name)
        if problem is not None:
            raise NoSuchSkill(f"the skill name {name!r} {problem}", "give the name of a folder in .claude/skills")
        for place in self._places:
            folder = os.path.join(place, name)
            if os.path.lexists(os.path.join(folder, MANUAL)) or os.path.lexists(os.path.join(folder, TABLE)):
                return self._read(name, folder)
        known = ", ".join(list(self.names())[:10]) or "none"
        looked = " and ".join(self._places)
        raise NoSuchSkill(
            f"there is no skill {name!r}", f"known: {known}; a skill is a folder with {MANUAL} in {looked}"
        )

    def names(self) -> dict[str, str]:
        """All skills with their descriptions."""
        found: dict[str, str] = {}
        for place in self._places:
            try:
                names = sorted(os.listdir(place))[:_MOST]
            except OSError:
                continue
            for name in names:
                folder = os.path.join(place, name)
                is_skill = why_not(name) is None and any(
                    os.path.isfile(os.path.join(folder, one)) for one in (MANUAL, TABLE)
                )
                if is_skill and name not in found:
                    found[name] = self._described(name, folder)
        return found

    def _described(self, name: str, folder: str) -> str:
        try:
            return self._read(name, folder).description
        except NoSuchSkill as error:
            return f"cannot be used: {error.message}"

    def _read(self, name: str, folder: str) -> Skill:
        manual, table = os.path.join(folder, MANUAL), os.path.join(folder, TABLE)
        front = _front_matter(manual)
        said = _table(table)
        if "phases" in front and said is not None and "phases" in said:
            raise NoSuchSkill(f"{table}: phases are declared in {MANUAL} too", "declare them in one of the two")
        place = table if said is not None and "phases" in said else manual
        for path, found in ((manual, front), (table, said)):
            _check_numbers(path, found)
        try:
            return skill_of(name, {**front, **(said or {})}, manual if os.path.exists(manual) else table)
        except BadSkill as error:
            raise NoSuchSkill(
                f"{place}: {error.key}: {error.message}", error.hint, code="bad_skill", details={"key": error.key}
            ) from error


def _front_matter(path: str) -> Mapping[str, Any]:
    text = _text(path)
    if text is None or not text.startswith("---"):
        return {}
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        raise NoSuchSkill(f"{path}: the front matter has no end", "close it with a line of three dashes")
    front = "\n".join(lines[1:end])
    if len(front) > _LONGEST_FRONT:
        raise NoSuchSkill(f"{path}: the front matter has more than {_LONGEST_FRONT} characters", "shorten it")
    try:
        found = yaml.load(front, Loader=_PlainLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NoSuchSkill(
            f"{path}: the front matter is not valid YAML: {_where(error)}", "fix it", code="bad_skill"
        ) from error
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise NoSuchSkill(f"{path}: the front matter is not a table of names", "write lines such as phases: [...]")
    return found


def _table(path: str) -> Mapping[str, Any] | None:
    text = _text(path)
    if text is None:
        return None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoSuchSkill(f"{path}: is not valid TOML ({error})", "fix it", code="bad_skill") from error


def _check_numbers(path: str, found: object) -> None:
    """Refuse numbers that nobody can write down: not even a message could name them."""
    below: list[object] = [found]
    while below:
        one = below.pop()
        if isinstance(one, Mapping):
            below += one.values()
        elif isinstance(one, list):
            below += one
        elif not plain_json.is_writable(one):
            raise NoSuchSkill(f"{path}: holds a number that is too large", "use a smaller one", code="bad_skill")


def _text(path: str) -> str | None:
    """The text of a plain file; None if there is none."""
    try:
        return files.read_short(path, _LARGEST).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise NoSuchSkill(f"{path}: is not UTF-8", "save it as UTF-8", code="bad_skill") from error
    except OSError as error:
        raise NoSuchSkill(
            f"{path}: cannot be read ({error.strerror})", "make it a plain file", code="bad_skill"
        ) from error


class _PlainLoader(yaml.SafeLoader):
    """Plain values only: no tags, no anchors and aliases (which grow without end), no deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise yaml.YAMLError(f"line {event.start_mark.line + 2}: anchors and aliases are not allowed")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise yaml.YAMLError(f"line {event.start_mark.line + 2}: tags are not allowed")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} levels deep")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Keys as they are written: `- 5.10: Name` is the label 5.10, not the number 5.1."""
        found = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.YAMLError(f"line {key.start_mark.line + 2}: a key is not a text")
            if key.value in found:
                raise yaml.YAMLError(f"line {key.start_mark.line + 2}: {key.value!r} is given twice")
            found[key.value] = self.construct_object(value, deep=True)
        return found


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 2}: {getattr(error, 'problem', '') or 'not readable'}"
    return " ".join(str(error).split())[:200] or "nested too deeply"
