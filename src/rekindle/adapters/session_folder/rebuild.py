"""Sessions rebuilt from what keepers left on the disk, after the store was damaged.

Facts are made again from evidence and folded as always; what no file tells is left out and reported in a sentence.
Nothing is touched, started or ended here. An attempt whose end is not proven counts as up: its supervisor will check.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.evidence import AttemptEvidence, infer_tokens, lives, read_attempts, read_orders
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.session_file import read_imported, read_session_file
from rekindle.adapters.vault.preflight import last_check
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Created, Cut
from rekindle.core.session.machine import evolve
from rekindle.core.session.react import take
from rekindle.core.session.state import UNKNOWN, Session
from rekindle.core.session.tables import STOPS
from rekindle.keeper.identity import here
from rekindle.keeper.launch import find_leftovers, is_alive
from rekindle.keeper.outcome import EndedBy, ExitRecord
from rekindle.keeper.progress import read_progress
from rekindle.ports.store import Store, commit_one, of_session

_NEVER_TOLD = (
    "No file tells: prompts that were queued and not sent yet, answers to permission requests, receipts, rules that "
    "were changed later, what was still to be written to journals, who asked for what, and who was notified of what."
)


@dataclass(frozen=True)
class RebuiltSession:
    """A session, and the facts that it was folded from."""

    session: Session
    facts: list[AnyFact]


@dataclass(frozen=True)
class Rebuilt:
    """What could be told, and sentences about what could not."""

    sessions: list[RebuiltSession] = field(default_factory=list)
    report: list[str] = field(default_factory=list)


def rebuild(sessions: Path, *, known: Collection[str] = ()) -> Rebuilt:
    """All sessions under the folder, but those that are `known`. Never raises for what is in the files."""
    rebuilt = Rebuilt()
    if not sessions.is_dir():
        return rebuilt
    for folder in sorted(one for one in sessions.iterdir() if one.is_dir() and not one.is_symlink()):
        if folder.name not in known:
            _rebuild_session(folder, rebuilt)
    if rebuilt.sessions:
        rebuilt.report.append(_NEVER_TOLD)
    return rebuilt


def put_back(store: Store, rebuilt: Rebuilt) -> None:
    """Commit what was rebuilt, one transaction per session."""
    for one in rebuilt.sessions:
        commit_one(store, of_session(one.session, one.facts, generation=one.session.generation))


def _rebuild_session(folder: Path, rebuilt: Rebuilt) -> None:
    name = folder.name
    created = read_session_file(folder)
    if isinstance(created, str):
        own = SessionFolder(folder)
        alive = [f" Attempt {one} still runs: {own.attempt(one)}." for one in own.attempts() if lives(folder, one)]
        rebuilt.report.append(f"Session {name} is left out: {created}.{''.join(alive)}")
        return
    imported = read_imported(folder)
    session, facts = take(None, created)
    if imported and isinstance(imported[0], Created):
        session, facts = reduce(evolve, imported[1:], evolve(None, imported[0])), imported
    begun = session.attempt.number if session.attempt is not None else 0
    attempts = [one for one in read_attempts(folder, rebuilt.report) if one.number > begun]
    read_orders(session, attempts, rebuilt.report)
    infer_tokens(session, attempts, rebuilt.report)
    handed = {kept.attempt: kept.handover for kept in handovers.read(str(folder))}
    for index, one in enumerate(attempts):
        if one.number in handed:
            asked = f.ResumeAsked(at=one.at, by="unknown", handover=handed[one.number])
            session = _fold(session, [asked], facts)
        after = attempts[index + 1] if index + 1 < len(attempts) else None
        session = _fold(session, _facts(session, folder, one, after, rebuilt.report), facts)
    rebuilt.sessions.append(RebuiltSession(session, facts))


def _fold(session: Session, found: list[AnyFact], facts: list[AnyFact]) -> Session:
    """Add what was found to the facts. Prompts are sent in order: one that was overtaken had been taken back."""
    for fact in found:
        queued = [prompt.id for prompt in session.queued]
        if isinstance(fact, f.PromptSent) and fact.prompt in queued:
            for prompt in queued[: queued.index(fact.prompt)]:
                session, kept = take(session, f.CancelAsked(at=fact.at, prompt=prompt))
                facts += kept
        session, kept = take(session, fact)
        facts += kept
    return session


def _facts(
    session: Session, folder: Path, one: AttemptEvidence, after: AttemptEvidence | None, report: list[str]
) -> list[AnyFact]:
    """What one attempt adds to the session."""
    number, at, talk = one.number, one.at, one.talk
    generation = one.spec.generation if one.spec is not None else 0
    recorded = _recorded(folder, one) if after is None else None
    facts: list[AnyFact] = [
        f.LaunchIntended(at=at, attempt=number, generation=generation, how=talk.how, token=talk.asked, known=recorded)
    ]
    if one.spec is None:
        facts.append(f.Launched(at=at, attempt=number, folder=one.folder, pid=0))
        facts.append(f.Opened(at=at, attempt=number, how="new", token=talk.token or ""))
        return [*facts, f.Exited(at=at, attempt=number, how_ended="its folder is gone", by_us=False)]
    if one.identity is None:
        return [*facts, *_never_ran(one, after)]
    facts.append(f.Launched(at=at, attempt=number, folder=one.folder, pid=one.identity.agent.pid))
    progress = read_progress(one.folder)
    adopted = max(progress.generation if progress is not None else 0, one.exit.generation if one.exit else 0)
    if adopted > generation:
        facts.append(f.Adopted(at=at, generation=adopted))
    facts += _opening(session, one, recorded)
    return [*facts, *talk.facts, *_end(session.id, one, after, report)]


def _recorded(folder: Path, one: AttemptEvidence) -> list[str] | None:
    """The prompts that the agent's own record had before the newest attempt, if it has not added to it since."""
    if one.talk.how != "load" or one.talk.asked is None or one.talk.prompts:
        return None
    found = last_check(SessionFolder(folder).vault, one.talk.asked)
    return list(found.prompts) if found is not None and found.state not in ("missing", "unsupported") else None


