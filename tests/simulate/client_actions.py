"""What people do at their terminals: they begin sessions, send, look, answer, cancel, stop and resume."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal, cast

from rekindle.app.requests import BeginRequest, ResumeRequest
from tests.simulate.actions import SESSIONS, Action
from tests.simulate.house import AGENT, House, Request
from tests.simulate.rulebooks import ANSWERING, rules_of
from tests.simulate.stage import Client, Prompted, Replied, Stage


class ClientActions(Stage):
    """Each client asks the daemon that answers, and one is started where there is none."""

    def do_begin(self, action: Action) -> None:
        policy, permission, text = action.arg.split(" ", 2)
        self.begin(action, text, policy, permission)

    def do_begin_ruled(self, action: Action) -> None:
        book, _, text = action.arg.partition(" ")
        self.begin(action, text, "ask", "ask", book)

    def begin(self, action: Action, text: str, policy: str, permission: str, book: str = "") -> None:
        """A client begins a session, with the rules of a runbook perhaps."""
        if len(self.sessions) >= SESSIONS:
            return
        session = f"{len(self.sessions) + 1:010x}"
        self.books[session] = book
        prompt = text.partition(":")[0]
        self.sessions.append(session)
        self.permissions[session] = permission if book not in ANSWERING else "by rule"
        self.prompted[prompt] = Prompted(session, prompt, text)
        asked = BeginRequest(
            session=session,
            prompt_id=prompt,
            agent=AGENT,
            cwd="/",
            prompt=text,
            env={},
            policy=policy,
            permission=permission,
            rules=rules_of(book) if book else None,
            rules_source=f"{book}.toml" if book else "",
        )
        client = self.clients[action.client]
        self.ask(client, "begin", prompt, Request("begin", beginning(asked)))

    def do_send(self, action: Action) -> None:
        session = self.session_of(action)
        if session is not None:
            self.send(self.clients[action.client], session, action.arg)

    def send(self, client: Client, session: str, text: str) -> Request:
        """A client sends a prompt under an id of its own."""
        prompt = text.partition(":")[0]
        self.prompted[prompt] = Prompted(session, prompt, text)
        request = Request("send", lambda house: house.service.send(session, text, prompt))
        return self.ask(client, "send", prompt, request)

    def do_again(self, action: Action) -> None:
        client = self.clients[action.client]
        before = client.last
        found = next((one for one in self.requests if one[2] is before), None)
        if before is not None and found is not None:
            self.ask(client, found[0], found[1], Request(before.what, before.ask))

    def do_look(self, action: Action) -> None:
        self.look(self.clients[action.client])

    def look(self, client: Client) -> None:
        """Have a client look at the open questions."""

        async def shown(house: House) -> None:
            client.screen = (await house.questions.open()).questions

        self.house.ask(Request("look", shown))

    def do_answer(self, action: Action) -> None:
        client = self.clients[action.client]
        if client.screen:
            self.answer(client, client.screen[action.who % len(client.screen)], action.arg)

    def answer(self, client: Client, question: dict[str, Any], option: str) -> None:
        """A client answers a question that it sees; where that does not offer the option, with the first it offers."""
        name, offered = str(question["id"]), [str(one["id"]) for one in question["options"]]
        chosen = option if option in offered else offered[0]
        request = Request("answer", lambda house: house.questions.answer(name, chosen, by=client.name))
        self.replied.append(Replied(str(question["title"]), chosen, name, client.name, request))
        self.ask(client, "answer", name, request)

    def do_cancel(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            request = Request("cancel", lambda house: house.service.cancel(session))
            self.ask(self.clients[action.client], "cancel", session, request)

    def do_stop(self, action: Action) -> None:
        if (session := self.session_of(action)) is None:
            return
        to = cast(Literal["asleep", "cancelled", "completed"], action.arg)
        if to != "asleep":
            self.ended.add(session)
        client = self.clients[action.client]
        request = Request("stop", lambda house: house.service.stop(session, to=to, by=client.name))
        self.ask(client, "stop", session, request)

    def do_resume(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            self.resume(self.clients[action.client], session, kill=bool(action.arg))

    def resume(
        self, client: Client, session: str, *, kill: bool = False, limits: dict[str, Any] | None = None
    ) -> Request:
        """A client brings a session back."""
        asked = ResumeRequest(session=session, by=client.name, kill=kill, limits=limits)
        return self.ask(client, "resume", session, Request("resume", lambda house: house.service.resume(asked)))

    def do_resume_all(self, action: Action) -> None:
        client = self.clients[action.client]
        request = Request("resume all", lambda house: house.service.resume_all(by=client.name))
        self.ask(client, "resume_all", "", request)


def beginning(asked: BeginRequest) -> Callable[[House], Coroutine[Any, Any, Any]]:
    """What a client asks for with such a request."""
    return lambda house: house.beginnings.run(asked)
