"""The guest's serial console as text."""

from __future__ import annotations

import re
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


def plain(line: str) -> str:
    """A line without colours and other control sequences."""
    return _CONTROL.sub("", line).rstrip()


def tail(path: Path, lines: int) -> str:
    """The last non-empty lines of a console log."""
    if not path.exists():
        return ""
    with open(path, "rb") as handle:
        handle.seek(max(0, path.stat().st_size - 2000 - 200 * lines))
        text = handle.read().decode("utf-8", "replace")
    return "\n".join([line for line in map(plain, text.splitlines()) if line][-lines:])
