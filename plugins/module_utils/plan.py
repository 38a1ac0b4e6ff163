# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words in which every subject speaks: a problem, an action, a check, a plan.

Pure data, no I/O and no Ansible. A subject (swap, slices, sysctl, ...) turns what it observed and
what is wanted into one Plan; actions.py is the only place that carries actions out.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """Why nothing may be done: what was found, what was wanted, and what the operator can do."""

    found: str
    wanted: str
    remedy: str

    def __str__(self) -> str:
        return f"Found: {self.found}. Wanted: {self.wanted}. Remedy: {self.remedy}."

    def as_dict(self) -> dict[str, str]:
        return {"found": self.found, "wanted": self.wanted, "remedy": self.remedy}


class HostprepError(Exception):
    """The one exception of the collection; the edge of each module turns it into fail_json."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(" ".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class Command:
    """Run a program, without a shell. A non-zero exit status is a failure."""

    argv: tuple[str, ...]
    reason: str

    def describe(self) -> dict[str, t.Any]:
        return {"command": list(self.argv), "reason": self.reason}


@dataclass(frozen=True)
class WriteFile:
    """Replace a regular file as a whole, atomically; mode and SELinux context of an older one are kept."""

    path: str
    content: str
    before: str
    reason: str

    def describe(self) -> dict[str, t.Any]:
        return {"write": self.path, "reason": self.reason}


@dataclass(frozen=True)
class RemoveFile:
    """Remove a file of ours, and its directory if that is a drop-in directory left empty."""

    path: str
    before: str
    reason: str

    def describe(self) -> dict[str, t.Any]:
        return {"remove": self.path, "reason": self.reason}


@dataclass(frozen=True)
class WriteKernel:
    """Write a value into a file of /proc/sys or cgroupfs. Lasts until the next boot."""

    path: str
    value: str
    reason: str

    def describe(self) -> dict[str, t.Any]:
        return {"kernel": self.path, "value": self.value, "reason": self.reason}


@dataclass(frozen=True)
class RestartService:
    """Restart a service and wait until it is healthy; if it does not come back, undo and start it as it was.

    remove: state files that may not be there when it starts. health_url answers 200 when the service is well.
    """

    unit: str
    health_url: str
    undo: tuple[WriteFile | RemoveFile, ...]
    reason: str
    remove: tuple[str, ...] = ()

    def describe(self) -> dict[str, t.Any]:
        described: dict[str, t.Any] = {"restart": self.unit, "reason": self.reason}
        return {**described, "remove": list(self.remove)} if self.remove else described


Action = t.Union[Command, WriteFile, RemoveFile, WriteKernel, RestartService]


@dataclass(frozen=True)
class Check:
    """One line of evidence: what is wanted, what the running system says, and where it says so.

    supported is False where this kernel cannot carry the setting: reported, but not a failure.
    """

    name: str
    wanted: str
    found: str
    proof: str
    ok: bool
    supported: bool = True

    def as_dict(self) -> dict[str, t.Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Plan:
    """What would have to happen. With problems it is a refusal: then there are no actions.

    gates are what has to be true when the actions begin, and what an earlier step of the sequence brings about: a
    plan that is only shown names them, a run refuses.
    before and after are lines that a person can read; they become the diff together with the files.
    """

    actions: tuple[Action, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    gates: tuple[Problem, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def deviations(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.supported and not check.ok)


def refusal(*problems: Problem, warnings: tuple[str, ...] = (), checks: tuple[Check, ...] = ()) -> Plan:
    return Plan(problems=problems, warnings=warnings, checks=checks)
