"""Progress lines on stderr, each with the seconds since the command began."""

from __future__ import annotations

import sys
import time

_began = time.monotonic()


def step(text: str) -> None:
    """Print one progress line."""
    print(f"[{time.monotonic() - _began:6.1f}s] {text}", file=sys.stderr, flush=True)
