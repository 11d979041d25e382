"""How the daemon tells people, put together: who is told, by which settings, and of the daily report."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rekindle.adapters.git.merged import is_merged
from rekindle.adapters.machine.settings_file import UserFile
from rekindle.adapters.notify import here
from rekindle.adapters.notify.receivers import receivers_of
from rekindle.adapters.off_host.kept_by_all import kept_by_all
from rekindle.adapters.session_folder.conversation import FolderConversations
from rekindle.adapters.snapshots.of_folder import FolderSnapshots
from rekindle.adapters.workspace.git_workspace import open_workspace
from rekindle.app.daily_report import report_news
from rekindle.app.notifying import CurrentTerms
from rekindle.app.report_sources import ReportPorts
from rekindle.app.reporting import Reporting
from rekindle.app.searching import masker_of
from rekindle.app.user_settings import UserSettings
from rekindle.core.inbox.news import News
from rekindle.core.setting_keys import notify_keys
from rekindle.places import Places
from rekindle.ports.store import StoreAccess
from rekindle.runtime.daily_report import DailyReport
from rekindle.runtime.engine import Engine
from rekindle.runtime.telling import Teller, TellingPorts
from rekindle.settings import user_file


def telling_terms(environment: Mapping[str, str]) -> CurrentTerms:
    """What the user's own settings say about telling people. Their file is read again when it has changed."""
    file = UserFile(user_file(environment))
    own = UserSettings(file, {key.name: key for key in notify_keys()}, (), environment)
    return CurrentTerms(file.stamp, own.notify, lambda ways: receivers_of(ways, environment))


def teller_of(
    access: StoreAccess, engine: Engine, terms: CurrentTerms, environment: Mapping[str, str], places: Places
) -> Teller:
    """Tells people as the user's own settings say."""
    masked = here.masker(environment, places.sessions)
    return Teller(TellingPorts(access, engine.clock, terms, here.minute_of_day, masked, engine.all_sessions))


def daily_report(
    teller: Teller, engine: Engine, terms: CurrentTerms, environment: Mapping[str, str], places: Places
) -> DailyReport:
    """Has the report of a day told, about this host. It is made from what is kept, with readers of its own."""

    def told(due: float, key: str) -> News:
        kept = kept_by_all(places, environment, is_whole=False)
        ports = ReportPorts(
            kept,
            FolderConversations(places.sessions),
            FolderSnapshots(),
            lambda folder: open_workspace(environment, folder),
            is_merged,
        )
        return report_news(Reporting(ports, masker_of(environment, kept), time.time), due, key)

    return DailyReport(teller, terms, engine.clock, told)
