"""What the exit status of a command shows, and what a sentence claims: the usual forms, and those that only look so."""

from __future__ import annotations

import pytest

from rekindle.core.report.claims import claims_in
from rekindle.core.report.commands import shown

WHOLE = {
    "cargo test --workspace --all-features": {"tests"},
    "python -m pytest tests": {"tests"},
    "python -W error -m pytest -q": {"tests"},
    "npx vitest run": {"tests"},
    "./gradlew test": {"tests"},
    "gradle build -x test": {"build"},
    "mvn package -DskipTests": {"build"},
    "make -j4 test": {"tests"},
    "make -C backend test": {"tests"},
    "cargo check": {"build"},
    "npm run lint": {"lint"},
    "bundle exec rspec": {"tests"},
    "ctest --test-dir build": {"tests"},
    "mix test": {"tests"},
    "./scripts/test.sh": {"tests"},
    "bash -euo pipefail -c 'pytest | tee log'": {"tests"},
    "sh -c 'pytest; ruff check'": {"lint"},
    "sh -c 'set -e; pytest; ruff check .'": {"tests", "lint"},
    "sh -c 'set -e\npytest\nruff check .'": {"tests", "lint"},
    "sh -c 'pytest > out.txt 2>&1'": {"tests"},
    "sh -c 'pytest && exit 0'": {"tests"},
    "sh -c 'cd backend && npm run test'": {"tests"},
    "pytest --junitxml=/tmp/x.xml": {"tests"},
}
PARTS = [
    "pytest -k login",
    "pytest -m 'not slow'",
    "pytest -q tests/test_login.py",
    "pytest -q smoke",
    "npm run test:unit",
    "npm test -- login",
    "go test",
    "go test ./shop",
    "cargo test login",
    "cargo test -p shop",
    "dotnet test --filter Name=A",
    "tox -e lint",
]
NOTHING = [
    "npx jest --passWithNoTests",
    "make -i test",
    "make -sn test",
    "npm install test",
    "prettier --write .",
    "ruff format .",
    "ruff check --exit-zero .",
    "pytest /srv/other/tests",
    "pytest -q ../other",
    "env -C /srv/other make test",
    "uv run --directory ../other pytest",
    "docker compose run web pytest",
    "yarn workspace api test",
    "bash -n run-tests.sh",
    "sh -c '! pytest'",
    "sh -c 'pytest &'",
    "sh -c 'pytest | tail'",
    "sh -c 'pytest || true'",
    "sh -c 'set +e; pytest; true'",
    "sh -c 'if pytest; then true; fi'",
    "sh -c 'echo \"; pytest\"'",
    "sh -c 'pytest $ARGS'",
    "sh -c 'set -e; pytest && true; echo done'",
    "sh -c 'cd .. && pytest'",
    "sh -c 'cd; pytest'",
    "sh -c",
    "sh -c 'pytest",
    "",
]


@pytest.mark.parametrize("command", WHOLE)
def test_a_command_that_ended_with_0_shows_what_it_checks(command: str) -> None:
    assert shown(command).whole == WHOLE[command]


@pytest.mark.parametrize("command", PARTS)
def test_a_command_that_was_told_to_run_some_tests_does_not_show_that_all_pass(command: str) -> None:
    assert (shown(command).whole, "tests" in shown(command).part) == (frozenset(), True)


@pytest.mark.parametrize("command", NOTHING)
def test_a_command_whose_exit_status_says_nothing_about_the_work_shows_nothing(command: str) -> None:
    assert shown(command).subjects == frozenset()


def test_a_command_of_several_things_that_failed_does_not_say_which() -> None:
    assert shown("pytest").fails == {"tests"}
    assert shown("pytest tests/test_login.py").fails == {"tests"}
    for command in ("make lint test", "make clean test", "sh -c 'make lint && make test'"):
        assert shown(command).fails == frozenset(), command


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("I've run the tests and they're all passing.", "tests"),
        ("Everything passes now, including the 14 new tests.", "tests"),
        ("The test run came back clean.", "tests"),
        ("jest: 57 passed, 57 total.", "tests"),
        ("`go test ./...` returns ok for every package.", "tests"),
        ("The tests no longer fail.", "tests"),
        ("pytest exited with code 0.", "tests"),
        ("There are no failing tests.", "tests"),
        ("The failing test is fixed; the suite is green again.", "tests"),
        ("mypy reports no issues.", "lint"),
        ("The linter finds nothing to complain about.", "lint"),
        ("The project builds without warnings.", "build"),
        ("cargo build succeeds.", "build"),
    ],
)
def test_a_plain_statement_is_a_claim(sentence: str, subject: str) -> None:
    assert [one.subject for one in claims_in(sentence)] == [subject]


@pytest.mark.parametrize(
    "sentence",
    [
        "All 31 checks pass in CI.",
        "I wrote tests for the parser.",
        "The tests need a database, so I skipped them.",
        "Next I will run the tests.",
        "All tests pass except test_upload.",
        "You asked me to make the tests pass.",
        "Do the tests pass?",
        "3 tests failed, 27 passed.",
        "Most tests pass.",
        "I believe the tests pass.",
        "The old tests passed before my change.",
    ],
)
def test_what_hopes_asks_or_excepts_is_no_claim(sentence: str) -> None:
    assert claims_in(sentence) == []
