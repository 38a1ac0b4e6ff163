"""A small client for QEMU's machine protocol (QMP), one connection a use."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from lab.errors import LabError


class Qmp:
    """``with Qmp(path) as qmp: qmp.execute("stop")``."""

    def __init__(self, path: Path, timeout: float = 30) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise LabError(f"QEMU does not answer on {path} ({error}); is the lab running?") from error
        self._stream = self._socket.makefile("rw", encoding="utf-8")
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Qmp:
        self._read()  # the greeting
        self.execute("qmp_capabilities")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._socket.close()

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run one QMP command and give back what it returns."""
        self._stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._stream.flush()
        while True:
            answer = self._read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise LabError(f"QEMU refused {command}: {answer['error']['desc']}")
            self._events.append(answer)

    def wait_event(self, name: str, device: str, timeout: float) -> bool:
        """Wait for the event `name` of `device`; False if it has not come within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            for event in self._events:
                if event.get("event") == name and event.get("data", {}).get("device") == device:
                    return True
            self._events.clear()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self._socket.settimeout(remaining)
            try:
                self._events.append(self._read())
            except TimeoutError:
                return False

    def _read(self) -> dict[str, Any]:
        line = self._stream.readline()
        if not line:
            raise LabError("QEMU closed its control connection; it has probably ended (see the lab's console log)")
        message: dict[str, Any] = json.loads(line)
        return message
