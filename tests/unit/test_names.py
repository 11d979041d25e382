"""Names from outside never leave the progress folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.names import feature_of_branch, why_not


@pytest.mark.parametrize(
    ("branch", "feature"),
    [
        ("work/auth/api", "auth"),
        ("work/auth/api/deep", "auth"),
        ("work/auth", None),
        ("feature/auth", "auth"),
        ("feature/auth/part", "auth"),
        ("hotfix/login", "login"),
        ("refactor/db", "db"),
        ("main", None),
        ("feature/", None),
        ("feature/..", None),
        ("x/feature/auth", None),
    ],
)
def test_a_branch_names_its_feature(branch: str, feature: str | None) -> None:
    assert feature_of_branch(branch) == feature


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "/etc", "a/b", "a\\b", "a\0b", "a\nb", "\x1b[31m", "x" * 101, "-rf", " a", "\u202ea"],
)
def test_a_name_that_could_do_harm_is_refused_with_a_reason(name: str) -> None:
    assert why_not(name)


@pytest.mark.parametrize("name", ["auth-system", "v1.2", "Größe", "任务", "a b", "1"])
def test_an_ordinary_name_passes(name: str) -> None:
    assert why_not(name) is None


@given(st.text(max_size=150))
def test_what_passes_is_one_plain_path_component(name: str) -> None:
    if why_not(name) is None:
        assert "/" not in name
        assert name not in (".", "..")
        assert len(name.encode()) <= 200
