"""A repository whose feature is disturbed: what agents really did is written down outside of it, and held against it.

Agents, checks and reviewers call small scripts in a folder of the user's home. These write one line for each effect,
each commit and each check that passed, so that nothing here depends on what rekindle says of itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.e2e.daemon import BIN, Machine, until
from tests.e2e.features import FEATURE, Shop
from tests.patience import FACTOR

SECONDS: Final = 150.0
#: So often a person types `resume` until they leave it as it is.
_RESUMES: Final = 5
_SCRIPTS: Final = {
    "effect": 'echo "$1" >> {here}/effects\n',
    "commit": 'git add -A && git commit -q -m "$1"; echo "$(git rev-parse HEAD) $1" >> {here}/commits\n',
    "gate": (
        "touch {here}/at-$1; n=0\nuntil test -e {here}/go-$1 || test $n -gt {most}; do n=$((n+1)); sleep 0.05; done\n"
    ),
    # check TASK FAILURES: the first so many runs fail; each run that passes names the commit that it has seen
    "check": (
        'echo x >> {here}/tried-$1; test "$(wc -l < {here}/tried-$1)" -gt "$2" || exit 1\n'
        'test -s $1.txt && echo "$1 $(git rev-parse HEAD)" >> {here}/passed\n'
    ),
    "wave": 'echo "$(git rev-parse HEAD)" >> {here}/waves\n',
}


def slept(seconds: float) -> None:
    """The moment itself is what is tried out."""
    time.sleep(seconds)


@dataclass
class Yard:
    """One disturbed run: the repository, the scripts' folder, and the story of what was done to it."""

    shop: Shop
    story: list[str] = field(default_factory=list)
    #: What the user's checkout has to be like.
    checkout: tuple[str, ...] = ()
    running: list[tuple[subprocess.Popen[bytes], Path]] = field(default_factory=list)
    #: The folder that the repository was in at first.
    first_root: Path = Path()

    @property
    def machine(self) -> Machine:
        return self.shop.machine

    @property
    def root(self) -> Path:
        return self.shop.root

    @property
    def hands(self) -> Path:
        return self.machine.home / "hands"

    @property
    def trees(self) -> Path:
        return self.root / ".worktrees" / FEATURE

    def make(self) -> Yard:
        self.hands.mkdir()
        for name, text in _SCRIPTS.items():
            (self.hands / f"{name}.sh").write_text(
                text.replace("{here}", str(self.hands)).replace("{most}", str(int(1200 * FACTOR)))
            )
        (self.hands / "outputs").mkdir()
        (self.machine.home / ".gitconfig").write_text("[user]\nname = t\nemail = t@example.invalid\n")
        self.shop.make()
        self.first_root = self.root
        self.checkout = self.look()
        return self

    def hand(self, name: str, *words: str | int) -> str:
        """A directive that calls one of the scripts."""
        return " ".join(["run sh", str(self.hands / f"{name}.sh"), *map(str, words)])

    def git(self, *words: str, cwd: Path | None = None) -> str:
        return self.shop.git(*words, cwd=cwd)

    def branch(self, task: str) -> str:
        return f"work/{FEATURE}/{task}"

    def tip(self, ref: str) -> str:
        """The commit of a ref, or nothing."""
        done = subprocess.run(
            ["git", "rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}"],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def is_in_feature(self, commit: str) -> bool:
        return self.git("branch", "--contains", commit, "--list", f"feature/{FEATURE}") != ""

    # What a person does

    def tell(self, text: str) -> None:
        self.story.append(text)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A command that is left running; what it says goes to a file."""
        self.tell("$ rekindle " + " ".join(words))
        path = self.hands / "outputs" / f"{len(self.running):03}"
        with path.open("wb") as file:
            started = subprocess.Popen(
                [str(BIN / "rekindle"), *words],
                cwd=self.root,
                env=self.machine.environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.running.append((started, path))
        return started

    def wait(self) -> None:
        """Wait for the commands that were left running."""
        for one, path in self.running:
            _end(one, path.read_text(errors="replace")[-500:])

    def run(self, *words: str) -> tuple[int, str]:
        started = self.start(*words)
        path = self.running[-1][1]
        _end(started, f"rekindle {' '.join(words)}")
        told = path.read_text(errors="replace")
        self.tell(f"  -> {started.returncode}: {told.strip().splitlines()[-1:]}")
        return started.returncode, told

    def down(self) -> None:
        """SIGKILL for everything at once."""
        self.tell("SIGKILL for everything")
        self.shop.kill_everything(*(one for one, _ in self.running))
        self.wait()

    def open_gates(self, *tasks: str) -> None:
        for task in tasks:
            (self.hands / f"go-{task}").touch()

    def until_at(self, task: str) -> None:
        until(lambda: (self.hands / f"at-{task}").exists(), f"task {task} at its gate", SECONDS)

    def until_event(self, type_: str, task: str) -> None:
        until(lambda: self.shop.count(type_)[task], f"{type_} of {task}", SECONDS)

    def move(self, to: Path) -> None:
        """Rename the repository's folder, and be in it."""
        os.rename(self.root, to)
        self.shop = replace(self.shop, machine=replace(self.machine, work=to))

    def resume_to_the_end(self, *answers: tuple[str, ...]) -> tuple[int, str]:
        """Resume until it is complete, or until the same question or sentence comes twice."""
        left = list(answers)
        status, told, before = -1, "", ""
        for _ in range(_RESUMES):
            if self.is_complete:
                return 0, told
            status, told = self.run("resume", FEATURE)
            if status == 3 and left:
                status, told = self.run("resume", FEATURE, *self._typed(left.pop(0), told))
            if status in (0, 3) or _shortened(told) == before:
                break
            before = _shortened(told)
        return status, told

    def _typed(self, answer: tuple[str, ...], told: str) -> tuple[str, ...]:
        """An answer as a person types it: a single flag is copied with its value from the message that offers it."""
        if answer == ("--trust",):
            return self.shop.yes()
        offered = re.search(rf"rekindle resume {FEATURE} ([^;`\n]*?{answer[0]} [\w./@:-]+)", told)
        return tuple(shlex.split(offered[1])) if len(answer) == 1 and offered is not None else answer

    # What there is

    @property
    def is_complete(self) -> bool:
        ends = self.shop.events("session.start", "session.end")[-1:]
        return bool(ends) and ends[0]["type"] == "session.end" and ends[0]["data"]["reason"] == "completed"

    def said(self) -> str:
        """Everything that any command has said, and every warning and issue in the journal."""
        told = [path.read_text(errors="replace") for _, path in self.running]
        events = self.shop.events("warning.logged", "error.encountered", "blocker.reported", "task.failed")
        return "\n".join([*told, *(str(event["data"]) for event in events)])

    def lines(self, name: str) -> list[str]:
        path = self.hands / name
        return path.read_text().splitlines() if path.exists() else []

    def look(self) -> tuple[str, ...]:
        """Everything of the user's that must stay as it is: branch, index, and every file with its content."""
        index = hashlib.blake2b((self.root / ".git" / "index").read_bytes()).hexdigest()
        head = (self.root / ".git" / "HEAD").read_text()
        files = [
            f"{path.relative_to(self.root)} {path.read_text(errors='replace')}"
            for top in sorted(self.root.iterdir())
            if top.name not in (".git", ".claude", ".worktrees")  # others write there while we look
            for path in [top, *sorted(top.rglob("*"))]
            if path.is_file()
        ]
        return (head, self.git("rev-parse", "HEAD"), index, *files)

    def state(self) -> str:
        """What somebody needs who looks into a failure."""
        graph = self.git("log", "--graph", "--oneline", "--all", "-40")
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname:short)")
        trees = self.git("worktree", "list")
        kept = Counter(event["type"] for event in self.shop.events())
        return "\n".join([graph, refs, trees, str(dict(kept)), *self.said().splitlines()[-40:]])


@contextmanager
def a_yard() -> Iterator[Yard]:
    """A repository and a machine; in the end everything that runs on it is ended, and nothing may be left."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        variables = {"REKINDLE_SCRIPTED_HOME": str(Path(folder, "home", "conversations"))}
        machine = Machine(Path(folder, "home"), Path(folder, "work"), variables=variables)
        machine.home.mkdir()
        machine.work.mkdir()
        yard = Yard(Shop(machine)).make()
        try:
            yield yard
            yard.machine.clean_up()
        except BaseException:
            yard.shop.kill_everything()
            raise
        assert yard.machine.stamped() == []


def _end(process: subprocess.Popen[bytes], what: str) -> None:
    until(lambda: process.poll() is not None, f"the end of {what!r}", SECONDS)


def _shortened(told: str) -> str:
    """What was said without times and ids, which differ from one time to the next."""
    return re.sub(r"\d+\.\d+s|[0-9a-f]{8,}", "", told)
