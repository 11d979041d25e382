"""What concerns several sessions, or what they do by themselves: holds, a limit that many wait for, agents that die."""

from __future__ import annotations

from rekindle.app.requests import BeginRequest
from tests.simulate.actions import Action
from tests.simulate.agents import SICK_SECONDS
from tests.simulate.client_actions import ClientActions, beginning
from tests.simulate.house import AGENT, Request
from tests.simulate.machine_actions import MachineActions
from tests.simulate.stage import Prompted

#: The prompts of a crowd have these numbers and up.
_CROWD = 500


class GovernedActions(ClientActions, MachineActions):
    """A person may hold a session, or hurry it; many of them may meet the same limit."""

    def do_hold(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            client = self.clients[action.client]
            request = Request("hold", lambda house: house.holding.hold(session, by=client.name))
            self.ask(client, "hold", session, request)

    def do_hurry(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            client = self.clients[action.client]
            request = Request("hurry", lambda house: house.holding.hurry(session, by=client.name))
            self.ask(client, "hurry", session, request)

    def do_sick(self, action: Action) -> None:
        self.world.is_sick = action.arg in SICK_SECONDS
        self.world.sick_seconds = SICK_SECONDS.get(action.arg, self.world.sick_seconds)

    def do_answer_killed(self, action: Action) -> None:
        """The daemon is killed while it hears an answer; the client, which was told nothing, answers again."""
        client = self.clients[action.client]
        option, _, seconds = action.arg.partition(" ")
        if not client.screen:
            return
        question = client.screen[action.who % len(client.screen)]
        self.answer(client, question, option)
        self.time.run(float(seconds))
        self.do_kill_daemon(action)
        self.answer(client, question, option)

    def do_crowd(self, action: Action) -> None:
        """Many sessions begin at once, and meet a limit that ends at the same moment for all of them."""
        number, seconds = action.arg.split()
        self.world.limit_ends = self.time.now + float(seconds)
        client = self.clients[action.client]
        for count in range(int(number)):
            session, prompt = f"{len(self.sessions) + 1:010x}", f"p{_CROWD + count}"
            text = f"{prompt}: say tool"
            self.sessions.append(session)
            self.books[session], self.permissions[session] = "", "all"
            self.prompted[prompt] = Prompted(session, prompt, text)
            asked = BeginRequest(
                session=session,
                prompt_id=prompt,
                agent=AGENT,
                cwd="/",
                prompt=text,
                env={},
                policy="continue",
                permission="all",
                limits={"priority": count % 3 - 1},
            )
            self.ask(client, "begin", prompt, Request("begin", beginning(asked)))
