"""Plans: what a file may say, what follows from it, and complaints that name what is wrong."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rekindle.core.feature.plan import BadPlan, skip
from rekindle.core.feature.plan_event import from_event, to_events
from rekindle.core.feature.plan_file import parse
from rekindle.core.journal import run

PLAN = b"""
feature = "checkout"
mode = "strict"
agent = "scripted"
lint = ["true"]

[[task]]
id = "cart"
summary = "Cart model"
prompt = "write cart.py x"
files = ["cart.py"]
checks = ["test -s cart.py"]

[[task]]
id = "form"
prompt = "write form.py x"
needs = ["cart"]

[[task]]
id = "docs"
prompt = "write docs.md x"
after = ["form"]
"""


def complaint(text: str) -> str:
    with pytest.raises(BadPlan) as caught:
        parse(text.encode(), "plan.toml")
    return caught.value.message


def test_waves_follow_from_dependencies() -> None:
    found = parse(PLAN, "plan.toml")
    assert found.plan.waves == (("cart",), ("form",), ("docs",))
    assert found.plan.task("form").agent == "scripted"
    assert found.plan.task("form").summary == "write form.py x"
    assert (found.feature, found.mode) == ("checkout", "strict")


def one_task(*head: str, task: str = "") -> bytes:
    return "\n".join(('feature = "f"', *head, '[[task]]\nid = "a"\nprompt = "x"', task)).encode()


@pytest.mark.parametrize(("key", "wanted"), [("parallel = 7", 7), ("jobs = 7", 7), ("", 4)])
def test_how_many_tasks_are_worked_at_once_is_said_under_the_old_name_too(key: str, wanted: int) -> None:
    assert parse(one_task(key), "p").parallel == wanted


@pytest.mark.parametrize("command", ["a && b", "a; b", "a | b", "a || b", "a > b", "a $(b)", "a `b`", "a $B", "a\nb"])
def test_a_check_that_only_a_shell_understands_is_refused_with_the_remedy(command: str) -> None:
    for head, task in (((f"lint = [{json.dumps(command)}]",), ""), ((), f"checks = [{json.dumps(command)}]")):
        with pytest.raises(BadPlan) as caught:
            parse(one_task(*head, task=task), "plan.toml")
        assert "without a shell" in caught.value.message and "plan.toml, line " in caught.value.message
        assert json.dumps(["sh", "-c", command]) in caught.value.hint


@pytest.mark.parametrize(
    "command", ["sh -c 'a && b | c > d; e'", 'sh -c "a $(b)"', "grep -q x$ a", r"find . -exec ls {} \;", "a 'b>=1'"]
)
def test_what_is_quoted_is_plain_words(command: str) -> None:
    assert parse(one_task(f"checks = [{json.dumps(command)}]"), "p").plan.checks == (command,)


def test_a_check_can_be_a_list_of_arguments() -> None:
    words = ["sh", "-c", "a && echo 'b' > \"c d\""]
    plan = parse(one_task(f"checks = [{json.dumps(words)}]", task='checks = [["true"]]'), "p").plan
    assert [shlex.split(one) for one in plan.checks] == [words]
    assert plan.task("a").checks == ("true",)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("needs", ["", 'needs = ["t{before}"]'])
def test_ten_thousand_tasks_are_read_in_time(needs: str) -> None:
    tasks = ['[[task]]\nid = "t0"\nprompt = "x"\n']
    tasks += [f'[[task]]\nid = "t{n}"\nprompt = "x"\n{needs.format(before=n - 1)}\n' for n in range(1, 10_000)]
    found = parse(("feature = 'shop'\n" + "".join(tasks)).encode(), "plan.toml").plan
    assert [len(wave) for wave in found.waves] == ([1] * 10_000 if needs else [10_000])


def test_the_plans_of_the_documentation_can_be_run() -> None:
    text = (Path(__file__).parents[3] / "docs" / "features.md").read_text()
    blocks = "\n".join(line[4:] if line.startswith("    ") else "#" if line else "" for line in text.splitlines())
    plans = [block for block in re.split(r"^#$", blocks, flags=re.MULTILINE) if block.strip().startswith("feature = ")]
    assert len(plans) == 2
    assert [parse(plan.encode(), "features.md").plan.waves for plan in plans] == [
        (("greet",), ("answer",)),
        (("cart", "docs"), ("payment",)),
    ]


def test_an_order_follows_from_waves() -> None:
    text = 'feature="f"\nwaves=[["a","b"],["c"]]\n' + "".join(f'[[task]]\nid="{one}"\nprompt="x"\n' for one in "abc")
    assert parse(text.encode(), "p").plan.blocked_by("c") == ("a", "b")


def test_numbered_tasks_make_waves() -> None:
    text = 'feature="f"\n' + "".join(f'[[task]]\nid={one}\nprompt="x"\nwave={3 - one}\n' for one in (1, 2))
    assert parse(text.encode(), "p").plan.waves == (("2",), ("1",))


def test_a_plan_survives_the_journal() -> None:
    plan = parse(PLAN, "plan.toml").plan
    [written] = to_events(plan)
    read = run.RecordedPlan(written["tasks"], written["waves"], written["dependencies"])
    assert from_event(read) == plan


def test_a_plan_of_others_is_read_with_what_it_leaves_out() -> None:
    raw = run.RecordedPlan([{"id": 1, "summary": "Schema"}, {"id": "2"}, 7], [], [{"task_id": "2", "blocked_by": 1}])
    plan = from_event(raw)
    assert plan is not None
    assert plan.waves == (("1",), ("2",))
    assert plan.needs == {"2": ("1",)}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("feature = ", "plan.toml: is not valid TOML"),
        ('feature="f"\ntask=[]', "no tasks"),
        (
            'feature="f"\n[[task]]\nid="a"\nprompt="x"\n\n[[task]]\nid="b"\nprompt="x"\nneeds=["c"]',
            "line 6: task 'b' waits for 'c'",
        ),
        (
            'feature="f"\n[[task]]\nid="a"\nprompt="x"\nneeds=["b"]\n[[task]]\nid="b"\nprompt="x"\nafter=["a"]',
            "line 2: tasks wait for one another: a -> b -> a",
        ),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\nneeds=["a"]', "a -> a"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\n\n[[task]]\nid="b"\npromt="x"', "line 8: there is no key 'promt'"),
        ('feature="f"\ntask=[{id="a", promt="x"}]', "plan.toml: there is no key 'promt' for a task"),
        ('feature="f"\nfoo=1\n[[task]]\nid="a"\nprompt="x"', "line 2: there is no key 'foo'"),
        ('[[task]]\nid="a"\nprompt="x"', "plan.toml: the key 'feature' is missing"),
        ('feature="f"\n[[task]]\nprompt="x"', "line 2: the key 'id' is missing for a task"),
        ("", "the key 'feature' is missing"),
        ('feature="f"\njobs="many"\n[[task]]\nid="a"\nprompt="x"', "line 2: jobs: expected int, got str"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\nfiles="x"', "line 5: files: expected array, got str"),
        ('feature="f"\njobs=0\n[[task]]\nid="a"\nprompt="x"', "line 2: jobs is 0"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\n[[task]]\nid="a"\nprompt="x"', "line 5: two tasks are called 'a'"),
        ('feature="f"\n[[task]]\nid=1\nprompt="x"\n[[task]]\nid="1"\nprompt="x"', "line 5: two tasks are called '1'"),
        ('feature="f"\n[[task]]\nid=".."\nprompt="x"', "line 2: the task id '..'"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\nfiles=["../b"]', "line 5: the file '../b' is not inside"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\nfiles=["/b"]', "line 5: the file '/b' is not inside"),
        ('feature="f"\nchecks=[" "]\n[[task]]\nid="a"\nprompt="x"', "line 2: a check is empty"),
        ('feature="f"\n[[task]]\nid="a/b"\nprompt="x"', "line 2: the task id 'a/b'"),
        ('feature="f"\n[[task]]\nid="a"', "neither prompt nor summary"),
        ('feature="f"\n[[task]]\nid="a"\nprompt="x"\nchecks=["\'"]', "cannot be read"),
        ('feature="a/b"\n[[task]]\nid="a"\nprompt="x"', "contains a slash"),
        ('feature="f"\nmode="slow"\n[[task]]\nid="a"\nprompt="x"', "mode"),
        ('feature="f"\nwaves=[["a"],["a"]]\n[[task]]\nid="a"\nprompt="x"', "two waves"),
        ('feature="f"\nwaves=[["b"]]\n[[task]]\nid="a"\nprompt="x"', "'b'"),
        ('feature="f"\nwaves=[[]]\n[[task]]\nid="a"\nprompt="x"', "not in any wave"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    assert named in complaint(text)


def test_bytes_that_are_no_text_are_named_with_their_line() -> None:
    with pytest.raises(BadPlan) as caught:
        parse(b'feature = "f"\nagent = "\xff"\n', "plan.toml")
    assert caught.value.message == "plan.toml, line 2: is not valid UTF-8"


def test_of_many_tasks_a_hint_names_some() -> None:
    text = "\n".join(['feature="f"', *(f'[[task]]\nid="t{n}"\nprompt="x"' for n in range(500)), 'needs=["zz"]'])
    with pytest.raises(BadPlan) as caught:
        parse(text.encode(), "plan.toml")
    assert caught.value.hint.endswith("and 480 more") and len(caught.value.hint) < 300


def test_a_wave_that_contradicts_a_dependency_is_refused() -> None:
    text = 'feature="f"\nwaves=[["a"],["b"]]\n[[task]]\nid="a"\nprompt="x"\nneeds=["b"]\n[[task]]\nid="b"\nprompt="x"'
    assert "task 'a' of wave 1 waits for 'b' of wave 2" in complaint(text)


def test_skipping_drops_an_order_and_names_who_cannot_run() -> None:
    plan = parse(PLAN, "plan.toml").plan
    found = skip(plan, ["cart"])
    assert found.cannot_run == {"form": "cart"}
    assert found.dropped == (("docs", "form"),)
    assert found.plan.after == {}


def test_who_needs_a_skipped_task_that_is_merged_can_run() -> None:
    assert skip(parse(PLAN, "plan.toml").plan, ["cart"], done=["cart"]).cannot_run == {}
