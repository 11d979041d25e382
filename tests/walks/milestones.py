"""The milestones of each walk, by hand: one line per function, in the order in which they are called first.

A line is `process: module.function`, as the tracer writes it: `python -m tests.walks --list NAME` prints all that a
walk passes. A milestone needs a docstring, of which the page shows the first sentence. Each has to be a consequence of
the one before it: what two processes do side by side comes now in one order and now in the other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Milestone:
    """A function that a walk has to pass, and the process in which it does."""

    process: str
    function: str

    def __str__(self) -> str:
        return f"{self.process}: {self.function}"


@dataclass(frozen=True)
class Walk:
    """A way through the house."""

    name: str
    title: str
    about: str
    lines: str

    @property
    def milestones(self) -> list[Milestone]:
        pairs = [line.strip().partition(": ") for line in self.lines.strip().splitlines()]
        return [Milestone(process, function) for process, _, function in pairs]


WALKS = (
    Walk(
        "track",
        "From track to analyse",
        "`rekindle track` appends an event to a feature's journal, `rekindle analyze` reads it. No daemon is needed.",
        """
        rekindle track: entry.main
        rekindle track: doors.cli.outcome.run_guarded
        rekindle track: doors.cli.commands.track.track
        rekindle track: app.tracking.Tracking.track
        rekindle track: core.journal.draft.draft
        rekindle track: adapters.workspace.git_workspace.open_workspace
        rekindle track: adapters.workspace.git_workspace.GitWorkspace.writable
        rekindle track: adapters.journal_file.journal.FileJournal.append
        rekindle track: adapters.journal_file.append.Appender.append
        rekindle track: adapters.journal_file.lock.open_locked
        rekindle track: adapters.journal_file.head.Head.catch_up
        rekindle track: adapters.journal_file.append.encode
        rekindle track: adapters.journal_file.lock.release
        rekindle track: adapters.journal_file.append.Appender.sync
        rekindle analyze: entry.main
        rekindle analyze: doors.cli.commands.analyze.analyze
        rekindle analyze: app.journal_care.JournalCare.analyse
        rekindle analyze: adapters.workspace.git_workspace.GitWorkspace.analysis
        rekindle analyze: adapters.journal_file.proven.ProvenReader.state
        rekindle analyze: adapters.journal_file.read.read_state
        rekindle analyze: core.journal.stream.StreamFold.feed
        rekindle analyze: core.journal.run_events.evolve
        rekindle analyze: core.journal.analysis.analyse
        rekindle analyze: core.journal.analysis.decide
        rekindle analyze: doors.cli.commands.analyze.screen
        """,
    ),
    Walk(
        "answer",
        "From prompt to answer",
        "`rekindle run PROMPT` with the scripted agent, on a machine where no daemon runs yet.",
        """
        rekindle run: doors.cli.commands.run.run
        rekindle run: app.running.SessionStarts.begin
        rekindle run: adapters.daemon_socket.client.DaemonClient.ask
        rekindle run: adapters.daemon_socket.client.start_daemon
        daemon: daemon.serve
        daemon: doors.socket.peer.Peer.is_inside
        daemon: app.beginnings.Beginnings.run
        daemon: runtime.engine.Engine.create
        daemon: adapters.sql_store.store.SqlStore._put_session
        daemon: runtime.attendant.Attendant.record
        daemon: runtime.engine.Engine.due
        daemon: runtime.launching.Launcher.launch
        daemon: keeper.launch.spawn
        guard: keeper.guard.guard
        keeper: keeper.keeper.keep
        keeper: keeper.agent.start_agent
        daemon: adapters.keepers.keeper_process.KeeperProcesses.send
        keeper: keeper.input_spool.InputSpool.append
        daemon: runtime.talk.Talk.feed
        agent: scripted.agent.ScriptedAgent.new_session
        daemon: agents.acp.dialect.AcpDialect.say
        agent: scripted.agent.ScriptedAgent.prompt
        agent: scripted.acting.ActionContext.say
        daemon: agents.acp.segment.Segment.update
        daemon: core.session.booking.turns._over
        """,
    ),
    Walk(
        "kill",
        "From kill to receipt",
        "The agent of a session is killed (SIGKILL) in the middle of a turn. `rekindle resume` brings it back.",
        """
        keeper: keeper.tending.Tending._begin_ending
        keeper: keeper.outcome.write_exit
        keeper: keeper.tending.Tending.close
        daemon: runtime.talk.Talk.catch_up
        daemon: adapters.session_folder.records.VaultRecords.copy
        daemon: runtime.proof.last_words
        daemon: runtime.talk.Talk.ended
        rekindle resume: doors.cli.commands.resume.resume
        rekindle resume: app.session_resuming.SessionResuming.resume
        daemon: app.service.Service.resume
        daemon: runtime.launching.Launcher.launch
        daemon: runtime.comeback.Comeback.prepare
        daemon: adapters.session_folder.records.VaultRecords.check
        daemon: agents.base.preflight.decide
        daemon: core.session.strategy.choose
        daemon: keeper.launch.spawn
        guard: keeper.guard.guard
        keeper: keeper.keeper.keep
        daemon: agents.acp.messages.load_session
        agent: scripted.agent.ScriptedAgent.load_session
        daemon: runtime.comeback.Comeback.verdict
        daemon: core.session.receipt._shown
        daemon: core.session.settling.after_opening
        daemon: adapters.sql_store.rows.receipt_row
        rekindle resume: doors.cli.receipts.print_receipt
        """,
    ),
    Walk(
        "plan",
        "From plan to merge",
        "`rekindle run --plan FILE` with one task, which the scripted agent works on and a command checks.",
        """
        rekindle run: doors.cli.features.run_plan
        rekindle run: app.feature_resuming.FeatureResuming.begin
        daemon: app.features.Features.begin
        daemon: core.feature.plan_file.parse
        daemon: adapters.feature_git.observing.observe
        daemon: adapters.journal_file.run_owner.hold
        daemon: app.journals.JournalWriters.append
        daemon: runtime.feature.runner.FeatureRunner.drive
        daemon: core.feature.decide.due
        daemon: runtime.feature.performing.EffectPerformer.do
        daemon: adapters.feature_git.task_worktrees.make_feature
        daemon: runtime.feature.assigning.Assigning.do
        daemon: keeper.launch.spawn
        agent: scripted.agent.ScriptedAgent.prompt
        daemon: runtime.feature.run.FeatureRun.end
        daemon: core.feature.task_steps._judge
        daemon: adapters.feature_git.task_worktrees.commit
        daemon: runtime.feature.checking.Checking.do
        daemon: adapters.machine.commands.run
        daemon: core.feature.merge_steps.merge
        daemon: adapters.feature_git.merging.merge
        daemon: adapters.feature_git.place.FeaturePlace.move
        daemon: adapters.feature_git.task_worktrees.clear
        daemon: runtime.feature.runner.FeatureRunner._close
        rekindle run: doors.cli.feature_screens.ended
        """,
    ),
)
