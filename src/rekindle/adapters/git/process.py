"""The one place that starts git. Nothing that a repository's own configuration names is run by what is started here.

A folder that came from elsewhere brings its `.git` along, and git runs programs that `.git/config` names: monitors,
hooks, signers, transports. What has a fixed name is switched off here for every call; what has a name of the
repository's choosing, or is of use to the user's own filters, is found and dealt with in `git_config`. The user's
global and system configuration stays in force otherwise. Light standard library only (the hook client comes here).
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterable, Mapping, Sequence

Setting = tuple[str, str]

_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH")
#: A program that does nothing and fails, wherever git would start one of the repository's.
_NO_PROGRAM = "false"
SETTINGS: tuple[Setting, ...] = (
    # Programs that git would start by itself.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.alternateRefsCommand", "true"),
    ("core.editor", _NO_PROGRAM),
    ("sequence.editor", _NO_PROGRAM),
    ("core.pager", "cat"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("merge.verifySignatures", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", _NO_PROGRAM),
    ("gpg.openpgp.program", _NO_PROGRAM),
    ("gpg.x509.program", _NO_PROGRAM),
    ("gpg.ssh.program", _NO_PROGRAM),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("status.submoduleSummary", "false"),
    # What we need of git.
    ("core.splitIndex", "false"),  # a split index would put its other half beside the user's
    ("core.safecrlf", "false"),
    ("core.quotePath", "true"),
    ("core.fsync", "reference,-loose-object"),  # new objects are synced together: see `make_durable`
    ("advice.addEmbeddedRepo", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("commit.cleanup", "whitespace"),  # what is taken for a comment may be a trailer of ours
    ("core.commentChar", "#"),
    ("trailer.separators", ":"),
    ("core.logAllRefUpdates", "true"),  # git keeps using an existing log, whatever it is told later
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # No other machine and no helper program is asked, whatever an address in the repository says.
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
}
#: Commands that would start a viewer or a converter of the repository's, or look into the repositories inside of it,
#: which have a configuration of their own.
_PLAIN_DIFFERENCES = ("--no-ext-diff", "--no-textconv")
_NOT_INSIDE = "--ignore-submodules=dirty"
_OPTIONS = {
    "diff": (*_PLAIN_DIFFERENCES, _NOT_INSIDE),
    "diff-files": (_NOT_INSIDE,),
    "diff-index": (_NOT_INSIDE,),
    "log": _PLAIN_DIFFERENCES,
    "show": _PLAIN_DIFFERENCES,
    "status": (_NOT_INSIDE,),
}


class GitProcess(subprocess.Popen[bytes]):
    """A git that runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The same as ever, but in the kernel: with a time limit, `subprocess` looks, and sleeps longer each time.

        A git that has said all it has to say is mostly a moment from its end, and there are fifty calls to a task.
        """
        if timeout is not None and self.returncode is None and not self._ends_within(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        return super().wait(timeout)

    def _ends_within(self, seconds: float) -> bool:
        """Whether it does; True also where the system cannot tell, and `subprocess` has to find out."""
        try:
            fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return True
        try:
            waiting = select.poll()
            waiting.register(fd, select.POLLIN)
            return bool(waiting.poll(max(0.0, seconds) * 1000))
        finally:
            os.close(fd)


Process = GitProcess


def start(
    folder: str, words: Sequence[str], settings: Iterable[Setting] = (), variables: Mapping[str, str] | None = None
) -> GitProcess:
    """Start git in a folder, in a process group of its own, with more settings and variables. Raises OSError."""
    pipe = subprocess.PIPE
    argv = ["git", "--literal-pathspecs", "-C", folder, *_plain(words)]
    env = _environment((*SETTINGS, *settings)) | dict(variables or {})
    return GitProcess(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, process_group=0)


def line(folder: str, *words: str, variables: Mapping[str, str] | None = None, seconds: float = 20.0) -> str | None:
    """The output of a call that runs nothing of a repository's, without the last newline; None if it fails."""
    found = output(folder, *words, variables=variables, seconds=seconds)
    return os.fsdecode(found).removesuffix("\n") if found is not None else None


def output(folder: str, *words: str, variables: Mapping[str, str] | None = None, seconds: float = 20.0) -> bytes | None:
    """The same as bytes."""
    try:
        process = start(folder, words, variables=variables)
    except OSError:
        return None
    with process:
        try:
            told, _ = process.communicate(b"", seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return told if process.returncode == 0 else None


def _plain(words: Sequence[str]) -> list[str]:
    """The words of a call, with the options that keep a command plain behind it."""
    place = 0
    while place < len(words) and words[place] == "-c":
        place += 2
    more = _OPTIONS.get(words[place], ()) if place < len(words) else ()
    return [*words[: place + 1], *more, *words[place + 1 :]]


def _environment(settings: Sequence[Setting]) -> dict[str, str]:
    """Settings travel in variables: a name may have any character in it, and `-c` divides at the first `=`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    env |= _ENVIRONMENT
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (name, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{number}"] = name
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env
