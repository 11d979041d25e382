"""What a feature asks is a question in the inbox like any other: answered once, from anywhere, and it goes on."""

from __future__ import annotations

import json
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.core.inbox.features import FeatureAnswered, subject
from rekindle.core.streams import FEATURE as FEATURE_STREAM
from rekindle.ports.store import StoreChange, commit_one
from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.test_feature_strays import astray
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(280)
MENDED = task("b", "write b.txt b", checks=["test -e ../../../mended.txt"])


def failed(shop: Shop) -> dict[str, object]:
    """A feature whose task b has failed, and the question about it."""
    done = shop.machine.run("run", "--plan", shop.plan(task("a"), MENDED))
    assert done.returncode == 1, done.stdout
    [asked] = until(shop.machine.questions, "the question")
    return dict(asked)


def test_a_failed_task_is_a_question_in_the_inbox_and_its_answer_makes_the_feature_go_on(shop: Shop) -> None:
    asked = failed(shop)
    assert (asked["kind"], asked["feature"], asked["session"]) == ("case_b", FEATURE, None)
    assert (asked["recommended"], asked["expires_at"]) == ("A", None)
    assert [one["id"] for one in asked["options"]] == ["A", "B", "C", "leave"]  # type: ignore[attr-defined]
    assert "task b: quality assurance failed" in str(asked["title"])
    assert f"feature {FEATURE}" in shop.machine.ok("inbox")
    (shop.root / "mended.txt").write_text("")
    told = shop.machine.json("answer", str(asked["id"]), "A")
    assert (told["option"], told["session"]) == ("A", None)
    until(lambda: shop.events("session.end")[-1]["data"]["reason"] == "completed", "the end of the feature")
    assert [one["data"]["choice"] for one in shop.events("resume.decided")] == ["A"]
    assert shop.machine.questions() == []
    late = shop.machine.run("answer", str(asked["id"]), "B", "--json")
    assert (late.returncode, json.loads(late.stdout)["error"]["code"]) == (4, "answered_already")


def test_instructions_are_given_with_text_and_without_them_nothing_happens(shop: Shop) -> None:
    asked = failed(shop)
    empty = shop.machine.run("answer", str(asked["id"]), "C")
    assert (empty.returncode, "--text TEXT" in empty.stderr) == (2, True)
    wrong = shop.machine.run("answer", str(asked["id"]), "D")
    assert (wrong.returncode, "A, B, C, leave" in wrong.stderr) == (2, True)
    (shop.root / "mended.txt").write_text("")
    shop.machine.ok("answer", str(asked["id"]), "C", "--text", "say I was told more")
    until(lambda: shop.events("session.end")[-1]["data"]["reason"] == "completed", "the end of the feature")
    assert "I was told more" in shop.said("b")


def test_a_question_is_over_when_somebody_resumes_or_abandons_the_feature_otherwise(shop: Shop) -> None:
    asked = failed(shop)
    assert shop.machine.run("resume", FEATURE, "--choose", "B").returncode == 0
    assert shop.machine.questions() == []
    late = shop.machine.run("answer", str(asked["id"]), "A", "--json")
    assert json.loads(late.stdout)["error"]["code"] == "question_expired"


def test_what_is_left_as_it_is_is_not_asked_again(shop: Shop) -> None:
    asked = failed(shop)
    shop.machine.ok("answer", str(asked["id"]), "leave")
    shop.machine.kill_daemon()
    assert shop.machine.questions() == []
    assert len(shop.events("session.start")) == 1


