"""What git complains of, in one line with the files, and without its advice."""

from __future__ import annotations

import pytest

from rekindle.core.git_complaints import reason

OVERWRITTEN = b"""error: The following untracked working tree files would be overwritten by merge:
\tb.txt
\tinner/c.txt
Please move or remove them before you merge.
Aborting
Merge with strategy ort failed.
"""
MANY = b"error: Untracked files:\n" + b"".join(b"\t%d\n" % number for number in range(7)) + b"Aborting\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            OVERWRITTEN,
            "The following untracked working tree files would be overwritten by merge: b.txt, inner/c.txt",
        ),
        (MANY, "Untracked files: 0, 1, 2, 3, 4 and 2 more"),
        (b"fatal: bad object\n", "bad object"),
        (b"hint: try this\nerror: one\nhint: or that\nfatal: two\n", "one; two"),
        (b"something\nelse\n", "else"),
        (b"", "no reason given"),
    ],
)
def test_a_complaint_in_one_line(said: bytes, told: str) -> None:
    assert reason(said) == told
