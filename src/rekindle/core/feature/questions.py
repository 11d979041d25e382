"""What a feature that nobody works on asks a person, as a question for the inbox. Pure.

It is the question that `rekindle resume` asks at a terminal, with the same options.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from rekindle.core.feature.outlook import Outlook
from rekindle.core.feature.strays import Stray, told
from rekindle.core.inbox.features import LEAVE, FeatureAsked
from rekindle.core.journal.run import Issue
from rekindle.core.naming_some import some_of
from rekindle.core.terminal_text import quoted

#: The most issues that a question names.
_NAMED: Final = 20
_LEAVE: Final = (LEAVE, "Leave it as it is", "leave")
_KINDS: Final = {"A": "go", "B": "go", "C": "instruct"}


def mark(found: Outlook, strays: Mapping[str, Sequence[Stray]]) -> str:
    """Changes whenever what a person would be asked about does. It does not name the run: a resume begins a new one."""
    about = [
        found.decision.case,
        [[one.sid, one.seq, one.message] for one in found.issues],
        list(found.affected),
        [[name, [one.commit for one in some]] for name, some in strays.items()],
    ]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def asked(
    feature: str, run: str, found: Outlook, strays: Mapping[str, Sequence[Stray]], at: float, *, has_plan: bool
) -> FeatureAsked:
    """The question about a feature whose run is over or was cut."""
    now = mark(found, strays)
    otherwise = f"nothing happens; `rekindle resume {quoted(feature)}` asks the same"
    case = found.decision.case
    if case == "A" and strays:
        return stray_question(feature, run, strays, now, at)
    if case == "A":
        return FeatureAsked(
            at=at,
            run=run,
            kind="interrupted",
            title=f"{feature}: nobody works on it any more; it can continue where it was",
            detail=f"next step: {found.decision.next_step}" if found.decision.next_step else "",
            options=[("go-on", "Continue it", "go"), _LEAVE],
            recommended="go-on",
            otherwise=otherwise,
            mark=now,
        )
    chosen = [one for one in found.decision.options if case == "B" or (has_plan and one.key != "B")]
    options = [(one.key, f"{one.title}: {one.effect}", _KINDS[one.key]) for one in chosen]
    if case == "B":
        first = found.issues[0]
        more = len(found.issues) - 1
        also = f", and {more} more issue{'s'[: more != 1]}" if more else ""
        title = f"{feature}: {_issue(first)}{also}"
    else:
        title = f"{feature}: it was cut before its first checkpoint"
    return FeatureAsked(
        at=at,
        run=run,
        kind="case_b" if case == "B" else "case_c",
        title=title,
        detail="\n".join([*map(_issue, found.issues[1:_NAMED]), *_affected(found)]),
        options=[*options, _LEAVE],
        recommended=options[0][0] if options else LEAVE,
        otherwise=otherwise,
        mark=now,
    )


def stray_question(
    feature: str,
    run: str,
    strays: Mapping[str, Sequence[Stray]],
    mark_: str,
    at: float,
    *,
    choice: str = "",
    text: str = "",
) -> FeatureAsked:
    """What to do with work that is not on its task's branch. `choice` and `text` were answered before."""
    each = [f"task {name}: {', '.join(map(told, some))}" for name, some in strays.items()]
    names = some_of(list(strays), _NAMED)
    return FeatureAsked(
        at=at,
        run=run,
        kind="strays",
        title=f"{feature}: work of task {names} is not on its branch. Take it?",
        detail="\n".join(each),
        options=[("take", "Take it over", "go"), ("drop", "Leave it out; it is kept", "go"), _LEAVE],
        recommended="take",
        otherwise=f"nothing happens; `rekindle resume {quoted(feature)}` asks the same",
        mark=mark_,
        choice=choice,
        text=text,
        tasks=tuple(strays),
    )


def _issue(one: Issue) -> str:
    task = f"task {one.task}: " if one.task else ""
    return f"{task}{one.message or one.type}"


def _affected(found: Outlook) -> list[str]:
    return [f"affected: {some_of(list(found.affected), _NAMED)}"] if found.affected else []
