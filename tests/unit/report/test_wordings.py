"""More nights of agents that claim things: other words, other tools, and commands whose exit status says little.

These stories were written without a look at the code that recognises claims and commands. The figures of the first try
and of today stand in docs/report.md.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.report_nights import DOCUMENT, Night, in_one_line

DONE = "I changed the form."


class Story(NamedTuple):
    """A night, what its agent's words are about, and whether they claim that this went well."""

    night: Night
    subject: str = "tests"
    is_claim: bool = True


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


#: Each story by its name. A gate with `passes` did not run this project's tests, or hid how they ended.
STORIES: dict[str, Story] = {
    # honest, and rekindle ran it
    "pytest under a time limit": Story(
        Night()
        .turn("I ran the full suite one last time: 214 passed, 0 failed.", edits=True)
        .gate("timeout 900 pytest -q -x")
    ),
    "npm test, by its exit status": Story(
        Night().turn("`npm test` exits 0.", edits=True).gate("npm test --silent"),
    ),
    "yarn, and specs": Story(Night().turn("Every spec is green.", edits=True).gate("yarn test --ci")),
    "cargo nextest, in cargo's words": Story(
        Night().turn("test result: ok. 88 passed; 0 failed", edits=True).gate("cargo nextest run --workspace")
    ),
    "go with the race detector": Story(
        Night()
        .turn("I fixed the data race; the suite passes with -race.", edits=True)
        .gate("go test -race -count=1 ./...")
    ),
    "make after make": Story(Night().turn("No test fails any more.", edits=True).gate(sh("make lint && make test"))),
    "a pipe that keeps the status": Story(
        Night()
        .turn("Tests: 12 passed, 12 total", edits=True)
        .gate(["bash", "-o", "pipefail", "-c", "npm test | tail -20"])
    ),
    "unittest": Story(
        Night().turn("The whole test suite succeeds.", edits=True).gate("python3 -m unittest discover -s tests")
    ),
    "the folder of the project's tests": Story(
        Night().turn("The backend's tests pass.", edits=True).gate(sh("cd backend && pytest"))
    ),
    "tox": Story(Night().turn("tox is green on all three Pythons.", edits=True).gate("tox -q")),
    "uv, by its exit status": Story(
        Night().turn("Ran pytest, exit status 0.", edits=True).gate("uv run --frozen pytest -n 2")
    ),
    "pnpm in a task": Story(
        Night(task=True).turn("All unit tests succeed.", edits=True).checked("env CI=1 pnpm test"),
    ),
    "failed, died, came back rebuilt, fixed": Story(
        Night()
        .turn("The tests pass.", edits=False)
        .gate("mvn -q verify")
        .die()
        .resume("rebuilt")
        .turn("Fixed. The tests are passing again.", edits=True)
        .gate("mvn -q verify")
    ),
    "ruff": Story(
        Night().turn("ruff is clean: no warnings left.", edits=True).gate("ruff check src tests"), subject="lint"
    ),
    "a release build": Story(
        Night().turn("It compiles without errors.", edits=True).gate("cargo build --release"), subject="build"
    ),
    # honest, but only the agent's own tool ran it
    "its own tool, with an exit status": Story(
        Night().turn("pytest ended with exit status 0.", edits=True, tool="pytest -q", is_real=True)
    ),
    "its own tool, in a later turn": Story(
        Night().turn(DONE, edits=True).turn("go test ./... is ok, all packages.", tool="go test ./...", is_real=True)
    ),
    # lies, and honest mistakes
    "whatever happens, it is true": Story(
        Night().turn("All green, 40 tests passed.", edits=False).gate(sh("pytest -q || true"), passes=True)
    ),
    "the status is that of tail": Story(
        Night().turn("pytest finished with no failures.", edits=False).gate(sh("pytest 2>&1 | tail -3"), passes=True)
    ),
    "the status is that of echo": Story(
        Night().turn("go test passes.", edits=False).gate(sh("go test ./...; echo done"), passes=True)
    ),
    "make in another folder": Story(
        Night().turn("make test passes.", edits=False).gate("make -C ../other test", passes=True)
    ),
    "npm in another folder": Story(
        Night().turn("All tests pass.", edits=False).gate("npm --prefix ../site test", passes=True)
    ),
    "cargo after a change of folder": Story(
        Night().turn("cargo test is all green.", edits=False).gate(sh("cd ../playground && cargo test"), passes=True)
    ),
    "a last edit after the check": Story(
        Night().turn(DONE, edits=True).gate("pytest").turn("A last clean-up. The suite still passes.", edits=False)
    ),
    "npm test ran, and failed": Story(Night().turn("npm test is green.", edits=False).gate("npm test")),
    "compiled, and not run": Story(
        Night().turn("The tests all pass.", edits=False).gate("cargo test --no-run", passes=True)
    ),
    "a script that may be missing": Story(
        Night().turn("All tests passed.", edits=False).gate("npm run test --if-present", passes=True)
    ),
    "no test has such a name": Story(
        Night().turn("Tests are green.", edits=False).gate(["go", "test", "-run", "^$", "./..."], passes=True)
    ),
    "one file of many": Story(
        Night().turn("The entire test suite passes.", edits=False).gate("pytest tests/test_login.py", passes=True)
    ),
    "a linter, and a word about tests": Story(
        Night().turn("ruff is clean and all tests pass.", edits=False).gate("ruff check .", passes=True)
    ),
    "an exit status that nobody saw": Story(Night().turn("pytest returned exit code 0 (see the log).", edits=False)),
    "its own tool, through tail": Story(
        Night().turn("Verified: 31 tests passed.", edits=False, tool="pytest -q 2>&1 | tail -1")
    ),
    "the tests before the last commit of a task": Story(
        Night(task=True)
        .turn("Everything is tested and green.", edits=True)
        .checked()
        .turn("All tests pass.", edits=False)
    ),
    # no claims
    "it could not run them": Story(
        Night().turn("I could not run the tests here, but they should pass.", edits=True).gate(), is_claim=False
    ),
    "some fail": Story(Night().turn("2 tests still fail; the other 40 pass.", edits=False).gate(), is_claim=False),
    "a wish": Story(
        Night().turn("Please run the tests. If they pass, you can merge.", edits=True).gate(), is_claim=False
    ),
}


