"""Settings: which values are valid, what stays of a file that is changed, and what is said of one that is wrong."""

from __future__ import annotations

import tomllib

import pytest

from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.app.user_settings import UserSettings
from rekindle.core.quantities import seconds_in
from rekindle.core.session.choices import PERMISSIONS, POLICIES, SWITCH
from rekindle.core.session.values import Limits
from rekindle.core.setting_keys import setting_keys
from rekindle.core.settings_text import template
from rekindle.doors.cli.commands.run import run
from rekindle.ports.errors import UsageError
from rekindle.settings import RUN_KEYS, choices
from tests.fakes.settings_file import FakeSettingsFile

KEYS = setting_keys(
    {
        **{name: choices(name) for name in ("feature_worktrees", "journal_sync")},
        "agent": list(AGENTS),
        "policy": POLICIES,
        "permission": PERMISSIONS,
        "stable_prompt": SWITCH,
    },
    DEFAULT,
)
COMMENTED = """# mine

agent = "codex"   # the good one
# below: never more than this
max_cost = 5
"""


def settings(text: str | None, **environment: str) -> tuple[UserSettings, FakeSettingsFile]:
    file = FakeSettingsFile("/home/me/config.toml", text)
    return UserSettings(file, KEYS, RUN_KEYS, environment), file


def test_every_default_of_run_is_an_option_of_run_and_a_setting() -> None:
    assert set(RUN_KEYS) <= {option.name for option in run.params}
    assert set(RUN_KEYS) <= KEYS.keys()


def test_what_is_said_to_be_built_in_is_what_run_does() -> None:
    options = {option.name: option.default for option in run.params}
    chosen = ("agent", "policy", "permission", "stable_prompt")
    assert {name: KEYS[name].built_in for name in chosen} == {name: options[name] for name in chosen}
    assert seconds_in(str(KEYS["stall"].built_in)) == Limits().stall_seconds


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("agent", ["claude", "scripted"], ["", "clippy", "3"]),
        ("policy", ["ask", "continue", "never"], ["maybe"]),
        ("timeout", ["90", "90s", "1.5h", "1d"], ["0", "-1", "soon", "1w", ""]),
        ("max_cost", ["0.5", "20"], ["0", "nan", "inf", "-3", "much"]),
        ("max_tokens", ["1", "100000"], ["0", "1.5", "many"]),
        ("max_resumes", ["0", "3"], ["-1"]),
        ("progress_dir", ["some/where"], [""]),
    ],
)
def test_a_valid_value_is_kept_and_a_bad_one_is_refused(key: str, good: list[str], bad: list[str]) -> None:
    for word in good:
        held, file = settings(None)
        held.set(key, word)
        assert str(tomllib.loads(file.text or "")[key]) == word
    for word in bad:
        held, file = settings(None)
        with pytest.raises(UsageError, match=f"not a valid value of {key}") as caught:
            held.set(key, word)
        assert caught.value.hint
        assert file.text is None


def test_comments_and_order_stay_when_a_value_is_set_or_removed() -> None:
    held, file = settings(COMMENTED)
    held.set("agent", "claude")
    assert file.text == COMMENTED.replace("codex", "claude")
    held.set("max-tokens", "7")
    assert file.text == COMMENTED.replace("codex", "claude") + "max_tokens = 7\n"
    assert held.unset("max_tokens")
    assert not held.unset("max_tokens")
    assert file.text == COMMENTED.replace("codex", "claude")


def test_a_last_line_without_an_end_is_not_glued_to() -> None:
    held, file = settings('agent = "codex"')
    held.set("policy", "never")
    assert tomllib.loads(file.text or "") == {"agent": "codex", "policy": "never"}


@pytest.mark.parametrize("text", ['x = 1\n\n"policy" = "maybe"\n', "a = 0\n# policy = 1\npolicy=3\n"])
def test_a_bad_value_in_the_file_is_named_with_file_line_key_and_remedy(text: str) -> None:
    held, _ = settings(text)
    with pytest.raises(UsageError) as caught:
        held.run_defaults()
    assert caught.value.message.startswith("/home/me/config.toml, line 3: ")
    assert "policy" in caught.value.message
    assert "rekindle config unset policy" in caught.value.hint
    assert caught.value.details["allowed"] == list(POLICIES)
    assert (caught.value.details["line"], caught.value.details["key"]) == (3, "policy")


def test_a_bad_value_can_be_mended_and_an_unknown_key_removed() -> None:
    held, file = settings('policy = "maybe"\nagnet = "claude"\n')
    held.set("policy", "never")
    with pytest.raises(UsageError, match="line 2: there is no setting 'agnet'"):
        held.check()
    assert held.unset("agnet")
    held.check()
    assert file.text == 'policy = "never"\n'


def test_what_is_no_toml_says_where_and_is_left_alone() -> None:
    held, file = settings("agent = \n")
    for act in (held.run_defaults, held.listed, lambda: held.set("agent", "claude"), lambda: held.unset("agent")):
        with pytest.raises(UsageError, match=r"not valid TOML.*line 1"):
            act()
    assert file.text == "agent = \n"


def test_an_unknown_key_is_told_what_was_meant() -> None:
    held, _ = settings(None)
    with pytest.raises(UsageError) as caught:
        held.get("max_costs")
    assert caught.value.hint.startswith("did you mean max_cost?")


def test_a_list_says_where_each_value_comes_from() -> None:
    held, _ = settings(COMMENTED + 'progress_dir = "p"\n', REKINDLE_PROGRESS_DIR="q", REKINDLE_AGENT="a hook's own")
    told = {row.key: (row.value, row.source, row.line) for row in held.listed()}
    assert told["agent"] == ("codex", "file", 3)
    assert told["policy"] == ("ask", "built in", None)
    assert told["timeout"] == (None, "not set", None)
    assert told["progress_dir"] == ("q", "REKINDLE_PROGRESS_DIR", None)


def test_a_new_file_explains_every_key_and_sets_none() -> None:
    held, file = settings(None)
    held.prepare()
    assert file.text == template(KEYS)
    assert tomllib.loads(file.text) == {}
    uncommented = "\n".join(line.removeprefix("#") for line in file.text.splitlines() if line[1:2].isalpha())
    held, _ = settings(uncommented)
    held.check()
    assert tomllib.loads(uncommented).keys() == KEYS.keys()
