"""The errors of rekindle, one tree. Each carries what to do next; the command line turns it into its exit status.

RekindleError                  1   it failed
├── UsageError                 2   wrong usage or bad input
│   ├── BadName                    a feature, task or agent name that cannot be one
│   ├── NoRepository               not inside a git repository
│   ├── NoFeature                  the branch names no feature and none was given
│   ├── NoSuchFeature              no journal of that name
│   ├── NoOpenRun                  the feature has no run that this event could belong to
│   ├── BadEvent                   an event that cannot be written
│   └── JournalTracked             the journal is under version control
├── QuestionError              3   a question must be answered and nobody can be asked
├── OwnedError                 4   somebody else owns it
└── JournalError               1   the journal could not be written or read
"""

from __future__ import annotations


class RekindleError(Exception):
    """Something failed; `message` says what and where, `hint` what to do next."""

    exit_status = 1
    code = "failed"

    def __init__(self, message: str, hint: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
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


class JournalError(RekindleError):
    """The journal could not be written or read."""

    code = "journal"
