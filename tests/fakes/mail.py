"""Messages in memory, between hosts that share one `Fleet`. See `rekindle.ports.mail.Mailbox`."""

from __future__ import annotations

from dataclasses import replace

from rekindle.ports.mail import Mail
from tests.fakes.placements import Fleet


class FakeMail:
    """`fleet.letters` is what all hosts see."""

    def __init__(self, fleet: Fleet, host: str) -> None:
        self.host = host
        self._fleet = fleet

    def post(self, mail: Mail) -> Mail:
        with self._fleet.changed:
            known = self._fleet.letters.setdefault(mail.id, replace(mail, sender=self.host))
            self._fleet.tell()
            return known

    def find(self, mail: str) -> Mail | None:
        return self._fleet.letters.get(mail)

    def due(self) -> list[Mail]:
        with self._fleet.changed:
            return [one for one in self._fleet.letters.values() if one.outcome is None and self._has(one)]

    def take(self, mail: str) -> Mail | None:
        with self._fleet.changed:
            found = self._fleet.letters.get(mail)
            if found is None or found.outcome is not None or not self._has(found):
                return None
            after = self._fleet.last() if found.after is None else found.after
            self._fleet.letters[mail] = replace(found, taken_by=self.host, after=after)
            return self._fleet.letters[mail]

    def settle(self, mail: str, outcome: str, at: float) -> bool:
        with self._fleet.changed:
            found = self._fleet.letters.get(mail)
            return found is not None and self._has(found) and self._end(found, outcome, at)

    def withdraw(self, mail: str, outcome: str, at: float) -> bool:
        with self._fleet.changed:
            found = self._fleet.letters.get(mail)
            return found is not None and found.taken_by is None and self._end(found, outcome, at)

    def forget(self, before: float) -> int:
        with self._fleet.changed:
            old = [one for one, at in self._fleet.settled.items() if at < before]
            for one in old:
                del self._fleet.letters[one], self._fleet.settled[one]
            return len(old)

    def close(self) -> None:
        pass

    def _has(self, mail: Mail) -> bool:
        placed = self._fleet.placed.get(mail.session)
        return placed is not None and placed.host == self.host and placed.is_in_place

    def _end(self, mail: Mail, outcome: str, at: float) -> bool:
        if mail.outcome is not None:
            return False
        self._fleet.letters[mail.id] = replace(mail, outcome=outcome)
        self._fleet.settled[mail.id] = at
        self._fleet.tell()
        return True