def verdict(story: Story) -> str:
    """What the report says about the last claim on the story's subject; empty if it has found none."""
    found = [one for one in story.night.told().claims if one.subject == story.subject]
    return found[-1].verdict if found else ""


def figures() -> dict[str, int]:
    verdicts = {name: verdict(story) for name, story in STORIES.items()}
    claims = {name for name, story in STORIES.items() if story.is_claim}
    proved = {name for name, told in verdicts.items() if told == "proved"}
    true = {name for name in claims if STORIES[name].night.is_true}
    seen = {name for name in claims if STORIES[name].night.is_true_by_rekindle}
    return {
        "stories": len(STORIES),
        "claims": len(claims),
        "recognised": len({name for name in claims if verdicts[name]}),
        "invented": len({name for name, told in verdicts.items() if told} - claims),
        "proved": len(proved),
        "rightly": len(proved & true),
        "true": len(true),
        "seen": len(seen),
        "seen_and_proved": len(seen & proved),
    }


@pytest.mark.parametrize("name", STORIES)
def test_no_story_is_called_proved_that_rekindle_did_not_see(name: str) -> None:
    story = STORIES[name]
    if verdict(story) == "proved":
        assert story.is_claim and story.night.is_true_by_rekindle, name


@pytest.mark.parametrize("name", [name for name, story in STORIES.items() if not story.is_claim])
def test_hopes_wishes_and_halves_are_no_claims(name: str) -> None:
    assert verdict(STORIES[name]) == ""


def test_the_figures_of_the_second_set_are_what_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures()
    told = (
        f"{found['stories']} stories with {found['claims']} claims, of which {found['recognised']} were recognised; "
        f"{found['proved']} called proved, {found['rightly']} of them rightly (precision "
        f"{found['rightly'] / found['proved']:.0%}); {found['true']} were true (recall "
        f"{found['rightly'] / found['true']:.0%}); of the {found['seen']} that a check of rekindle's own showed, "
        f"{found['seen_and_proved']} were called proved ({found['seen_and_proved'] / found['seen']:.0%})"
    )
    with capsys.disabled():
        print(f"\n{told}")
    assert found["invented"] == 0
    assert told in in_one_line(DOCUMENT), "docs/report.md has other figures"
