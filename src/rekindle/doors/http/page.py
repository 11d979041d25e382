"""The page's files, as they were built into the package. Read once: no path of a request ever reaches the disk."""

from __future__ import annotations

import mimetypes
import os
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, SkipValidation

_MOST_BYTES = 8 << 20
_NOT_BUILT = """<!doctype html><meta charset="utf-8"><title>rekindle</title>
<h1>The page is not built</h1>
<p>The API works: see <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
<p>To build the page, run <code>make page</code> in rekindle's source folder, then open this again.</p>
"""
_HTML = "text/html"


class PageFiles:
    """The files below a folder, by the path that a browser asks for."""

    def __init__(self, folder: str) -> None:
        self._found: dict[str, tuple[bytes, str]] = {}
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if os.path.islink(path) or os.path.getsize(path) > _MOST_BYTES:
                    continue
                with open(path, "rb") as file:
                    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"

                    self._found["/" + os.path.relpath(path, folder)] = (file.read(), kind)

    @property
    def is_built(self) -> bool:
        """Whether there is a page."""
        return "/index.html" in self._found

    def answer(self, path: str) -> Response[bytes]:
        """The file at a path; the page itself for every path that is not a file's: its views have paths too."""
        if path in self._found:
            content, kind = self._found[path]
            is_named = path.startswith("/assets/")  # after its content: it never changes
            cache = "public, max-age=31536000, immutable" if is_named else "no-cache"
            return Response(content, media_type=kind, headers={"cache-control": cache})
        if "." in path.rpartition("/")[2]:
            return Response(b"not found\n", status_code=404, media_type="text/plain")
        content = self._found["/index.html"][0] if self.is_built else _NOT_BUILT.encode()
        return Response(content, media_type=_HTML, headers={"cache-control": "no-cache"})


@get(["/", "/{path:path}"], include_in_schema=False)
async def page(files: NamedDependency[SkipValidation[Any]], path: FromPath[str] = "/") -> Response[bytes]:
    """The page and its files."""
    found: PageFiles = files
    return found.answer(path if path.startswith("/") else f"/{path}")
