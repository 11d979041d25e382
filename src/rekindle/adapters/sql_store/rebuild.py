"""Sessions rebuilt from what keepers left on the disk, after the store was damaged.

Facts are made again from evidence and folded as ever; what no file tells is left out and reported in a sentence.
Nothing is touched, started or ended here. An attempt whose end is not proven is left up: whoever supervises it looks.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from rekindle.adapters import files, handovers
from rekindle.adapters.sql_store.codec import Unreadable, decode_fact, encode_fact
from rekindle.adapters.sql_store.spools import Conversation, Turn, read_conversation
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Created, Cut
from rekindle.core.session.machine import Session, evolve, is_ours
from rekindle.keeper.errors import KeeperError
from rekindle.keeper.identity import Identity, here, read_identity
from rekindle.keeper.launch import find_leftovers, is_alive
from rekindle.keeper.outcome import EndedBy, ExitRecord, read_exit
from rekindle.keeper.progress import read_progress
from rekindle.keeper.spec import Layout, Spec, read_spec
from rekindle.ports.store import Store

SESSION_FILE = "session.json"
#: The facts that a session from another machine came with.
IMPORTED_FILE = "imported.jsonl"

_NEVER_TOLD = (
    "No file tells: prompts that were queued and not sent yet, answers to permission requests, receipts, "
    "what was still to be written to journals, and who asked for what."
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


def write_session_file(folder: Path, created: Created) -> None:
    """Keep the beginning of a session where its keepers are. On disk when this returns; call it at creation."""
    files.make_folder(str(folder.parent))
    folder.mkdir(mode=0o700, exist_ok=True)
    files.sync_folder(str(folder.parent))
    files.replace(folder / SESSION_FILE, encode_fact(created).encode(), mode=0o600, durable=True)


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
        store.commit(one.session, one.facts, generation=one.session.generation)


@dataclass
class _Evidence:
    """What one incarnation folder has. `spec` None: only inferred from the attempt behind it."""

    number: int
    folder: str
    spec: Spec | None
    identity: Identity | None
    exit: ExitRecord | None
    talk: Conversation
    at: float


def _rebuild_session(folder: Path, rebuilt: Rebuilt) -> None:
    name = folder.name
    attempts = _attempts(folder, rebuilt.report)
    created = _created(folder)
    if isinstance(created, str):
        alive = [f" Attempt {one.number} still runs: {one.folder}." for one in attempts if is_alive(one.folder)]
        rebuilt.report.append(f"Session {name} is left out: {created}.{''.join(alive)}")
        return
    facts: list[AnyFact] = [created]
    imported = read_imported(folder)
    if imported:
        facts = imported
        attempts = [one for one in attempts if one.number > _last_attempt(imported)]
    _infer_tokens(name, attempts, rebuilt.report)
    texts: dict[str, str] = {}
    handed = {kept.attempt: kept.handover for kept in handovers.read(str(folder))}
    for index, one in enumerate(attempts):
        if one.number in handed:
            facts.append(f.ResumeAsked(at=one.at, by="unknown", handover=handed[one.number]))
        after = attempts[index + 1] if index + 1 < len(attempts) else None
        facts += _facts(name, one, after, texts, rebuilt.report)
        texts |= {turn.prompt: turn.text for turn in one.talk.turns}
    session: Session | None = None
    for fact in facts:
        session = evolve(session, fact)
    assert session is not None
    rebuilt.sessions.append(RebuiltSession(session, facts))


def read_imported(folder: Path) -> list[AnyFact]:
    """The facts that a session came with from another machine; none if it was begun here, or they cannot be read."""
    try:
        return [
            decode_fact(line.decode("utf-8", "surrogatepass"))
            for line in files.read(folder / IMPORTED_FILE).splitlines()
        ]
    except (OSError, Unreadable, UnicodeDecodeError):
        return []


def _last_attempt(facts: list[AnyFact]) -> int:
    return max((fact.attempt for fact in facts if isinstance(fact, f.LaunchIntended)), default=0)


def _created(folder: Path) -> Created | str:
    """The first fact, or why there is none."""
    try:
        fact = decode_fact(files.read(folder / SESSION_FILE).decode())
    except (OSError, Unreadable, UnicodeDecodeError) as error:
        return f"{SESSION_FILE} cannot be read ({error})"
    if not isinstance(fact, Created) or fact.session != folder.name:
        return f"{SESSION_FILE} is not about it"
    return fact


def _attempts(folder: Path, report: list[str]) -> list[_Evidence]:
    numbers = sorted(int(one.name) for one in folder.iterdir() if one.name.isdecimal() and one.name.isascii())
    found = []
    for number in numbers:
        place = str(folder / str(number))
        try:
            spec = read_spec(place)
            at = os.stat(Layout(place).spec).st_mtime
            identity, record = read_identity(place), read_exit(place)
        except (OSError, ValueError, AttributeError, RecursionError, KeeperError) as error:
            report.append(f"Session {folder.name}, attempt {number} is left out: its files cannot be read ({error}).")
            continue
        talk = read_conversation(place, number) if identity is not None else Conversation()
        report += [f"Session {folder.name}, attempt {number}: {problem}." for problem in talk.problems]
        at = identity.started_at if identity is not None else at
        found.append(_Evidence(number, place, spec, identity, record, talk, at))
    return found


def _infer_tokens(session: str, attempts: list[_Evidence], report: list[str]) -> None:
    """A token that was asked to be loaded had been opened before, even if the folder that showed it is gone."""
    open_before: str | None = None
    for one in list(attempts):
        asked = one.talk.asked
        if asked is not None and asked != open_before:
            index = attempts.index(one)
            before = attempts[index - 1] if index else None
            if before is not None and before.talk.token is None and before.identity is not None:
                before.talk.token = asked
            elif one.number > (before.number if before is not None else 0) + 1:
                talk = Conversation(token=asked)
                attempts.insert(index, _Evidence(one.number - 1, "", None, None, None, talk, one.at))
            else:
                report.append(f"Session {session}: who opened the conversation {asked} cannot be told.")
        open_before = one.talk.token or asked or open_before


def _facts(
    session: str, one: _Evidence, after: _Evidence | None, texts: dict[str, str], report: list[str]
) -> list[AnyFact]:
    """`texts` are the prompts of the attempts before."""
    number, at = one.number, one.at
    generation = one.spec.generation if one.spec is not None else 0
    facts: list[AnyFact] = [
        f.LaunchIntended(at=at, attempt=number, generation=generation, how=one.talk.how, token=one.talk.asked)
    ]
    if one.spec is None:
        facts.append(f.Launched(at=at, attempt=number, folder=one.folder, pid=0))
        facts.append(f.Opened(at=at, attempt=number, how="new", token=one.talk.token or ""))
        return [*facts, f.Exited(at=at, attempt=number, how_ended="its folder is gone", by_us=False)]
    if one.identity is None:
        return [*facts, *_never_ran(one, after)]
    facts.append(f.Launched(at=at, attempt=number, folder=one.folder, pid=one.identity.agent.pid))
    progress = read_progress(one.folder)
    adopted = max(progress.generation if progress is not None else 0, one.exit.generation if one.exit else 0)
    if adopted > generation:
        facts.append(f.Adopted(at=at, generation=adopted))
    if one.talk.token is not None:
        known = _known(one, texts)
        facts.append(f.Opened(at=at, attempt=number, how=one.talk.opened, token=one.talk.token, known=known))
    for turn in one.talk.turns:
        facts += _turn_facts(number, at, turn)
    return [*facts, *_end(session, one, after, report)]


def _known(one: _Evidence, texts: dict[str, str]) -> list[str] | None:
    """What the agent showed of its record, or what our own next words prove that it showed."""
    if one.talk.opened != "load":
        return None
    suffix = f"+{one.number}"  # of the words that tell an agent to go on: only said if its record had the prompt
    told = [turn.prompt.removesuffix(suffix) for turn in one.talk.turns if turn.prompt.endswith(suffix)]
    return one.talk.known or [texts[prompt] for prompt in told if prompt in texts] or None


def _turn_facts(number: int, at: float, turn: Turn) -> list[AnyFact]:
    by = "rekindle" if is_ours(turn.prompt) else "user"
    facts: list[AnyFact] = [
        f.PromptQueued(at=at, prompt=turn.prompt, text=turn.text, by=by),
        f.PromptSent(at=at, attempt=number, prompt=turn.prompt, message=turn.message, text=turn.text),
    ]
    if turn.began:
        facts.append(f.TurnBegan(at=at, attempt=number, prompt=turn.prompt))
    if turn.answer is not None and "result" in turn.answer:
        reason = str(turn.answer["result"].get("stopReason", "unknown"))
        facts.append(f.TurnFinished(at=at, attempt=number, prompt=turn.prompt, stop_reason=reason))
    elif turn.answer is not None:
        message = str(turn.answer["error"].get("message", "unknown"))
        facts.append(f.TurnFailed(at=at, attempt=number, prompt=turn.prompt, error="other", message=message))
    return facts


def _never_ran(one: _Evidence, after: _Evidence | None) -> list[AnyFact]:
    if one.exit is not None:
        return [f.LaunchFailed(at=one.exit.ended_at, attempt=one.number, message=one.exit.reason)]
    if after is not None:
        return [f.Exited(at=after.at, attempt=one.number, how_ended="it is not known to have run", by_us=False)]
    return []  # on its way, or not: the launch is in doubt as after any crash, and is looked for


def _end(session: str, one: _Evidence, after: _Evidence | None, report: list[str]) -> list[AnyFact]:
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
        if by_us and record.reason in ("asleep", "cancelled", "completed"):
            return [f.StopAsked(at=record.ended_at, by="unknown", to=record.reason), exited]  # type: ignore[arg-type]
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


def _without_record(one: _Evidence, at: float, how_ended: str, cut: Cut | None) -> f.Exited:
    return f.Exited(at=at, attempt=one.number, how_ended=how_ended, by_us=False, cut=cut)


def _how_ended(record: ExitRecord) -> str:
    how = f"signal {record.signal}" if record.signal is not None else f"exit code {record.code}"
    return f"{how} ({record.ended_by.value}: {record.reason})" if record.reason else f"{how} ({record.ended_by.value})"


def _cut(one: _Evidence) -> Cut | None:
    """What was going on when the attempt ended; None if no turn was."""
    turn = next((turn for turn in one.talk.turns if turn.answer is None), None)
    if turn is None:
        return None
    progress = one.exit or read_progress(one.folder)
    swept = [process.comm for process in one.exit.swept] if one.exit is not None else []
    something = turn.began or one.talk.is_partial
    said = turn.said or ("(something that was not kept)" if something and not turn.tools else "")
    if progress is None or turn.message <= progress.delivered_n:
        return Cut(said=said, tools=list(turn.tools.values()), swept=swept, delivered="yes")
    assert one.identity is not None
    is_certain = turn.message > progress.started_n and one.identity.place.boot == here().boot
    return Cut(said=said, tools=list(turn.tools.values()), swept=swept, delivered="no" if is_certain else "unknown")
