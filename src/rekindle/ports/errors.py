"""The errors of rekindle, one tree. Each carries what to do next; the command line turns it into its exit status.

Those that belong to one port, or to one room, are defined there; the tree names them all.

RekindleError                  1   it failed
├── UsageError                 2   wrong usage or bad input
│   ├── BadName                    a feature, task or agent name that cannot be one
│   ├── NoRepository               not inside a git repository
│   ├── ForeignRepository          a repository of another user, or one that leads somewhere else
│   ├── NoFeature                  the branch names no feature and none was given
│   ├── NoSuchFeature              no journal of that name
│   ├── NoOpenRun                  the feature has no run that this event could belong to
│   ├── BadEvent                   an event that cannot be written
│   ├── NoSuchSession              no session is meant by that, or more than one
│   ├── NoSuchQuestion             no open question is meant by that, or more than one, or it has no such option
│   ├── NoSuchSnapshot             no snapshot is meant by that, or more than one
│   ├── NoWorktree                 a worktree cannot be made as asked
│   ├── BadArchive                 a file that is not a session archive, or not a whole one
│   ├── NoSkillSession             no skill session is meant by that, or it is over
│   ├── BadSkillState              a state file that is damaged, or that a newer rekindle wrote
│   ├── NoSuchSkill                no skill of that name, or what it declares cannot be used
│   ├── MoveRefused                a phase cannot be entered now
│   ├── FeatureBlocked             something of the user's is where a feature's run would work
│   └── JournalTracked             the journal is under version control
├── QuestionError              3   a question must be answered and nobody can be asked
├── OwnedError                 4   somebody else owns it
│   ├── BlobFenced                 a later attempt has the session whose bytes somebody wants to add
│   ├── PlacedElsewhere            the session is on another host of the fleet
│   ├── AnsweredAlready            somebody else answered the question first
│   ├── SkillSessionHeld           another live process holds the skill session
│   ├── InsideAgent                an agent asks for what only a person may do
│   ├── InTheWay                   files that no snapshot has would be lost
│   └── StaleGeneration            somebody newer has taken the session over
├── DoorRefusal                1   the HTTP door refuses a request before anybody is asked
├── NoDaemon                   1   nobody serves the store
├── DaemonSilent               1   the daemon's process was stopped and does not answer
├── StoreError                 1   the store cannot be used
│   ├── NewerSchema                a newer rekindle wrote it
│   ├── OlderSchema                a rekindle wrote it whose facts were not complete
│   └── DamagedStore               its file is damaged, and was set aside
├── BlobError                  1   what is kept off the host cannot be reached, or was changed
│   ├── BlobDamaged                a piece is gone, or is not what was put there
│   └── BlobGap                    a piece does not follow the one before it
├── EngineError                1   the engine of the fleet cannot be reached, or refuses what it was asked
├── DriveLost                  1   the fleet's engine has given the job to another host
├── HostFull                   1   this host drives as many jobs of the fleet as it may
├── MailWaits                  1   a message to a session of another host is recorded, and nothing has come of it yet
├── BootFailed                 1   the machine did not take what starts rekindle with it
├── NotDelivered               1   a receiver of notifications did not take a message
├── RecordsError               1   an agent's own record could not be read, kept or put back
├── SearchFailed               1   the index cannot be used
├── KeeperLost                 1   nobody answers for an attempt any more
├── ProgramMissing             1   the agent's program is not there
├── NoRoomToStart              1   the disk has no room for what an agent may say
├── NoRoomForTurn              1   the disk is full: no new turn is started
├── NoTerminal                 1   there is no terminal to look at, or none can be opened
├── GitFailed                  1   git could not do what it was asked
│   ├── GitKilled                  somebody killed it: what it was doing can be done again
│   └── GitLocked                  a lock file is in its way
├── WorktreeLost               1   the folder of a session is gone and cannot be built again
└── JournalError               1   the journal could not be written or read
"""

from __future__ import annotations


class RekindleError(Exception):
    """Something failed; `message` says what and where, `hint` what to do next. `details` are for programs."""

    exit_status = 1
    code = "failed"

    def __init__(
        self, message: str, hint: str = "", *, code: str | None = None, details: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}
        if code is not None:
            self.code = code


class UsageError(RekindleError):
    """The call or its input is wrong."""

    exit_status = 2
    code = "usage"


class BadName(UsageError):
    """A name from outside that could leave the progress folder, or that nobody could type."""

    code = "bad_name"


class NoRepository(UsageError):
    """There is no git repository here."""

    code = "no_repository"


class ForeignRepository(UsageError):
    """A repository of another user, or one whose files lead outside it: nothing in it is used."""

    code = "foreign_repository"


class NoFeature(UsageError):
    """The branch does not say which feature is meant."""

    code = "no_feature"


class NoSuchFeature(UsageError):
    """There is no journal to read."""

    code = "no_such_feature"


class NoOpenRun(UsageError):
    """No run is open that the event could belong to."""

    code = "no_open_run"


class BadEvent(UsageError):
    """The event cannot be written as it is."""

    code = "bad_event"


class NoSuchQuestion(UsageError):
    """No open question is meant by that, or it has no such option."""

    code = "no_such_question"


class NoSuchSnapshot(UsageError):
    """No snapshot is meant by that, or more than one."""

    code = "no_such_snapshot"


class NoWorktree(UsageError):
    """A worktree cannot be made as asked."""

    code = "no_worktree"


class FeatureBlocked(UsageError):
    """Something of the user's is where a feature's run would work: it is left alone, and a person decides."""

    code = "feature_blocked"


class JournalTracked(UsageError):
    """A tracked journal would be rewritten by every checkout."""

    code = "journal_tracked"


class QuestionError(RekindleError):
    """Somebody has to answer first."""

    exit_status = 3
    code = "question"


class OwnedError(RekindleError):
    """Somebody else holds it."""

    exit_status = 4
    code = "owned"


class AnsweredAlready(OwnedError):
    """Somebody else answered the question first."""

    code = "answered_already"


class InsideAgent(OwnedError):
    """An agent asks for what only a person may do."""

    code = "inside_agent"


class InTheWay(OwnedError):
    """Files that no snapshot has would be lost."""

    code = "in_the_way"


class GitFailed(RekindleError):
    """git could not do what it was asked."""

    code = "git"


class GitKilled(GitFailed):
    """git died of a signal, and nobody knows how far it had got: its work is done again."""

    code = "git_killed"


class GitLocked(GitFailed):
    """A lock file is in git's way; the message says whose, the hint what to do."""

    code = "git_locked"


class WorktreeLost(RekindleError):
    """The folder of a session is gone and cannot be built again; the message says what a person can do."""

    code = "worktree_lost"


class JournalError(RekindleError):
    """The journal could not be written or read."""

    code = "journal"


def not_in_fleet() -> UsageError:
    """Somebody asks for a fleet on a machine that is alone."""
    return UsageError(
        "this machine is not a host of a fleet",
        "`rekindle config set store_url postgresql://USER@HOST/DATABASE`, the same for fleet_key_file, "
        "then `rekindle serve --stop` (docs/fleet.md)",
    )
