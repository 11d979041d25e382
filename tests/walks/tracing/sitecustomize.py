"""The tracer: writes down which functions of rekindle a process calls, each when it is called for the first time.

A Python process that has this folder in PYTHONPATH and a path in REKINDLE_WALK loads it by itself, because Python
imports `sitecustomize` before it runs anything. The guard is started without an environment and without `site`, so the
process that starts it puts this file in front of the guard's program. Only the standard library is used here.
"""

import inspect
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

TRACE = "REKINDLE_WALK"
SOURCE = os.path.join(os.path.abspath(__file__).rsplit(os.sep, 4)[0], "src", "rekindle") + os.sep
#: The guard's program forks the guard, which forks the keeper, which forks what becomes the agent.
_FORKS = ("guard", "keeper", "agent")


class Tracer:
    """Writes `process: module.function` at the end of the trace. As long as there is no such file, it is silent."""

    def __init__(self, trace: str, process: str, forks: Sequence[str] = ()) -> None:
        self._trace = trace
        self._process = process
        self._forks = list(forks)
        self._seen: set[CodeType] = set()

    def install(self) -> None:
        """Trace this thread, the threads that are started from now on, and the processes that are forked."""
        os.register_at_fork(after_in_child=self._forked)
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _forked(self) -> None:
        self._seen.clear()
        if self._forks:
            self._process = self._forks.pop(0)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        if not _is_ours(code) or self._write(code):
            self._seen.add(code)

    def _write(self, code: CodeType) -> bool:
        """Whether there is a trace. One write at its end: the lines of all processes are in the order of the calls."""
        module = code.co_filename[len(SOURCE) :].removesuffix(".py").replace(os.sep, ".")
        try:
            trace = os.open(self._trace, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            os.write(trace, f"{self._process}: {module}.{code.co_qualname}\n".encode())
        finally:
            os.close(trace)
        return True


def _is_ours(code: CodeType) -> bool:
    """Whether it is a function of rekindle with a name: no module, no body of a class, no lambda."""
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    return bool(is_function) and code.co_filename.startswith(SOURCE)


class _Popen(subprocess.Popen[Any]):
    """Starts programs, and a Python that sees no environment with the tracer in front of its program."""

    def __init__(self, args: Any, *more: Any, **named: Any) -> None:
        if isinstance(args, list | tuple) and args[0] == sys.executable and "-I" in args:
            program = next(place for place, word in enumerate(args) if word.endswith(".py"))
            args = [*args[:program], os.path.abspath(__file__), os.environ[TRACE], *args[program:]]
        super().__init__(args, *more, **named)


def _role(words: Sequence[str]) -> str:
    """What a process is, by the command that it was started with."""
    if "rekindle.scripted" in words:
        return "agent"
    if "serve" in words:
        return "daemon"
    command = next((word for program, word in pairwise(words) if os.path.basename(program) == "rekindle"), "")
    return f"rekindle {command}".rstrip()


def _run(trace: str, program: str, *arguments: str) -> None:
    """Run the guard's program as if it had been started itself. A nursery forks it first."""
    sys.argv = [program, *arguments]
    is_nursery = arguments[0] == "--nursery"
    Tracer(trace, "nursery" if is_nursery else "guard", ("guard", *_FORKS) if is_nursery else _FORKS).install()
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    _run(*sys.argv[1:])
elif TRACE in os.environ:
    subprocess.Popen = _Popen  # type: ignore[misc]
    Tracer(os.environ[TRACE], _role(sys.orig_argv)).install()
