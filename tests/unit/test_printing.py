"""Lines for a person: on a narrow screen they break between words, and a command to type stays whole."""

from __future__ import annotations

import io

import pytest

from rekindle.doors.cli.printing import print_lines


class Screen(io.StringIO):
    """Output that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("err", [False, True])
def test_a_line_breaks_between_words_on_either_output_and_its_command_stays_whole(
    monkeypatch: pytest.MonkeyPatch, err: bool
) -> None:
    screen = Screen()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr" if err else "sys.stdout", screen)
    line = "It waits for your answer: rekindle answer q6a1b6d4909. Reattach: rekindle attach 550f4fffef"
    print_lines([line], err=err)
    shown = screen.getvalue().splitlines()
    assert len(shown) == 2 and shown[1] == "  rekindle attach 550f4fffef"
    assert " ".join(part.strip() for part in shown) == line
