"""Every key of a TOML text has a place, and it is the line on which the key stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.toml_places import TomlPath, line_at, places

_keys = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True), st.sampled_from(["a b", "a.b", "#x", "[y]", "ü"])
)
_leaves = st.one_of(
    st.integers(-9, 9),
    st.booleans(),
    st.floats(-9, 9, allow_nan=False).map(lambda one: round(one, 2)),
    st.dates(),
    st.datetimes().map(lambda one: one.replace(microsecond=0)),
    st.sampled_from(["", "plain", 'quo"te', "line\nbreak\n[x]\ny = 1\n", "# no comment", "a = 1", "it's", "}", "],"]),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=3)),
    max_leaves=8,
)
_tables = st.dictionaries(
    _keys, st.one_of(_values, st.lists(st.dictionaries(_keys, _values, min_size=1), min_size=1, max_size=3)), max_size=4
)


def paths(value: Any, above: TomlPath = ()) -> Iterator[TomlPath]:
    found = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in found:
        yield (*above, name)
        yield from paths(inner, (*above, name))


@given(_tables)
def test_every_key_is_found_on_a_line_that_has_it(table: dict[str, Any]) -> None:
    text = tomlkit.dumps(table)
    lines, found = text.split("\n"), places(text)
    for path in paths(tomllib.loads(text)):
        line = line_at(found, path)
        assert line is not None, (path, text)
        last = path[-1]
        if path in found and isinstance(last, str):
            assert last in lines[line - 1].replace("\\u00fc", "ü"), (path, line, text)


@given(st.text(max_size=80))
def test_any_text_is_scanned_to_its_end(text: str) -> None:
    places(text)
