"""A guest that QEMU's emulation broke gets a power cycle; one that broke by itself does not."""

from __future__ import annotations

import pytest
from lab import ssh, vm
from lab.config import Config
from lab.errors import EmulatorFault, LabError
from lab.files import Files
from lab.vm import Lab

PANIC = "[ 1.0] Kernel panic - not syncing\n[ 1.1] ---[ end Kernel panic - not syncing ]---\n"
INT3 = f"[ 0.9] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n{PANIC}"
FINE = "login:\n"


class Broken(Lab):
    """A lab whose boots print these texts; the last one settles if it is FINE."""

    def __init__(self, tmp_path, *boots, accel="tcg", image="trixie"):
        super().__init__(Config("x", image, "virtio", 512, "u", [], [], accel=accel), Files(tmp_path))
        self.boots = list(boots)
        self.cycles = 0
        self.settled = False
        self._start()

    running = True

    def _start(self):
        text = self.boots.pop(0)
        self.settled = text == FINE
        with self.files.console.open("a") as log:
            log.write(f"\n{vm._POWER_ON}\n{text}")

    def _kill(self):
        self.cycles += 1

    @property
    def connection(self):
        return self

    def state(self):
        return ssh.State("boot", "running") if self.settled else None


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(vm, "_POLL", 0)


def test_the_emulators_fault(tmp_path):
    lab = Broken(tmp_path, INT3, FINE)
    assert lab.wait_settled().system == "running"
    assert lab.cycles == 1


def test_not_for_ever(tmp_path):
    lab = Broken(tmp_path, INT3, INT3, INT3)
    with pytest.raises(EmulatorFault):
        lab.wait_settled()
    assert lab.cycles == 2


@pytest.mark.parametrize(("text", "accel"), [(PANIC, "tcg"), (INT3, "kvm")])
def test_the_guests_own_fault(tmp_path, text, accel):
    lab = Broken(tmp_path, text, FINE, accel=accel)
    with pytest.raises(LabError, match="is stuck"):
        lab.wait_settled()
    assert lab.cycles == 0


def test_silence(tmp_path, monkeypatch):
    monkeypatch.setattr(vm, "_SILENCE", 0.0)
    lab = Broken(tmp_path, "half a li", FINE)
    lab.wait_settled()
    assert lab.cycles == 1
    other = Broken(tmp_path, "half a li", image="/some/disk.qcow2")
    with pytest.raises(LabError, match="in vain"):
        other.wait_settled(timeout=0.01)
