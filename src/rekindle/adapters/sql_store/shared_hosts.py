"""The hosts of a fleet in the store that they share. See `rekindle.ports.hosts.Hosts`."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from rekindle.adapters.sql_store import databases
from rekindle.adapters.sql_store.schema import sessions
from rekindle.adapters.sql_store.shared import hosts as table
from rekindle.adapters.sql_store.shared import placements
from rekindle.ports.hosts import NEVER_SECONDS, SILENT_SECONDS, HostReport, HostState, SeenHost

#: The server's clock: hosts may disagree about the time.
_NOW = sa.func.extract("epoch", sa.func.clock_timestamp()).cast(sa.Double)


class SharedHosts:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place, host: str) -> None:
        self.host = host
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)

    def tell(self, report: HostReport) -> HostState:
        """This host is there, and this is how it is."""
        told = {"seen_at": _NOW, "report": msgspec.json.encode(report).decode()}
        made = insert(table).values(host=self.host, state="ready", **told)
        with databases.transaction(self._engine, self._place) as connection:
            done = made.on_conflict_do_update(index_elements=["host"], set_=told).returning(table.c.state)
            state = _state(connection.scalar(done))
        return "cordoned" if state == "unknown" else state

    def change(self, state: HostState) -> None:
        """Change the state of this host."""
        report = msgspec.json.encode(HostReport()).decode()
        made = insert(table).values(host=self.host, state=state, seen_at=_NOW, report=report)
        with databases.transaction(self._engine, self._place) as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["host"], set_={"state": state}))

    def everything(self) -> list[SeenHost]:
        """All hosts, by name."""
        both = placements.join(sessions, sessions.c.id == placements.c.session)  # jobs are placed, too
        count = sa.select(sa.func.count()).select_from(both).where(placements.c.host == table.c.host).scalar_subquery()
        query = sa.select(table.c.host, table.c.state, table.c.report, (_NOW - table.c.seen_at).label("ago"), count)
        with databases.transaction(self._engine, self._place) as connection:
            rows = connection.execute(query.order_by(databases.in_bytes(self._engine, table.c.host))).all()
        return [
            SeenHost(
                host=name,
                state=_state(state),
                seen_seconds_ago=_ago(ago),
                report=_report(report),
                sessions=placed,
            )
            for name, state, report, ago, placed in rows
        ]

    def forget(self, host: str, silent: float) -> bool:
        """Leave out a host that has not told anything for so long."""
        gone = (table.c.host == host) & (_NOW - table.c.seen_at >= silent)
        with databases.transaction(self._engine, self._place) as connection:
            return connection.execute(sa.delete(table).where(gone)).rowcount == 1

    def close(self) -> None:
        """Release the store."""
        self._engine.dispose()


def _ago(told: float) -> float:
    """How long ago a host was seen. A time that lies ahead, or is none, was not written by a host that is there."""
    return max(0.0, told) if math.isfinite(told) and told > -SILENT_SECONDS else NEVER_SECONDS


def _state(told: object) -> HostState | Literal["unknown"]:
    """The state in a row, which a newer version may have written, or anybody."""
    try:
        return msgspec.convert(told, HostState)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        return "unknown"


def _report(told: str) -> HostReport:
    try:
        return msgspec.json.decode(told, type=HostReport)
    except msgspec.DecodeError:
        return HostReport()
