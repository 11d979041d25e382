"""Jobs of a fleet, in the store that its hosts share. See `rekindle.ports.fleet_jobs.FleetJobs`.

A job is placed as a session is, by the same rows: only the host that has it writes about it. Its facts are in the
stream of jobs, under its own id.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from rekindle.adapters.sql_store import databases, schema, shared
from rekindle.adapters.sql_store.codec import Unreadable, decode_told, encode_fact, shown
from rekindle.core.job.facts import JobSubmitted
from rekindle.core.job.state import Job
from rekindle.core.streams import JOB, kind_of
from rekindle.ports.fleet_jobs import NOBODY, PlacedJob
from rekindle.ports.placements import PlacedElsewhere
from rekindle.ports.store import DamagedStore

log = logging.getLogger(__name__)
_Row = sa.Row[*tuple[str, str, str]]


class SharedJobs:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place, host: str) -> None:
        self._host = host
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)
        #: the jobs that nobody can read, and that were named in the log
        self._left_out: set[str] = set()

    def submit(self, fact: JobSubmitted, queue: str) -> PlacedJob:
        """Keep a job that nobody drives yet."""
        row = {"session": fact.job, "host": NOBODY, "since": fact.at, "is_in_place": True}
        told = {"stream": JOB.kind, "subject": fact.job, "at": fact.at, "kind": kind_of(fact)}
        with databases.transaction(self._engine, self._place, writes=True) as connection:
            made = insert(shared.placements).values(row).on_conflict_do_nothing()
            if connection.scalar(made.returning(shared.placements.c.session)) is not None:
                connection.execute(insert(shared.fleet_queues).on_conflict_do_nothing(), {"name": queue})
                databases.append_numbered(connection, [{**told, "body": encode_fact(fact)}])
            return self._one(connection, fact.job)

    def find(self, job: str) -> PlacedJob | None:
        """One job."""
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            rows = connection.execute(_facts().where(shared.placements.c.session == job)).all()
            return next(iter(self._read(rows)), None)

    def everything(self) -> list[PlacedJob]:
        """All jobs of the fleet."""
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            rows = connection.execute(_facts()).all()
        told: dict[str, list[_Row]] = {}
        for row in rows:
            told.setdefault(row.session, []).append(row)
        found = [one for name, some in told.items() for one in self._read_if_whole(name, some)]
        return sorted(found, key=lambda one: (one.job.submitted_at, one.job.id))

    def take(self, job: str, *, before: str, at: float) -> PlacedJob:
        """Have the job from now on."""
        table = shared.placements
        here = (table.c.session == job) & (table.c.host == before)
        with databases.transaction(self._engine, self._place, writes=True) as connection:
            made = connection.execute(sa.update(table).where(here).values(host=self._host, since=at, is_in_place=True))
            if made.rowcount != 1:
                raise PlacedElsewhere(f"job {job} is not on {before or 'no host'}", "look again, then decide")
            return self._one(connection, job)

    def queues(self) -> list[str]:
        """The queues that a job was ever submitted to."""
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            return sorted(connection.scalars(sa.select(shared.fleet_queues.c.name)))

    def close(self) -> None:
        """Release the store."""
        self._engine.dispose()

    def _one(self, connection: sa.Connection, job: str) -> PlacedJob:
        rows = connection.execute(_facts().where(shared.placements.c.session == job)).all()
        return next(iter(self._read(rows)))

    def _read_if_whole(self, name: str, rows: list[_Row]) -> list[PlacedJob]:
        """One of many: a job that nobody can read is no reason to show none. `find` says what is wrong with it."""
        try:
            return self._read(rows)
        except DamagedStore as error:
            if name not in self._left_out:
                self._left_out.add(name)
                log.warning("job %s is left out of the fleet's jobs: %s", shown(name), error.message)
            return []

    def _read(self, rows: Iterable[_Row]) -> list[PlacedJob]:
        jobs: dict[str, Job] = {}
        hosts: dict[str, str] = {}
        try:
            for name, host, body in rows:
                jobs[name] = JOB.evolve(jobs.get(name), decode_told(JOB.kind, body))  # type: ignore[arg-type]
                if jobs[name].id != name:
                    raise Unreadable(f"it says that it is job {jobs[name].id[:60]!r}")
                hosts[name] = host
        except (
            Unreadable,
            TypeError,
            AttributeError,
            ValueError,
        ) as error:  # or facts in an order that is none
            raise DamagedStore(
                f"{self._place}: job {name} of the fleet cannot be read: {error}",
                "Its facts were changed, or a newer rekindle wrote them: use that one on every host.",
            ) from error
        return [PlacedJob(job, hosts[name]) for name, job in jobs.items()]


def _facts() -> sa.Select[*tuple[str, str, str]]:
    """The facts of placed jobs, in order. A session has no facts in the stream of jobs."""
    table, facts = shared.placements, schema.facts
    both = table.join(facts, (facts.c.subject == table.c.session) & (facts.c.stream == JOB.kind))
    return sa.select(table.c.session, table.c.host, facts.c.body).select_from(both).order_by(facts.c.seq)
