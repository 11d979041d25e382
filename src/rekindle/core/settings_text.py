"""The text of a settings file: what it sets, and the same text with one value changed. Pure.

Everything that is not changed stays as it is, byte for byte: comments, order, blank lines.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from rekindle.core.setting_keys import SettingKey, SettingValue, ValueKind

_EXAMPLES: Final[dict[ValueKind, str]] = {
    "hours": "22:00-07:00",
    "clock": "07:30",
    "words": "/path/to/program",
    "url": "https://example.com/hook",
    "topic": "https://ntfy.sh/my-topic",
}


class NotToml(ValueError):
    """The text is not valid TOML; says where."""


def values_in(text: str) -> dict[str, Any]:
    """What a text sets. Raises NotToml."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from error
    except RecursionError:
        raise NotToml("it is nested too deeply") from None


def with_value(text: str, key: str, value: SettingValue) -> str:
    """The text with a key set. The comment after the old value stays. Raises NotToml."""
    import tomlkit

    values_in(text)
    document = tomlkit.parse(text if not text or text.endswith("\n") else f"{text}\n")
    document[key] = value
    return tomlkit.dumps(document)


def without(text: str, key: str) -> str:
    """The text without a key and the line that sets it. Raises NotToml."""
    import tomlkit

    if key not in values_in(text):
        return text
    document = tomlkit.parse(text)
    document.remove(key)
    return tomlkit.dumps(document)


def template(keys: Mapping[str, SettingKey]) -> str:
    """A settings file that sets nothing and explains everything."""
    lines = ["# Defaults of rekindle. Options on the command line win. See `rekindle config list`."]
    for key in keys.values():
        shown = key.built_in if key.built_in is not None else _example(key)
        lines += ["", f"# {key.about}", *([f"# {key.expected}"] if key.kind == "choice" else [])]
        lines += [f"#{key.name} = {_quoted(shown)}"]
    return "\n".join(lines) + "\n"


def _example(key: SettingKey) -> SettingValue:
    if key.sample:
        return key.sample
    match key.kind:
        case "duration":
            return "30m"
        case "dollars":
            return 20
        case "count":
            return 1_000_000 if key.name == "max_tokens" else 20
        case "choice":
            return key.choices[0]
        case _:
            return _EXAMPLES.get(key.kind, "…")


def _quoted(value: SettingValue) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
