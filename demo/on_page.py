"""`make demo-page`: the story of the demonstration on the page. It stays open until you press Ctrl-C."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from pathlib import Path

from demo.__main__ import Stage


def main() -> int:
    """Open the page of the demonstration's own daemon, and play the story behind it."""
    with tempfile.TemporaryDirectory(prefix="rekindle-demo-") as folder:
        stage = Stage(Path(folder))
        link = _link(stage)
        print(f"The page of the demonstration (the link works once, for a minute):\n\n    {link}\n", flush=True)
        if not _show(link):
            print("Open it in a browser; the story begins in 20 seconds.", flush=True)
            time.sleep(20)
        ended: list[int] = []
        story = threading.Thread(target=lambda: ended.append(stage.play()), daemon=True)
        try:
            story.start()
            story.join()
            if not ended:
                print("\nThe story got stuck: see above.", flush=True)
            if sys.stdin.isatty():
                print("\nThe page stays until you press Ctrl-C.", flush=True)
                threading.Event().wait()
        except KeyboardInterrupt:
            print()
        finally:
            stage.clean_up()
    return ended[0] if ended else 1


def _link(stage: Stage) -> str:
    words = ["rekindle", "open", "--print"]
    done = subprocess.run(
        words, cwd=stage.repository, env=stage.environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.splitlines()[0]


def _show(link: str) -> bool:
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(link)
    return False


if __name__ == "__main__":
    sys.exit(main())
