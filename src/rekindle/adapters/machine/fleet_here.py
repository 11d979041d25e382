"""Whether this is a host of a fleet. On one machine that costs no more than a look at the settings' file."""

from __future__ import annotations

from rekindle import files
from rekindle.settings import user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def is_in_fleet(environment: Mapping[str, str]) -> bool:
    """Whether the settings name a store that hosts share. Raises UsageError if they are not complete."""
    try:
        said = b"store_url" in files.read(user_file(environment))
    except OSError:
        said = False
    if not said and not environment.get("REKINDLE_STORE_URL"):
        return False
    from rekindle.adapters.machine.fleet_settings import fleet_settings

    return fleet_settings(environment) is not None
