"""QEMU's process: found by its pid file, ended by its pid, never by a name."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

from lab.errors import LabError


def find(pidfile: Path) -> int | None:
    """The pid of the living QEMU that was started with `pidfile`, or None.

    A pid can have been given to another program since; only a process whose own command line names this pid
    file is ours.
    """
    try:
        pid = int(pidfile.read_text(encoding="ascii"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if os.fsencode(pidfile) in words else None


def wait_gone(pidfile: Path, timeout: float) -> bool:
    """Wait until that QEMU has ended; False if it has not within `timeout` seconds."""
    handle = _open(pidfile)
    if handle is None:
        return True
    try:
        return bool(select.select([handle], [], [], timeout)[0])
    finally:
        os.close(handle)


def kill(pidfile: Path) -> None:
    """SIGKILL that QEMU, and wait until it is gone. Nothing happens when it is not running."""
    handle = _open(pidfile)
    if handle is None:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not select.select([handle], [], [], 30)[0]:
            raise LabError(f"QEMU of {pidfile} did not end within 30 s of SIGKILL; see its process state")
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def _open(pidfile: Path) -> int | None:
    """A pidfd of that QEMU, so that a pid given to another program meanwhile cannot be hit."""
    pid = find(pidfile)
    if pid is None:
        return None
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if find(pidfile) != pid:
        os.close(handle)
        return None
    return handle
