"""Making the API sick on purpose."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Fault:
    """What happens to requests whose URL matches: an error status, or (no status) a dropped connection."""

    status: int | None
    path: re.Pattern[str]  # found anywhere in the URL, the query included
    left: float  # requests that it still hits
    until: float  # monotonic time


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, data: dict[str, Any]) -> None:
        """As Api.fault() sends it: {status, requests, seconds, path}; status null drops connections."""
        seconds = data.get("seconds")
        fault = Fault(
            data.get("status"),
            re.compile(data.get("path") or ""),
            data.get("requests") or float("inf"),
            time.monotonic() + seconds if seconds else float("inf"),
        )
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Be well again."""
        with self._lock:
            self._faults.clear()

    def hit(self, url: str) -> Fault | None:
        """The fault that strikes this request; it counts as one of its requests."""
        with self._lock:
            found = self._find(url)
            if found:
                found.left -= 1
            return found

    def cuts(self, url: str) -> bool:
        """Whether a watch that is already running has to end: an API that drops connections drops these too."""
        with self._lock:
            found = self._find(url)
            return found is not None and found.status is None

    def _find(self, url: str) -> Fault | None:
        now = time.monotonic()
        self._faults = [fault for fault in self._faults if fault.left > 0 and fault.until > now]
        return next((fault for fault in self._faults if fault.path.search(url)), None)
