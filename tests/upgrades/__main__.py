"""`python -m tests.upgrades NAME` makes an edition with the version of rekindle that runs now. It takes a minute."""

from __future__ import annotations

import os
import sys

from tests.upgrades.edition import make


def main() -> None:
    """Make the edition of the name that is given."""
    if len(sys.argv) != 2 or not sys.argv[1].replace(".", "").replace("-", "").isalnum():
        sys.exit("usage: python -m tests.upgrades NAME")
    os.environ.setdefault("REKINDLE_TEST_RUN", str(os.getpid()))
    made = make(sys.argv[1])
    for path in sorted(made.folder.iterdir()):
        print(f"{path.stat().st_size:>9}  {path}")


if __name__ == "__main__":
    main()
