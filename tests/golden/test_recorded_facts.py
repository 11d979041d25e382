"""Facts as they were once recorded. Stores and archives hold such lines for ever, so these are never written anew.

A kind of fact that is new gets a line of its own in the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from rekindle.adapters.sql_store.codec import decode_fact, decode_told, encode_fact
from rekindle.core.governor.facts import GovernorFact
from rekindle.core.session import facts as f

FOLDER = Path(__file__).parent / "facts"
RECORDED = (FOLDER / "a_life.jsonl").read_text().splitlines()
GOVERNORS = (FOLDER / "governor.jsonl").read_text().splitlines()


def holds(now: object, then: object) -> bool:
    """Whether all that was there then is there now; something may have been added."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(name in now and holds(now[name], one) for name, one in then.items())
    return now == then


@pytest.mark.parametrize("line", RECORDED, ids=lambda line: json.loads(line)["fact"])
def test_what_was_once_recorded_is_read_as_it_was_meant(line: str) -> None:
    assert holds(json.loads(encode_fact(decode_fact(line))), json.loads(line))


def test_every_kind_of_fact_is_on_record() -> None:
    assert {type(decode_fact(line)) for line in RECORDED} == set(get_args(f.AnyFact))


@pytest.mark.parametrize("line", GOVERNORS, ids=lambda line: json.loads(line)["fact"])
def test_what_the_governor_once_recorded_is_read_as_it_was_meant(line: str) -> None:
    assert holds(json.loads(encode_fact(decode_told("governor", line))), json.loads(line))


def test_every_kind_of_the_governors_facts_is_on_record() -> None:
    assert {type(decode_told("governor", line)) for line in GOVERNORS} == set(get_args(GovernorFact))
