"""Serves what an agent asks of its client: files and terminals, confined to the working folder.

Every callback can be asked again, by the next daemon, without harm: reading changes nothing, a file is replaced by the
same content, a terminal that exists is found again. Blocking, for a worker thread; only `terminal/wait_for_exit` is
polled, because it may take hours. Permissions are not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rekindle.adapters.callbacks.confined import ConfinedFolder
from rekindle.adapters.callbacks.refusal import BadParams, invalid
from rekindle.adapters.callbacks.terminals import CallbackTerminals
from rekindle.adapters.callbacks.text_files import TextFiles
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.observation import RequestId

#: Callbacks that change something: a read-only session does not get them.
CHANGING: Final = frozenset({"fs/write_text_file", "terminal/create"})


class Callbacks:
    """The callbacks of one attempt.

    `session_folder` gets a folder `terminals`; `stamp` is the session's, `generation` the attempt's; `socket_dir` is a
    short path for the keepers' sockets; `env` is the environment of terminals, which a request can add to.
    """

    def __init__(
        self, session_folder: str, cwd: str, stamp: str, generation: int, socket_dir: str, env: Mapping[str, str]
    ) -> None:
        folder = ConfinedFolder(cwd)
        self._files = TextFiles(folder)
        self.terminals = CallbackTerminals(
            session_folder, folder, stamp=stamp, generation=generation, socket_dir=socket_dir, env=env
        )

    def serve(self, method: str, params: dict[str, Any], request_id: RequestId) -> CallbackResult | None:
        """The result for the agent, or why not. None: not yet, ask again (`terminal/wait_for_exit` only)."""
        try:
            return self._serve(method, params, request_id)
        except BadParams as error:
            return invalid(str(error))

    def _serve(self, method: str, params: dict[str, Any], request_id: RequestId) -> CallbackResult | None:
        match method:
            case "fs/read_text_file":
                return self._files.read(params)
            case "fs/write_text_file":
                return self._files.write(params)
            case "terminal/create":
                return self.terminals.create(params, request_id)
            case "terminal/output":
                return self.terminals.output(params)
            case "terminal/wait_for_exit":
                return self.terminals.wait_for_exit(params)
            case "terminal/kill":
                return self.terminals.kill(params)
            case "terminal/release":
                return self.terminals.release(params)
            case _:
                return CallbackRefused("not_served", f"This client does not serve {method}.")
