"""The lab's one exception."""

from __future__ import annotations

import subprocess


class LabError(Exception):
    """Something the user can act on; the text names what was found, what was wanted and the remedy."""


class CommandFailed(LabError):
    """A command inside the guest ended with another exit code than 0."""

    def __init__(self, lab: str, command: str, result: subprocess.CompletedProcess[str]) -> None:
        self.result = result
        said = (result.stderr or result.stdout or "").strip()
        super().__init__(f"lab {lab}: exit code {result.returncode} from: {command}" + (f"\n{said}" if said else ""))


class EmulatorFault(LabError):
    """QEMU's emulation broke the guest, which could do nothing about it."""
