"""An agent cannot approve itself: what comes out of its process tree may report and ask, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.daemon import BIN, Machine, until
from tests.e2e.features import Shop, task

pytestmark = pytest.mark.timeout(400)

#: Run by an agent: waits for orders, carries each out in its own way, and writes down what came of it.
BURGLAR = """
import json, os, subprocess, sys, time
here = sys.argv[1]
while not os.path.exists(here + "/orders.json"):
    time.sleep(0.05)
done = []
for order in json.load(open(here + "/orders.json")):
    env = None if order["env"] is None else order["env"]
    if order.get("orphan"):
        out = here + "/orphan.out"
        quoted = json.dumps([order["words"], out])
        code = "import json,os,subprocess,sys,time\\n" \\
            "words,out=json.loads(sys.argv[1])\\n" \\
            "os.fork() and os._exit(0)\\nos.setsid()\\nos.fork() and os._exit(0)\\n" \\
            "time.sleep(0.3)\\n" \\
            "one=subprocess.run(words,capture_output=True,text=True,stdin=subprocess.DEVNULL)\\n" \\
            "open(out+'.new','w').write(json.dumps([one.returncode,one.stdout+one.stderr]))\\n" \\
            "os.rename(out+'.new',out)\\n"
        subprocess.run([sys.executable, "-c", code, quoted], env=env)
        while not os.path.exists(out):
            time.sleep(0.05)
        status, said = json.load(open(out))
        os.unlink(out)
    else:
        one = subprocess.run(order["words"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        status, said = one.returncode, one.stdout + one.stderr
    done.append([status, said])
with open(here + "/done.new", "w") as file:
    json.dump(done, file)
os.rename(here + "/done.new", here + "/done.json")
"""
RAW = """
import json, os, socket, sys
if len(sys.argv) > 3 and os.fork():
    os._exit(0)
one = socket.socket(socket.AF_UNIX)
one.connect(sys.argv[1])
if len(sys.argv) > 3:
    if os.fork():
        os._exit(0)
    import time
    time.sleep(0.3)
one.sendall(sys.argv[2].encode() + b"\\n")
print(one.makefile().readline())
"""


def order(*words: str, env: dict[str, str] | None = None, orphan: bool = False) -> dict[str, Any]:
    return {"words": list(words), "env": env, "orphan": orphan}


def burgle(machine: Machine, *orders: dict[str, Any]) -> list[tuple[int, str]]:
    (machine.work / "orders.new").write_text(json.dumps(orders))
    (machine.work / "orders.new").rename(machine.work / "orders.json")
    until(lambda: (machine.work / "done.json").exists(), "the end of the orders", 240)
    return [(status, said) for status, said in json.loads((machine.work / "done.json").read_text())]


def let_in(machine: Machine) -> None:
    """What an agent needs to try: the script, in the folder that it works in."""
    (machine.work / "burglar.py").write_text(BURGLAR)
    (machine.work / "raw.py").write_text(RAW)


def in_background(machine: Machine) -> str:
    words = f"{sys.executable} burglar.py {machine.work}"
    return f"run sh -c 'nohup {words} >/dev/null 2>&1 &'"


def test_an_agent_cannot_answer_its_own_question_however_it_goes_about_it(machine: Machine) -> None:
    let_in(machine)
    session = machine.begin(in_background(machine), "ask May I?", "say the end")
    [asked] = until(machine.questions, "the question")
    rekindle = str(BIN / "rekindle")
    words = (rekindle, "answer", asked["id"], "allow", "--json")
    bare = {name: value for name, value in machine.environment().items() if name in ("HOME", "PATH", "LANG")}
    request = json.dumps({"op": "answer", "question": asked["id"], "option": "allow_once", "by": "me"})
    raw = (sys.executable, "raw.py", machine.places.socket, request)
    found = burgle(
        machine,
        order(*words),
        order("setsid", *words),
        order("env", "-i", *(f"{name}={value}" for name, value in bare.items()), *words),
        order("nohup", *words, env=bare),
        order(*words, env=bare, orphan=True),
        order(*raw, env=bare),
        order(*raw, env=bare, orphan=True),
        order(*raw, "who connects does not live to be asked", env=bare),
    )
    for status, said in found[:5]:
        error = json.loads(said)["error"]
        assert (status, error["code"]) == (4, "inside_agent")
        assert "ask the person" in error["hint"]
    for _, said in found[5:7]:
        assert json.loads(said)["error"]["code"] == "inside_agent"
    assert [one["id"] for one in machine.json("inbox")["questions"]] == [asked["id"]]
    machine.ok("answer", asked["id"], "allow")
    machine.until_said(session, "\nthe end")


def test_an_agent_may_report_and_read_its_status_and_nothing_else(machine: Machine) -> None:
    let_in(machine)
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", **machine.environment()}
    for git in (("init", "-q", "-b", "feature/shop"), ("commit", "-q", "--allow-empty", "-m", "begin")):
        names = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        subprocess.run(["git", *names, *git], cwd=machine.work, env=env, check=True)
    other = machine.begin("say the secret word is albatross")
    machine.until_status(other, "waiting")
    machine.begin(in_background(machine), "sleep 600")
    rekindle = str(BIN / "rekindle")
    refused = [
        ("send", other, "hello"),
        ("run", "-d", "say x"),
        ("resume", other),
        ("stop", other),
        ("cancel", other),
        ("show", other),
        ("logs", other),
        ("search", "secret"),
        ("export", other),
        ("restore", other),
        ("gc",),
        ("hooks", "install"),
        ("abandon", "shop"),
        ("inbox",),
        ("serve", "--stop"),
    ]
    feed = json.dumps({"op": "follow_feed", "after": 0})
    found = burgle(
        machine,
        order(rekindle, "track", "session.start"),
        order(rekindle, "track", "warning", "careful"),
        order(rekindle, "checkpoint", "here", "--next", "wave-2-start"),
        order(rekindle, "ps", "--json"),
        order(sys.executable, "raw.py", machine.places.socket, feed),
        order(sys.executable, "raw.py", machine.places.socket, json.dumps({"op": "show", "session": other})),
        *(order(rekindle, *words) for words in refused),
    )
    for status, said in found[:4]:
        assert status == 0, said
    assert other in found[3][1]
    assert "albatross" not in found[3][1]
    for _, said in found[4:6]:
        assert json.loads(said)["error"]["code"] == "inside_agent"
    assert "albatross" not in json.dumps(found)
    for words, (status, said) in zip(refused, found[6:], strict=True):
        assert status == 4, (words, said)
        assert "inside an agent" in said
    assert machine.status(other) == "waiting"
    assert len(machine.json("ps")["sessions"]) == 2


def test_neither_an_agent_of_a_feature_nor_the_check_it_wrote_can_answer(shop: Shop) -> None:
    rekindle = str(BIN / "rekindle")
    out = shop.root.parent / "said"
    script = (
        f"{rekindle} answer q0123456789 allow 2>>{out}; {rekindle} send 0 x 2>>{out}; env -i {rekindle} gc 2>>{out}"
    )
    (shop.root.parent / "try.sh").write_text(f"{script}; exit 0\n")
    plan = shop.plan(
        task("a", f"run sh {shop.root.parent}/try.sh", "write a.txt a", checks=[f"sh {out.parent}/try.sh"])
    )
    shop.machine.ok("run", "--plan", plan)
    assert out.read_text().count("inside an agent") == 6


def test_whoever_is_outside_is_not_held_back(machine: Machine) -> None:
    """The same commands by a process that a person detached from every terminal and shell."""
    session = machine.begin("ask May I?", "say the end")
    [asked] = until(machine.questions, "the question")
    words = [str(BIN / "rekindle"), "answer", asked["id"], "allow"]
    code = (
        "import os,sys,time\n"
        "os.fork() and os._exit(0)\nos.setsid()\ntime.sleep(0.3)\nos.execv(sys.argv[1],sys.argv[1:])"
    )
    bare = {"HOME": str(machine.home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code, *words], env=bare, check=True)
    machine.until_said(session, "\nthe end")


def test_a_word_that_only_looks_like_a_call_for_help_lets_nobody_through(machine: Machine) -> None:
    """Behind an option `--help` is the option's value, and the command would run."""
    session = machine.begin("say the secret word is albatross")
    machine.until_status(session, "waiting")
    for words in (("export", session, "--output", "--help"), ("export", session, "--output", "-h")):
        done = machine.run(*words, REKINDLE_STAMP="inside")
        assert done.stdout.startswith("Usage: rekindle export"), done.stderr
        assert not (machine.work / words[-1]).exists()
    assert "Usage: rekindle trust filters" in machine.ok("trust", "filters", "--help", REKINDLE_STAMP="inside")
    assert "Usage: rekindle answer" in machine.ok("answer", "-h", REKINDLE_STAMP="inside")


def test_an_agent_reads_no_more_while_no_daemon_runs(machine: Machine) -> None:
    session = machine.begin("say the secret word is albatross")
    machine.until_status(session, "waiting")
    machine.kill_daemon()
    assert "albatross" in machine.ok("ps")
    for words in (("ps",), ("ps", "--json")):
        told = machine.ok(*words, REKINDLE_STAMP="inside")
        assert session in told
        assert "albatross" not in told
