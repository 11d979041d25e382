"""What identifies a repository, wherever it is moved or copied."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rekindle.core.identity import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.ports.workspace import Checkout


class KnownRepository(NamedTuple):
    """A repository's id, and what has happened to it since its place was last recorded.

    `before` is the path of the main checkout at that time, if it has changed.
    """

    id: str
    verdict: Verdict
    before: str | None = None


class RepositoryIdentities(Protocol):
    """The ids of repositories, kept in their git folders. Blocking."""

    def find(self, repo: Checkout) -> KnownRepository | None:
        """What a repository says about itself; None if nobody has given it an id yet. Changes nothing."""
        ...

    def ensure(self, repo: Checkout, remembered: str | None = None) -> str:
        """The repository's id, made if it has none (`remembered`, if that is given); a copy gets one of its own."""
        ...

    def by_path(self, repo: Checkout) -> str:
        """The id of a repository that has none."""
        ...

    def holds(self, repo: Checkout, worktree: str) -> bool:
        """Whether a folder is a linked worktree of this repository, according to both."""
        ...

    def put_right(self, repo: Checkout, found: KnownRepository, state_dir: str, progress: str) -> None:
        """Repair a moved repository. May be done twice: `settle` forgets where it was."""
        ...

    def settle(self, repo: Checkout, found: KnownRepository) -> None:
        """Record where the repository is now. Raises OSError."""
        ...
