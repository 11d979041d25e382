"""`rekindle session dropped`: what a dehydration left behind, shown and searched."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Final

import click
import msgspec

from rekindle.app.left_behind import DroppedConversations, LeftBehind, excerpt
from rekindle.core.skill.surroundings import conversation_of
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

_SESSION: Final = re.compile(r"[0-9a-f]{4,10}")
#: How many entries are shown at most; --json has all of them.
_MOST: Final = 40


@click.command()
@click.argument("what", required=False, metavar="[DIR|SESSION]")
@click.option("--search", metavar="WORDS", help="Only what contains all of these words.")
@json_option
def dropped(what: str | None, search: str | None, as_json: bool) -> None:
    """Show or search what earlier conversations left behind.

    For a skill session (DIR): the summaries that earlier agents left, and the conversation that it is worked in. For
    SESSION, an id as `rekindle ps` shows it: everything that was said and done before its newest conversation began.
    """
    if what is not None and _SESSION.fullmatch(what) and not os.path.exists(what):
        _of_session(what, search or "", as_json=as_json)
        return
    sessions = use_cases().skill_sessions()
    folder = sessions.to_show(what)
    wish = (search or "").casefold()
    found = sessions.folders.dropped(folder)
    wanted = [one for one in found if wish in json.dumps(one, ensure_ascii=False).casefold()]
    conversation = sessions.load(folder).conversation
    behind = _behind(conversation, search or "") if conversation else None
    if as_json:
        print_json({"folder": folder, "dropped": wanted, "conversation": msgspec.to_builtins(behind)})
        return
    for one in wanted:
        _show_summary(one)
    if behind is not None and behind.entries:
        _show(behind, search or "")
    elif not wanted:
        print("Nothing was left behind." if not found else "Nothing that was left behind contains that.")


def _dropped() -> DroppedConversations:
    cases = use_cases()
    return DroppedConversations(
        cases.conversations(), cases.ancestry(), cases.sessions().meant, conversation_of(os.environ)
    )


def _behind(session: str, search: str) -> LeftBehind | None:
    """None: it is another machine's, or not for this agent to see."""
    try:
        return _dropped().of(session, search)
    except RekindleError:
        return None


def _of_session(word: str, search: str, *, as_json: bool) -> None:
    found = _dropped().of(word, search)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    _show(found, search)
    if not found.entries:
        print("Nothing that was left behind contains that." if found.total else "Nothing was left behind.")


def _show(found: LeftBehind, search: str) -> None:
    for one in found.entries[:_MOST]:
        print_lines([f"attempt {one.attempt}  {one.kind:9}  {printable(excerpt(one.text, search))}"])
    more = len(found.entries) - _MOST
    if more > 0:
        print(f"… and {more} more (--json has all of them, --search WORDS finds some).")


def _show_summary(one: dict[str, Any]) -> None:
    context = one.get("context") if isinstance(one.get("context"), dict) else {}
    print_lines([f"{printable(str(one.get('at')))} at {printable(str(one.get('phase')))}"])
    print_lines([f"  {printable(f'{key}: {value}')}" for key, value in (context or {}).items()])
