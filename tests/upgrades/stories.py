"""What is done on the machine of an edition: sessions in every state, and a feature's run. Then the power goes.

Every story is told with the commands that a user types, and with the scripted agent.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.daemon import Machine, until
from tests.e2e.features import Shop, task

#: A time that no test lives to see.
_NEVER = 4_000_000_000


def asleep(machine: Machine) -> str:
    """Two turns, the second after a sleep: two attempts, and a receipt."""
    session = machine.begin("say my favourite bird is the albatross", "write notes.txt precious")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    machine.ok("send", session, "what have you seen?", "--follow")
    machine.ok("stop", session, "--sleep")
    return session


def interrupted(machine: Machine) -> str:
    """Its agent was killed in the middle of its words and of a command, and the daemon wrote that down."""
    session = machine.begin("say the beginning", "stream 3 0 word", "run sleep 600", "say the end")
    machine.until_said(session, "run: sleep 600")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    return session


def killed(machine: Machine) -> str:
    """It works, and a prompt is queued behind its turn. Nobody is left to write down how that ends."""
    session = machine.begin("say the beginning", "sleep 600", "say the end")
    machine.until_said(session, "sleep: 600")
    machine.ok("send", session, "say what was queued")
    return session


def completed(machine: Machine) -> str:
    """At its end, and a good one."""
    session = machine.begin("say done")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--completed")
    return session


def cancelled(machine: Machine) -> str:
    """Stopped by the user in the middle of its turn."""
    session = machine.begin("say the beginning", "sleep 600", "say the end")
    machine.until_said(session, "sleep: 600")
    machine.ok("stop", session)
    return session


def asking(machine: Machine) -> str:
    """It waits for an answer."""
    session = machine.begin("ask May I?", "say thank you", options=("--permission", "ask"))
    machine.until_status(session, "asking")
    return session


def limited(machine: Machine) -> str:
    """It has taken all the tokens that it may."""
    session = machine.begin("say all there is", options=("--max-tokens", "1"))
    machine.until_status(session, "asleep")
    return session


def rate_limited(machine: Machine) -> str:
    """It goes on when its rate limit is over; its agent waits with it."""
    session = machine.begin(f"fail rate_limited {_NEVER}", "say at last")
    until(lambda: machine.show(session)["waits_until"], "the rate limit")
    return session


def queued(machine: Machine) -> str:
    """The same without an agent."""
    session = rate_limited(machine)
    machine.ok("stop", session, "--sleep")
    return session


STORIES: tuple[Callable[[Machine], str], ...] = (
    *(asleep, interrupted, completed, cancelled, limited, queued),
    *(rate_limited, asking, killed),  # these have a live agent up to the end
)


def feature(shop: Shop) -> None:
    """A run whose first task is merged and whose second one is at work."""
    plan = shop.plan(task("a"), task("b", "write b.txt b", "run sleep 600", "write late.txt x", needs=["a"]))
    shop.machine.ok("run", "--plan", plan, "--detach")
    until(lambda: shop.events("agent.spawned")[-1:] and "run: sleep 600" in shop.said("b"), "work on b")


def tell(shop: Shop) -> dict[str, str]:
    """All that happens before the power goes; returns the ids of the sessions by the name of their story."""
    (shop.machine.home / ".gitconfig").write_text("[user]\n\tname = somebody\n\temail = somebody@example.invalid\n")
    shop.make()
    told = {story.__name__: story(shop.machine) for story in STORIES}
    feature(shop)
    return told
