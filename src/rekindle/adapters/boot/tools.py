"""The machine's own tools for boot entries, called with words and a deadline."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from rekindle.ports.boot import BootFailed

_SECONDS = 20.0


class MachineTools:
    """Programs that are found on the caller's PATH."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)

    def has(self, program: str) -> bool:
        """Whether it is installed."""
        return shutil.which(program, path=self._environment.get("PATH")) is not None

    def ask(self, *words: str, stdin: str = "") -> tuple[int, str]:
        """Run a tool: its exit status, and what it said. Raises BootFailed if it cannot be run, or hangs.

        Every byte survives, so that what it said can be given back to it unchanged.
        """
        try:
            done = subprocess.run(
                self._found(words),
                input=stdin.encode("utf-8", "surrogateescape"),
                env=self._environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BootFailed(f"{words[0]} did not answer within {_SECONDS:g} s", f"try: {' '.join(words)}") from None
        except OSError as error:
            raise BootFailed(f"{words[0]} cannot be run: {error.strerror}", f"install {words[0]}") from error
        said = done.stdout if done.returncode == 0 else done.stdout + done.stderr
        return done.returncode, said.decode("utf-8", "surrogateescape")

    def tell(self, *words: str, stdin: str = "") -> None:
        """Run a tool that has to succeed."""
        status, said = self.ask(*words, stdin=stdin)
        if status != 0:
            first = said.strip().splitlines()
            why = first[0] if first else f"exit status {status}"
            raise BootFailed(f"{words[0]} refused: {why}", f"try: {' '.join(words)}")

    def _found(self, words: Sequence[str]) -> list[str]:
        program = shutil.which(words[0], path=self._environment.get("PATH"))
        return [program or words[0], *words[1:]]
