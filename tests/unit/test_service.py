# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service that has to come back: what is done when it does not."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import service
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    HostprepError,
    Problem,
    RemoveFile,
    RestartService,
    WriteFile,
)

OLD = WriteFile("/etc/old", "old", "new", "put it back")
NEW = RemoveFile("/etc/new", "new", "take it away")
JOURNAL = """\
I1130 10:00:00.000000       7 server.go:1] "starting"
E1130 10:00:01.000000       7 run.go:72] "command failed" err="running with swap on is not supported"
kubelet.service: Main process exited
E1130 10:00:01.000000       7 run.go:72] "command failed" err="running with swap on is not supported"
"""


class Machine:
    """systemd and a clock. `fates`: what each start leads to, "up", "dies", "hangs" or "answers and dies"."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *fates: str) -> None:
        self.fates = list(fates)
        self.fate = ""
        self.ran: list[str] = []
        self.removed: list[str] = []
        self.undone: list[t.Any] = []
        self.remove: t.Callable[[str], None] = self.removed.append
        self.looks = 0
        self.clock = 1000.0
        monkeypatch.setattr(service.time, "monotonic", lambda: self.clock)
        monkeypatch.setattr(service.time, "sleep", self.sleep)
        monkeypatch.setattr(service, "_answers", lambda _url: self.fate in ("up", "answers and dies"))

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def run(self, argv: t.Sequence[str]) -> str:
        self.ran.append(" ".join(argv))
        if argv[:2] == ("systemctl", "restart"):
            self.fate = self.fates.pop(0)
            self.looks = 0
        if argv[0] == "journalctl":
            return JOURNAL
        if argv[1] != "show":
            return ""
        self.looks += 1
        deaths = {"dies": self.looks, "answers and dies": self.looks // 6}.get(self.fate, 0)
        return f"ActiveState=active\nMainPID={7 + deaths}\nNRestarts={deaths}\n"

    def restart(self, *undo: t.Any, url: str = "http://x/healthz", remove: tuple[str, ...] = ()) -> None:
        action = RestartService("kubelet.service", url, undo, "read its files", remove)
        service.restart(action, self.run, self.undone.append, self.remove)

    def verbs(self) -> list[str]:
        return [line.split()[1] for line in self.ran if line.startswith("systemctl") and " show " not in line]


def test_it_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "up")
    machine.restart(OLD)
    assert machine.verbs() == ["daemon-reload", "reset-failed", "restart"]
    assert machine.undone == []


def test_state_files_go_while_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "up")
    machine.restart(remove=("/var/lib/kubelet/cpu_manager_state",))
    assert machine.verbs() == ["daemon-reload", "reset-failed", "stop", "restart"]
    assert machine.removed == ["/var/lib/kubelet/cpu_manager_state"]


@pytest.mark.parametrize("fate", ["dies", "hangs"])
def test_it_does_not_and_gets_its_files_back(monkeypatch: pytest.MonkeyPatch, fate: str) -> None:
    machine = Machine(monkeypatch, fate, "up")
    with pytest.raises(HostprepError) as error:
        machine.restart(OLD, NEW)
    assert machine.undone == [OLD, NEW]
    assert machine.fates == []
    (problem,) = error.value.problems
    assert problem.found.count("running with swap on is not supported") == 1
    assert "starting" not in problem.found
    assert "it runs with them" in problem.remedy


def test_it_does_not_come_back_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "dies", "dies")
    with pytest.raises(HostprepError, match="does not run with them either"):
        machine.restart(OLD)


def test_it_gets_its_files_back_even_if_the_journal_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "dies", "up")
    run = machine.run

    def without_journal(argv: t.Sequence[str]) -> str:
        if argv[0] == "journalctl":
            raise HostprepError(Problem("no journal", "one", "none"))
        return run(argv)

    machine.run = without_journal  # type: ignore[method-assign]
    with pytest.raises(HostprepError, match="the journal could not be read"):
        machine.restart(OLD)
    assert machine.undone == [OLD]


def test_it_gets_its_files_back_if_a_state_file_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "up")

    def refuse(path: str) -> None:
        raise OSError(30, "Read-only file system", path)

    machine.remove = refuse
    with pytest.raises(HostprepError, match="Read-only file system"):
        machine.restart(OLD, remove=("/var/state",))
    assert machine.undone == [OLD]


def test_nothing_to_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, "dies")
    with pytest.raises(HostprepError, match="nothing had been changed"):
        machine.restart()


@pytest.mark.parametrize("url", ["", "http://x/healthz"])
def test_it_has_to_live_for_a_while(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    machine = Machine(monkeypatch, "up")
    machine.restart(url=url)
    assert machine.clock >= 1005
    with pytest.raises(HostprepError):
        Machine(monkeypatch, "dies").restart(url=url)


def test_one_good_answer_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubelet answers before it finds that its state files tell of another policy (field report B52)."""
    with pytest.raises(HostprepError, match="did not come back"):
        Machine(monkeypatch, "answers and dies").restart()
