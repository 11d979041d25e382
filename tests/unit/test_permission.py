"""The policy, row by row."""

from __future__ import annotations

import pytest

from rekindle.core.session.permission import Allow, Ask, Deny, Mode, Option, decide, is_inside

ONCE = Option("a1", "Allow", "allow_once")
ALWAYS = Option("a2", "Always", "allow_always")
REJECT = Option("r1", "Reject", "reject_once")
NEVER = Option("r2", "Never", "reject_always")
ALL = (ALWAYS, NEVER, ONCE, REJECT)

INSIDE, OUTSIDE = ("/w/a.txt",), ("/etc/passwd",)


@pytest.mark.parametrize(
    ("mode", "kind", "paths", "verdict"),
    [
        ("edits", "edit", INSIDE, Allow(ONCE)),
        ("edits", "edit", ("/w",), Allow(ONCE)),
        ("edits", "edit", (*INSIDE, *OUTSIDE), Ask()),
        ("edits", "edit", OUTSIDE, Ask()),
        ("edits", "edit", (), Ask()),
        ("edits", "edit", ("/w/../etc/passwd",), Ask()),
        ("edits", "edit", ("/work/a.txt",), Ask()),
        ("edits", "edit", ("a.txt",), Ask()),
        ("edits", "edit", ("/w/.git/hooks/pre-commit",), Ask()),
        ("edits", "edit", ("/w/sub/.GIT/config",), Ask()),
        ("edits", "edit", ("/w/.gitignore",), Allow(ONCE)),
        ("edits", "read", INSIDE, Allow(ONCE)),
        ("edits", "read", ("/w/.git/config",), Allow(ONCE)),
        ("edits", "read", OUTSIDE, Ask()),
        ("edits", "search", INSIDE, Allow(ONCE)),
        ("edits", "delete", INSIDE, Ask()),
        ("edits", "move", INSIDE, Ask()),
        ("edits", "execute", INSIDE, Ask()),
        ("edits", "fetch", (), Ask()),
        ("edits", "of the future", INSIDE, Ask()),
        ("ask", "read", INSIDE, Allow(ONCE)),
        ("ask", "read", OUTSIDE, Ask()),
        ("ask", "read", (), Ask()),
        ("ask", "edit", INSIDE, Ask()),
        ("ask", "execute", (), Ask()),
        ("deny", "read", INSIDE, Deny(REJECT)),
        ("deny", "edit", INSIDE, Deny(REJECT)),
        ("all", "execute", (), Allow(ONCE)),
        ("all", "edit", OUTSIDE, Allow(ONCE)),
    ],
)
def test_policy(mode: Mode, kind: str, paths: tuple[str, ...], verdict: Allow | Deny | Ask) -> None:
    assert decide(mode, kind, paths, "/w", ALL) == verdict


@pytest.mark.parametrize(
    ("mode", "options", "verdict"),
    [
        ("all", (ALWAYS, REJECT), Allow(ALWAYS)),
        ("edits", (ALWAYS, REJECT), Ask()),
        ("all", (REJECT,), Ask()),
        ("deny", (ONCE, NEVER), Deny(NEVER)),
        ("deny", (ONCE,), Deny(None)),
        ("deny", (), Deny(None)),
    ],
)
def test_the_option_that_is_chosen(mode: Mode, options: tuple[Option, ...], verdict: Allow | Deny | Ask) -> None:
    assert decide(mode, "edit", INSIDE, "/w", options) == verdict


def test_the_root_as_working_folder() -> None:
    assert is_inside("/etc", "/")
    assert is_inside("/", "/")
