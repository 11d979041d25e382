"""The quick way to read and write JSON gives what `json` gives, errors included."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rekindle.core import lean_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["\ud800", "é\x00\x7f"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def outcome(call: Any, *values: Any) -> tuple[str, str]:
    try:
        return "gives", repr(call(*values))
    except Exception as error:
        return type(error).__name__, str(error)


@given(VALUES)
def test_a_value_is_written_as_json_writes_it(value: Any) -> None:
    expected = outcome(lambda it: json.dumps(it, separators=(",", ":"), allow_nan=False), value)
    assert outcome(lean_json.compact, value) == expected


@given(VALUES, st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-8-sig", "latin-1"]), st.binary(max_size=3))
@example({"a": 1}, "utf-8-sig", b"")
def test_a_text_is_read_as_json_reads_it(value: Any, encoding: str, behind: bytes) -> None:
    text = b" \n" + json.dumps(value).encode(encoding) + behind
    assert outcome(lean_json.loads, text) == outcome(json.loads, text)


@given(st.binary() | st.text(alphabet='{}[]":,0123456789.eE+-truefalsn\\ \t\n').map(str.encode))
@example(b"")
@example(b"[" * 100_000)
@example(b"NaN")
@example(b'"\x01"')
def test_any_bytes_are_refused_as_json_refuses_them(text: bytes) -> None:
    assert outcome(lean_json.loads, text) == outcome(json.loads, text)


@pytest.mark.parametrize("value", [{1: 2, None: 3, 1.5: 4}, {"a": object()}, {(1,): 1}, (1, 2), {1, 2}])
def test_what_json_has_no_word_for_is_refused_in_the_same_words(value: Any) -> None:
    expected = outcome(lambda it: json.dumps(it, separators=(",", ":"), allow_nan=False), value)
    assert outcome(lean_json.compact, value) == expected


def test_an_interpreter_without_the_quick_way_takes_the_long_one() -> None:
    program = (
        "import sys; sys.modules['_json'] = None; from rekindle.core import lean_json as one;"
        "print(one._scan, one._encode, one.loads(b'[1]'), one.compact({'a': 1}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == 'None None [1] {"a":1}\n'
