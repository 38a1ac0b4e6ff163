"""KVM or TCG: decided by really booting a kernel, remembered per host kernel."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

from lab import image, qemu
from lab.errors import LabError
from lab.paths import home, lock
from lab.progress import step
from lab.tools import call, tool

KINDS = ("kvm", "tcg")
# Printed by the initramfs: the kernel has booted, and programs run in user space.
_MARKER = "Loading, please wait"
_LIMIT = 20.0  # seconds; where KVM works, the marker comes within 3


def choose() -> str:
    """The accelerator to use: LAB_ACCEL, else KVM if a kernel has been seen to boot on it, else TCG."""
    if given := os.environ.get("LAB_ACCEL"):
        if given not in KINDS:
            raise LabError(f"LAB_ACCEL is {given!r}; wanted one of {', '.join(KINDS)}")
        return given
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        step("no access to /dev/kvm: using TCG (slower)")
        return "tcg"
    version = call(qemu.BINARY, "--version").splitlines()[0]
    host = f"{platform.release()} {platform.version()}, {version}"
    with lock("accel"):
        record = home() / "accel.json"
        known = _read(record)
        if host not in known:
            known[host] = _kvm_boots()
            record.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    return "kvm" if known[host] else "tcg"


def _read(record: Path) -> dict[str, bool]:
    try:
        known: dict[str, bool] = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return known


def _kvm_boots() -> bool:
    """Boot the lab's own kernel on KVM and watch its console for the marker."""
    kernel = image.ensure("trixie")
    step("/dev/kvm opens; trying whether a kernel boots on it")
    with tempfile.TemporaryDirectory() as folder:
        console = Path(folder) / "console.log"
        console.touch()
        command = qemu.probe_command(kernel, "kvm", console)
        command[0] = tool(command[0])
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + _LIMIT
        booted = False
        try:
            while not booted and machine.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
                booted = _MARKER in console.read_text(encoding="utf-8", errors="replace")
        finally:
            machine.kill()
            said = machine.communicate()[1].strip()
    if booted:
        step("KVM works")
    else:
        reason = said.splitlines()[-1] if said else f"its console was silent for {_LIMIT:.0f} s"
        step(f"no kernel boots on KVM here ({reason}): using TCG")
    return booted
