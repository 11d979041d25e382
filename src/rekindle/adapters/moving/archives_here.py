"""Archives of this store's sessions. See `rekindle.ports.archives.Archives`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from rekindle.adapters.moving import importing
from rekindle.adapters.moving.export import export
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.core.moving import Manifest
from rekindle.places import Places
from rekindle.ports.archives import Arrival, Exported, ImportTarget


class ArchivesHere:
    """What is imported is unpacked beside the sessions first."""

    def __init__(self, places: Places) -> None:
        self._places = places

    @property
    def sessions(self) -> str:
        """The folder of all sessions."""
        return self._places.sessions

    def write(
        self, session: str, facts: Sequence[str], target: str, environment: Mapping[str, str], *, with_secrets: bool
    ) -> Exported:
        """Pack a session."""
        return export(
            session_folder(self.sessions, session).path, facts, target, environment, with_secrets=with_secrets
        )

    def put_in_place(
        self, path: str, choose: Callable[[Manifest], ImportTarget], take_over: Callable[[ImportTarget, str], None]
    ) -> Arrival:
        """Import an archive."""
        self._places.make()
        staging = os.path.join(self._places.state, "imports")
        return importing.put_in_place(path, choose, take_over, staging, time.time())
