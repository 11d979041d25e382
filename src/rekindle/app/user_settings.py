"""The user's own settings: what is set and where, changed one by one, and as defaults of `rekindle run`.

A default is looked up when a session starts and is recorded with it: existing sessions keep theirs.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.core.inbox.settings import NotifySettings, notify_settings
from rekindle.core.setting_keys import SettingKey, SettingValue, is_notify
from rekindle.core.settings_text import NotToml, template, values_in, with_value, without
from rekindle.core.toml_lines import line_of
from rekindle.ports.errors import UsageError
from rekindle.ports.settings_file import SettingsFile


class SettingRow(msgspec.Struct, frozen=True):
    """A key with its effective value. `source`: where that comes from; `line` is the line in the user's file."""

    key: str
    value: SettingValue | None
    source: str
    line: int | None
    built_in: SettingValue | None
    allowed: tuple[str, ...]
    about: str


class UserSettings:
    """Reads and changes one settings file. Raises UsageError that names file, line, key and remedy."""

    def __init__(
        self,
        file: SettingsFile,
        keys: Mapping[str, SettingKey],
        run_keys: tuple[str, ...],
        environment: Mapping[str, str],
    ) -> None:
        self._file = file
        self.keys = keys
        self._run_keys = run_keys
        self._environment = environment

    @property
    def path(self) -> str:
        """Where the file is, or would be."""
        return self._file.path

    @property
    def exists(self) -> bool:
        """Whether there is such a file."""
        return self._file.read() is not None

    def listed(self) -> list[SettingRow]:
        """Every key with its effective value."""
        text = self._file.read() or ""
        values = self._values(text)
        return [self._row(key, text, values) for key in self.keys.values()]

    def get(self, name: str) -> SettingRow:
        """One key with its effective value."""
        text = self._file.read() or ""
        return self._row(self._key(name), text, self._values(text))

    def set(self, name: str, word: str) -> SettingRow:
        """Set a key in the file; the rest of the file stays as it is."""
        key = self._key(name)
        value = key.typed(word)
        if not key.is_valid(value):
            near = difflib.get_close_matches(word, key.choices, n=1)
            meant = f"did you mean {near[0]}? It is " if near else "use "
            raise UsageError(
                f"{_quoted(key, word)} is not a valid value of {key.name}",
                f"{meant}{key.expected}",
                details={"key": key.name, "allowed": list(key.choices)},
            )
        before = self._file.read() or ""
        try:
            after = with_value(before, key.name, value)
        except NotToml as error:
            raise self._not_toml(error) from error
        self._file.write(after, private=self._has_secrets(after))
        text = self._file.read() or ""
        return self._row(key, text, {key.name: value})

    def unset(self, name: str) -> bool:
        """Remove a key from the file; returns whether it was there. Unknown keys can be removed too."""
        before = self._file.read() or ""
        values = self._values(before)
        name = name if name in values else self._key(name).name
        if name not in values:
            return False
        after = without(before, name)
        self._file.write(after, private=self._has_secrets(after))
        return True

    def prepare(self) -> str:
        """The path of the file. If it does not exist, it is created: it then explains all keys and sets none."""
        if self._file.read() is None:
            self._file.write(template(self.keys))
        return self._file.path

    def check(self) -> None:
        """Check everything that the file sets."""
        text = self._file.read() or ""
        for name, value in self._values(text).items():
            self._checked(name, value, text)

    def run_defaults(self) -> dict[str, SettingValue]:
        """What the file sets for the options of `run`, by name. Values of other keys are not checked."""
        text = self._file.read()
        if text is None:
            return {}
        values = self._values(text)
        return {name: self._checked(name, values[name], text) for name in self._run_keys if name in values}

    def notify(self) -> NotifySettings:
        """Who is told what outside the terminal. A bad value is an error; other keys are not checked."""
        text = self._file.read()
        if text is None:
            return NotifySettings()
        values = self._values(text)
        found = notify_settings({name: self._checked(name, values[name], text) for name in values if is_notify(name)})
        if self._has_secrets(text) and self._file.is_shared():
            told = f"others can read the secrets in {self.path} — hide them: chmod 600 {shlex.quote(self.path)}"
            found = replace(found, problems=(*found.problems, told))
        return found

    def _has_secrets(self, text: str) -> bool:
        values = self._values(text)
        return any(key.secret and key.name in values for key in self.keys.values())

    def _row(self, key: SettingKey, text: str, values: Mapping[str, Any]) -> SettingRow:
        value, source, line = key.built_in, "built in" if key.built_in is not None else "not set", None
        if key.name in values:
            value, source = key.shown(self._checked(key.name, values[key.name], text)), "file"
            line = line_of(text, key.name)
        if key.variable is not None and self._environment.get(key.variable):
            value, source, line = self._environment[key.variable], key.variable, None
        return SettingRow(key.name, value, source, line, key.built_in, key.choices, key.about)

    def _values(self, text: str) -> dict[str, Any]:
        try:
            return values_in(text)
        except NotToml as error:
            raise self._not_toml(error) from error

    def _not_toml(self, error: NotToml) -> UsageError:
        return UsageError(f"{self.path}: is not valid TOML ({error})", "fix it: rekindle config edit")

    def _key(self, name: str) -> SettingKey:
        found = self.keys.get(name) or self.keys.get(name.replace("-", "_"))
        if found is None:
            near = difflib.get_close_matches(name, self.keys, n=1)
            known = f"did you mean {near[0]}?" if near else f"the settings are: {', '.join(self.keys)}"
            raise UsageError(
                f"there is no setting {name!r}",
                f"{known}; `rekindle config list` shows them all" if near else known,
                details={"key": name, "allowed": list(self.keys)},
            )
        return found

    def _checked(self, name: str, value: object, text: str) -> SettingValue:
        line = line_of(text, name)
        place = f"{self.path}, line {line}" if line is not None else self.path
        details: dict[str, object] = {"file": self.path, "line": line, "key": name}
        key = self.keys.get(name)
        if key is None:
            raise UsageError(
                f"{place}: there is no setting {name!r}",
                f"remove it: rekindle config unset {name}",
                details={**details, "allowed": list(self.keys)},
            )
        if not key.is_valid(value) or not isinstance(value, str | int | float):
            raise UsageError(
                f"{place}: {_quoted(key, value)} is not a valid value of {name}",
                f"use {key.expected}; or remove it: rekindle config unset {name}",
                details={**details, "allowed": list(key.choices)},
            )
        return value


def _quoted(key: SettingKey, value: object) -> str:
    """A value that is not valid, as a message may show it: an address may have a password in it."""
    return "this" if key.secret or "://" in str(value) else repr(value)
