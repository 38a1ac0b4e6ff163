# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarting a service that has to come back: part of act, used by actions.py only."""

from __future__ import annotations

import http.client
import time
import typing as t
import urllib.request

from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    HostprepError,
    Problem,
    RestartService,
)

Run = t.Callable[[t.Sequence[str]], str]

_TIMEOUT = 120.0  # seconds; a kubelet waits for its container runtime
_DEATHS = 3  # a service may lose a race once or twice (its runtime starts, too), not more often
# Seconds that one process has to be well: a kubelet answers for a moment before it finds its state files wanting.
_STEADY = 5.0
_POLL = 0.5  # seconds; neither systemd nor the kubelet can be watched without more than the standard library
_LAST_WORDS = 8


def restart(action: RestartService, run: Run, act: t.Callable[[Action], None], remove: t.Callable[[str], None]) -> None:
    """Restart and wait for health. Otherwise undo, start it as it was, and raise with its own last words.

    run gives the output of a program or raises; act carries one file action out; remove takes a state file away.
    """
    began = time.time()
    try:
        _begin(action, run, remove)
    except HostprepError as error:
        for undo in action.undo:
            act(undo)
        words = _last_words(action.unit, began, run)
        raise HostprepError(
            Problem(
                found=f"{action.unit} did not come back ({error.problems[0].found}); its last words: {words}",
                wanted=f"to {action.reason}",
                remedy=f"{_restore(action, run, remove)}; repair what it complains about and run again",
            )
        ) from error


def _begin(action: RestartService, run: Run, remove: t.Callable[[str], None]) -> None:
    try:
        _start(action, run, remove)
    except OSError as error:
        raise HostprepError(
            Problem(
                found=f"{error.filename}: {error.strerror}",
                wanted=f"to restart {action.unit}",
                remedy="look whether that file system is full or read-only",
            )
        ) from error
    _wait_healthy(action, run)


def _start(action: RestartService, run: Run, remove: t.Callable[[str], None]) -> None:
    run(("systemctl", "daemon-reload"))
    run(("systemctl", "reset-failed", action.unit))
    if action.remove:
        run(("systemctl", "stop", action.unit))
        for path in action.remove:
            remove(path)
    run(("systemctl", "restart", action.unit))


def _restore(action: RestartService, run: Run, remove: t.Callable[[str], None]) -> str:
    if not action.undo:
        return "nothing had been changed before the restart"
    try:
        _begin(action, run, remove)
    except HostprepError as error:
        return f"the files are as they were before, but it does not run with them either ({error.problems[0].found})"
    return "the files are as they were before, and it runs with them"


def _wait_healthy(action: RestartService, run: Run) -> None:
    """One process has to be active, and to answer where there is a URL, for a while on end."""
    began = time.monotonic()
    well, since = "", began
    deaths = 0
    state: dict[str, str] = {}
    while time.monotonic() - began < _TIMEOUT:
        state = _state(action.unit, run)
        deaths = int(state.get("NRestarts") or 0)
        if state.get("ActiveState") == "failed" or deaths >= _DEATHS:
            break
        pid = state.get("MainPID", "0") if state.get("ActiveState") == "active" else "0"
        if pid == "0" or (action.health_url and not _answers(action.health_url)):
            well = ""
        elif pid != well:
            well, since = pid, time.monotonic()
        elif time.monotonic() - since >= _STEADY:
            return
        time.sleep(_POLL)
    raise HostprepError(
        Problem(
            found=f"{state.get('ActiveState')}, ended {deaths} times in {time.monotonic() - began:.0f} s",
            wanted="a healthy service",
            remedy="see its journal",
        )
    )


def _state(unit: str, run: Run) -> dict[str, str]:
    text = run(("systemctl", "show", "--property=ActiveState,MainPID,NRestarts", "--", unit))
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _answers(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _last_words(unit: str, since: float, run: Run) -> str:
    """Of the journal since the restart; errors in klog's form (E1130 10:00:00) before anything else."""
    try:
        text = run(("journalctl", f"--unit={unit}", f"--since=@{since:.0f}", "--output=cat", "--no-pager", "--quiet"))
    except HostprepError:
        return "the journal could not be read"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line[:1] in ("E", "F") and line[1:5].isdigit()]
    return " | ".join(list(dict.fromkeys(errors or lines))[-_LAST_WORDS:]) or "none in the journal"
