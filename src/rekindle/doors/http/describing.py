"""Writes the description of the HTTP door to a file: `python -m rekindle.doors.http.describing web/openapi.json`."""

from __future__ import annotations

import sys

import msgspec

from rekindle import files
from rekindle.doors.http.application import application
from rekindle.doors.http.live import LiveChanges
from rekindle.doors.http.page import PageFiles
from rekindle.doors.http.passes import DoorSecrets, Passes


def description() -> bytes:
    """OpenAPI 3.1, always in the same order."""
    app = application(None, Passes(DoorSecrets("", ""), lambda: 0.0), PageFiles(""), LiveChanges())
    schema = msgspec.json.encode(app.openapi_schema.to_schema(), order="sorted")
    return msgspec.json.format(schema, indent=1) + b"\n"


if __name__ == "__main__":
    files.replace(sys.argv[1], description())
