"""`rekindle abandon`: ends interrupted runs for good."""

from __future__ import annotations

import click

from rekindle.adapters.journal_file import run_owner
from rekindle.core.journal import event as ev
from rekindle.doors.cli.options import complete_features, json_option, print_json, workspace
from rekindle.doors.cli.outcome import printable
from rekindle.doors.cli.status import quoted
from rekindle.ports.errors import NoOpenRun, OwnedError
from rekindle.ports.journal import NewEvent, Sync


@click.command()
@click.argument("feature", shell_complete=complete_features)
@click.option("--all", "every", is_flag=True, help="Also the older runs that never ended.")
@click.option("--force", is_flag=True, help="Also if its owner was on another host and cannot be asked.")
@json_option
def abandon(feature: str, every: bool, force: bool, as_json: bool) -> None:
    """End the interrupted run of FEATURE for good. Branches, worktrees and files stay as they are."""
    here = workspace()
    analysis, holder = here.analysis(feature)
    if holder is not None and holder.verdict == "alive":
        raise OwnedError(
            f"run {holder.sid} of {feature} is held by pid {holder.pid}", "end that process first, then abandon the run"
        )
    if holder is not None and not force:
        raise OwnedError(
            f"run {holder.sid} of {feature} was started on another host, which may still be at it",
            f"if you know that it is gone: rekindle abandon --force {quoted(feature)}",
        )
    if holder is not None:
        run_owner.forget(str(here.folder(feature)), holder.sid)
        analysis, _ = here.analysis(feature)
    if not analysis.interrupted:
        raise NoOpenRun(f"{feature} has no interrupted run", "`rekindle` shows what is interrupted")
    ended = analysis.interrupted if every else analysis.interrupted[:1]
    journal = here.writable(feature, Sync.ALWAYS)
    try:
        for sid in ended:
            event = NewEvent(ev.SESSION_END, {"reason": "user_cancelled"}, event_id=f"abandon-{sid}")
            journal.append(event, sid=sid)
            run_owner.forget(str(here.folder(feature)), sid)
    finally:
        journal.close()
    left = list(analysis.interrupted[len(ended) :])
    if as_json:
        print_json({"feature": feature, "abandoned": list(ended), "left": left})
        return
    print(f"{feature}: run {printable(', '.join(ended))} is ended (user_cancelled); it will not be resumed.")
    if left:
        print(f"Older runs that never ended: {printable(', '.join(left))} (end them too with --all).")
