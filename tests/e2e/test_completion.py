"""The Tab key: what is offered, with a few words about each, as click does it for bash, zsh and fish."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.test_questions import open_question

pytestmark = pytest.mark.timeout(240)


def offered(machine: Machine, shell: str, *words: str) -> dict[str, str]:
    """What Tab offers at the end of these words, each with its description; bash shows none."""
    about = {"COMP_WORDS": " ".join(["rekindle", *words])}
    about |= {"COMP_CWORD": words[-1] if shell == "fish" else str(len(words))}
    told = machine.ok(**{"_REKINDLE_COMPLETE": f"{shell}_complete", **about}).strip()
    match shell:
        case "bash":
            return {line.partition(",")[2]: "" for line in told.splitlines()}
        case "zsh":
            lines = told.splitlines()
            assert len(lines) % 3 == 0, lines
            return dict(zip(lines[1::3], lines[2::3], strict=True))
        case _:
            return {
                value: help_
                for line in told.splitlines()
                for value, _, help_ in [line.partition(",")[2].partition("\t")]
            }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_questions_and_their_options_are_offered_with_what_they_say(machine: Machine, shell: str) -> None:
    session = machine.begin("ask May I\x1b[2J list files?", options=("--title", "List\nall files"))
    asked = open_question(machine)["id"]
    options = {"allow_once": "Allow once", "allow_always": "Allow always", "reject_once": "Reject"}
    is_told = shell != "bash"
    found = offered(machine, shell, "answer", "q")
    assert list(found) == [asked]
    assert not is_told or "list files?" in found[asked]
    assert "\x1b" not in "".join(found.values())
    for given in (asked, asked[:6], session):
        assert offered(machine, shell, "answer", given, "") == {
            key: text if is_told else "" for key, text in options.items()
        }
    assert list(offered(machine, shell, "answer", asked, "rej")) == ["reject_once"]
    found = offered(machine, shell, "attach", session[:4])
    assert found == {session: "asking: List all files" if is_told else ""}
    machine.ok("answer", asked, "deny")
    assert offered(machine, shell, "answer", "q") == {}


def test_features_are_offered_with_their_state_and_how_far_they_have_come(shop: Shop) -> None:
    assert shop.machine.run("run", "--plan", shop.plan(task("a"), task("b", checks=["false"]))).returncode == 1
    found = offered(shop.machine, "zsh", "resume", FEATURE[:2])
    assert found == {FEATURE: "feature, failed, 1 of 2 tasks"}
