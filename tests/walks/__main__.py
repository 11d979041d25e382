"""Takes the walks and renews the page, or prints all that one of them passes."""

from __future__ import annotations

import argparse
import os
import sys

from tests.walks.milestones import WALKS
from tests.walks.page import SECTION, drawn
from tests.walks.proof import prove
from tests.walks.taking import taken


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    names = {walk.name: walk for walk in WALKS}
    parser.add_argument("--list", metavar="NAME", choices=names, help=f"one of {', '.join(names)}")
    chosen = parser.parse_args().list
    os.environ.setdefault("REKINDLE_TEST_RUN", str(os.getpid()))
    if chosen is not None:
        print("\n".join(taken(names[chosen])))
        return
    try:
        page = SECTION.renewed(drawn())
        for walk in WALKS:
            prove(walk, taken(walk))
    except (AssertionError, LookupError) as error:
        sys.exit(str(error))
    SECTION.document.write_text(page)


if __name__ == "__main__":
    main()