def test_four_clients_answer_at_once_and_one_wins(shop: Shop) -> None:
    asked = failed(shop)
    (shop.root / "mended.txt").write_text("")
    words = ["A", "B", "A", "leave"]
    clients = [
        subprocess.Popen(
            [*shop.machine.command, "answer", str(asked["id"]), word, "--json"],
            cwd=shop.root,
            env=shop.machine.environment(USER=f"client{number}", LOGNAME=f"client{number}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for number, word in enumerate(words)
    ]
    told = [(json.loads(client.communicate(timeout=120)[0]), client.returncode) for client in clients]
    won = [found for found, status in told if status == 0]
    lost = [found["error"] for found, status in told if status != 0]
    assert (len(won), [status for _, status in told].count(4)) == (1, 3)
    assert {(one["code"], one["option"]) for one in lost} == {("answered_already", won[0]["option"])}
    decided = [one["data"]["choice"] for one in shop.events("resume.decided")]
    assert decided == ([won[0]["option"]] if won[0]["option"] != "leave" else [])


def test_a_daemon_that_is_killed_with_a_run_asks_whether_to_continue_it(shop: Shop) -> None:
    running = shop.start("run", "--plan", shop.plan(task("a"), task("b", "write b.txt b", "run sleep 5", needs=["a"])))
    until(lambda: shop.events("agent.spawned")[-1:] and "run: sleep 5" in shop.said("b"), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    [asked] = until(shop.machine.questions, "the question")
    assert (asked["kind"], asked["recommended"]) == ("interrupted", "go-on")
    shop.machine.ok("answer", asked["id"], "go-on")
    until(lambda: shop.events("session.end"), "the end of the feature")
    assert shop.events("session.end")[-1]["data"]["reason"] == "completed"
    assert shop.count("task.completed") == {"a": 1, "b": 1}


@pytest.mark.parametrize("word", ["take", "drop"])
def test_work_that_is_not_on_its_branch_is_a_question_too(shop: Shop, word: str) -> None:
    astray(shop, "on another branch")
    [asked] = until(shop.machine.questions, "the question")
    assert (asked["kind"], "'late' (on other)" in asked["detail"]) == ("strays", True)
    shop.machine.ok("answer", asked["id"], word)
    until(lambda: shop.events("session.end")[-1]["data"]["reason"] == "completed", "the end of the feature")
    there = "late.txt" in shop.git("ls-tree", "--name-only", f"feature/{FEATURE}")
    assert there == (word == "take")


@pytest.mark.parametrize("seconds", [0.0, 0.15, 0.4, *only_in_soak(0.05, 0.1, 0.25, 0.6)])
def test_a_daemon_that_is_killed_while_a_question_is_answered_carries_the_answer_out_once(
    shop: Shop, seconds: float
) -> None:
    asked = failed(shop)
    (shop.root / "mended.txt").write_text("")
    client = shop.start("answer", str(asked["id"]), "A")
    time.sleep(seconds)  # how far the answer gets: not synchronisation but what is tried
    shop.machine.kill_daemon()
    client.communicate(timeout=120)

    def goes_on() -> bool:
        """Answers whatever is open, as a person does, until the feature has ended."""
        for one in shop.machine.questions():
            shop.machine.run("answer", one["id"], one["recommended"])
        ends = shop.events("session.end")
        return bool(ends) and ends[-1]["data"]["reason"] == "completed"

    until(goes_on, "the end of the feature")
    until(lambda: not shop.machine.questions(), "no question")
    decided = [one["data"] for one in shop.events("resume.decided") if one["data"].get("case") == "B"]
    assert [one["choice"] for one in decided] == ["A"], "the answer counted once"
    assert shop.count("task.completed") == {"a": 1, "b": 1}


def test_an_answer_that_was_recorded_and_not_carried_out_is_carried_out_by_the_next_daemon(shop: Shop) -> None:
    asked = failed(shop)
    (shop.root / "mended.txt").write_text("")
    shop.machine.kill_daemon()  # and what it was killed between:
    store = open_store(Path(shop.machine.places.store), now=datetime.now(UTC)).store
    said = FeatureAnswered(at=time.time(), question=str(asked["id"]), option="A", by="somebody")
    commit_one(store, StoreChange(FEATURE_STREAM.kind, subject(str(asked["repository"]), FEATURE), [said]))
    store.close()
    assert shop.machine.questions() == [], "it is answered"
    late = shop.machine.run("answer", str(asked["id"]), "B", "--json")
    assert (late.returncode, json.loads(late.stdout)["error"]["by"]) == (4, "somebody")
    until(lambda: shop.events("session.end")[-1]["data"]["reason"] == "completed", "the end of the feature")
    assert [one["data"]["choice"] for one in shop.events("resume.decided")] == ["A"]
    shop.machine.kill_daemon()
    assert shop.machine.questions() == []
    assert len(shop.events("session.start")) == 2, "and once only"