def _opening(session: Session, one: AttemptEvidence, recorded: list[str] | None) -> list[AnyFact]:
    """That the conversation was opened decides what becomes of a turn that was cut before.

    Where no file tells what the agent knew of that turn, it is left to the next attempt, which looks at the record.
    """
    talk, kind = one.talk, one.kind
    if talk.token is None:
        return [talk.refused] if talk.refused is not None else []
    known = _known(session, one)
    is_cut = session.turn is not None and session.turn.state == "cut"
    has_looked = kind.proof == "replay" or known is not None or recorded is not None or bool(talk.prompts)
    if talk.opened == "load" and is_cut and not has_looked:
        return []
    opened = f.Opened(
        at=one.at,
        attempt=one.number,
        how=talk.opened,
        token=talk.token,
        known=known,
        can_load=talk.can_load,
        proof=kind.proof,
        compact=kind.compact,
    )
    return [opened]


def _known(session: Session, one: AttemptEvidence) -> list[str] | None:
    """What the agent showed of its record, or what our own next words prove that it showed."""
    if one.talk.opened != "load":
        return None
    suffix = f"+{one.number}"  # of the words that tell an agent to go on: only said if its record had the prompt
    told = [prompt.removesuffix(suffix) for prompt in one.talk.prompts if prompt.endswith(suffix)]
    return one.talk.known or [prompt.text for prompt in session.prompts if prompt.id in told] or None


def _never_ran(one: AttemptEvidence, after: AttemptEvidence | None) -> list[AnyFact]:
    if one.exit is not None:
        return [f.LaunchFailed(at=one.exit.ended_at, attempt=one.number, message=one.exit.reason)]
    if after is not None:
        return [f.Exited(at=after.at, attempt=one.number, how_ended="it is not known to have run", by_us=False)]
    return []  # on its way, or not: the launch is in doubt as after any crash, and is looked for


def _end(session: str, one: AttemptEvidence, after: AttemptEvidence | None, report: list[str]) -> list[AnyFact]:
    assert one.spec is not None and one.identity is not None
    cut = _cut(one)
    if one.exit is not None:
        record = one.exit
        by_us = record.ended_by is EndedBy.STOP
        lost = sum(part.lost for part in (record.truncated_out, record.truncated_err) if part is not None)
        exited = f.Exited(
            at=record.ended_at,
            attempt=one.number,
            how_ended=_how_ended(record),
            by_us=by_us,
            cut=cut,
            truncated=lost,
        )
        if by_us and record.reason == "given up":
            return [f.GivenUp(at=record.ended_at, attempt=one.number, why="its turn did not go on"), exited]
        if by_us and record.reason in STOPS:
            return [f.StopAsked(at=record.ended_at, by=UNKNOWN, to=record.reason), exited]  # type: ignore[arg-type]
        return [exited]
    if after is not None:  # the next one was only started when this one was proven gone
        return [_without_record(one, after.at, "how it ended is not known", cut)]
    if is_alive(one.folder):
        return []
    place, now = one.identity.place, here()
    if place.machine != now.machine:
        report.append(
            f"Session {session}, attempt {one.number} was started on another machine: it may still run there."
        )
        return []
    if place.boot != now.boot:
        return [_without_record(one, one.at, "the machine was restarted", cut)]
    if place != now or find_leftovers(one.spec.stamp):
        report.append(
            f"Session {session}, attempt {one.number}: its keeper is gone, and processes of it may still run."
        )
        return []
    return [_without_record(one, one.at, "its keeper was killed", cut)]


def _without_record(one: AttemptEvidence, at: float, how_ended: str, cut: Cut | None) -> f.Exited:
    return f.Exited(at=at, attempt=one.number, how_ended=how_ended, by_us=False, cut=cut, unseen=True)


def _how_ended(record: ExitRecord) -> str:
    how = f"signal {record.signal}" if record.signal is not None else f"exit code {record.code}"
    return f"{how} ({record.ended_by.value}: {record.reason})" if record.reason else f"{how} ({record.ended_by.value})"


def _cut(one: AttemptEvidence) -> Cut | None:
    """What was going on when the attempt ended; None if no turn was."""
    turn = one.talk.turn
    if turn is None:
        return None
    progress = one.exit or read_progress(one.folder)
    swept = [process.comm for process in one.exit.swept] if one.exit is not None else []
    something = turn.began or one.talk.is_partial
    said = turn.said or ("(something that was not kept)" if something and not turn.tools else "")
    if progress is None or turn.message <= progress.delivered_n:
        return Cut(said=said, tools=turn.tools, swept=swept, delivered="yes")
    assert one.identity is not None
    is_certain = turn.message > progress.started_n and one.identity.place.boot == here().boot
    return Cut(said=said, tools=turn.tools, swept=swept, delivered="no" if is_certain else "unknown")
