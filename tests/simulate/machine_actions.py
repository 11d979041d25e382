"""What happens to the machine: processes are killed, frozen and restarted, the disk is full, the clock is set."""

from __future__ import annotations

from rekindle.core.session.plan import wants_agent
from tests.simulate.actions import Action
from tests.simulate.house import House
from tests.simulate.stage import Stage

#: A daemon whose lock somebody else holds leaves after so many seconds, if nobody has told it before.
_LEAVES = 2.0


class MachineActions(Stage):
    """Nothing here asks a daemon for anything."""

    def _kill(self, action: Action, how: str) -> None:
        if (session := self.session_of(action)) is not None:
            self.world.kill(session, how)

    def do_kill_agent(self, action: Action) -> None:
        self._kill(action, "killed by SIGKILL")

    def do_kill_keeper(self, action: Action) -> None:
        self._kill(action, "its keeper was killed")

    def do_kill_guard(self, action: Action) -> None:
        self._kill(action, "its guard and keeper were killed")

    def do_kill_daemon(self, _action: Action) -> None:
        if self.houses and self.houses[-1] is not self.frozen:
            self.note_death()
            self.houses.pop().kill()

    def do_restart_daemon(self, _action: Action) -> None:
        if (house := self.served) is not None:
            house.stop()
            self.time.run(5.0)
            self.clear_up()
        self.do_kill_daemon(_action)
        self.start_daemon()

    def do_freeze_daemon(self, _action: Action) -> None:
        if self.frozen is None and (house := self.served) is not None:
            self.frozen = house
            self.note_death()
            house.loop.is_frozen = True
            self.start_daemon()

    def do_thaw_daemon(self, _action: Action) -> None:
        """A daemon that goes on finds that another one has taken over; where none has, it is ended."""
        if self.frozen is None:
            return
        house, self.frozen = self.frozen, None
        self.houses.remove(house)
        if self.served is None or not self._is_overtaken(house):
            house.kill()
            return
        self.was_overtaken = True
        house.loop.is_frozen = False
        house.loop.call_later(_LEAVES, house.stop)
        self.houses.insert(0, house)

    def _is_overtaken(self, house: House) -> bool:
        """Whether its successor speaks for every agent that it spoke for. Else the daemon's lock has to end it.

        No fence stops one that is just about to start an agent, to begin a session, to run a gate or to note that the
        clock was set under a session without an agent, nor one that has a request to answer: it reads what its
        successor wrote. One that drives a feature has that feature's lock.
        """
        stored, live = self.disk.content.sessions, [one for one in house.engine.at_hand() if one.is_up]
        asked = any(one.state == "waiting" for one in house.requests) or house.features.is_busy
        starts = any(wants_agent(one) or one.gate is not None for one in house.engine.at_hand() if not one.is_up)
        starts |= any(house.engine.is_clock_set(one.id) for one in house.engine.at_hand() if not one.is_up)
        starts |= any(one.attempt is not None and one.attempt.status == "launching" for one in live)
        return not asked and not starts and all(stored[one.id][0] > one.generation for one in live)

    def do_reboot(self, _action: Action) -> None:
        self.kill_houses()
        for session in list(dict.fromkeys(name for name, _ in self.world.attempts)):
            self.world.kill(session, "its guard and keeper were killed")

    def do_fill_disk(self, _action: Action) -> None:
        self.world.is_full = True
        self.world.worktrees.set_full(True)

    def do_free_disk(self, _action: Action) -> None:
        self.world.is_full = False
        self.world.worktrees.set_full(False)

    def do_sync(self, action: Action) -> None:
        self.world.syncs = action.arg

    def do_hide_program(self, _action: Action) -> None:
        self.world.obstacle = "the program is not there"

    def do_show_program(self, _action: Action) -> None:
        self.world.obstacle = None

    def do_spoil_start(self, _action: Action) -> None:
        self.world.failing_starts += 1

    def do_set_clock(self, action: Action) -> None:
        for house in [one for one in self.houses if one is not self.frozen and one.number < self.newest]:
            house.kill()  # it would note that under every session: its lock alone stops it
            self.houses.remove(house)
        by = float(action.arg)
        self.world.set_clock(by)
        self.world.is_ahead |= by > 0 and self.served is None

    def do_forget(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            self.world.forget(session)

    def do_damage(self, action: Action) -> None:
        if (session := self.session_of(action)) is not None:
            self.world.damage(session)

    def do_model(self, action: Action) -> None:
        kind, _, seconds = action.arg.partition(" ")
        self.world.model = None if kind == "well" else (kind, float(seconds))

    def do_wait(self, _action: Action) -> None:
        pass
