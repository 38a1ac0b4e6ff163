"""The life of a lab: ``Lab.up("dev")`` and everything that can then be done to it."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab import accel, console, disks, image, inventory, paths, process, qemu, seed, ssh
from lab.config import DEFAULT_MEMORY, ROOTS, Config, from_json
from lab.disks import ROOT_SERIAL, Disk
from lab.errors import CommandFailed, EmulatorFault, LabError
from lab.files import Files
from lab.progress import step
from lab.qmp import Qmp
from lab.tools import call, tool

DEFAULT_IMAGE = "trixie"
_POLL = 0.5  # seconds between two looks at something that cannot be waited for
_REPORT = 10.0  # seconds between two progress lines of one wait
_HOTPLUG_TIMEOUT = 60.0
_PORT_TRIES = 5
_POWER_ON = "--- lab: power on ---"  # written into the console's log, which goes on over all boots
# The kernel patches its own code through a breakpoint while other CPUs run; with several threads, TCG now and then lets
# one of them meet a breakpoint that is gone again. No real machine does that, so it says nothing about what is tested.
_EMULATOR_FAULT = "Oops: int3"
# A guest whose clock has jumped under TCG can stand still for ever, in the middle of its boot.
_SILENCE = 120.0  # seconds
_POWER_CYCLES = 3
# What the console ends with when a boot can go no further.
_DEAD_ENDS = ("(initramfs)", "end Kernel panic", "You are in emergency mode")


def _boot_timeout() -> float:
    return float(os.environ.get("LAB_BOOT_TIMEOUT", "600"))


class Lab:
    """One lab. Make it with :meth:`up` or :meth:`load`; every method raises LabError with the remedy."""

    def __init__(self, config: Config, files: Files) -> None:
        self.config = config
        self.files = files

    # -- coming and going ------------------------------------------------------------------------------------

    @staticmethod
    def exists(name: str) -> bool:
        """Has this lab been made, running or not?"""
        return Files(paths.lab_dir(name)).config.exists()

    @classmethod
    def load(cls, name: str) -> Lab:
        """The lab `name`, which must exist."""
        files = Files(paths.lab_dir(name))
        if not files.config.exists():
            raise LabError(f"there is no lab {name!r}; make it with: lab up {name}")
        return cls(from_json(files.config.read_text(encoding="utf-8"), files.config), files)

    @classmethod
    def up(
        cls,
        name: str,
        image: str | None = None,
        disks: list[str] | None = None,
        root: str | None = None,
        memory: int | None = None,
        forward: list[int] | None = None,
    ) -> Lab:
        """Make and boot lab `name`, or boot it if it is stopped, or leave it alone if it is running.

        What is not given is remembered from before, else the default. `memory` is in MiB; `disks` are texts as
        ``lab up --disk`` takes them; `forward` are TCP ports of the guest that the controller shall reach (see
        :attr:`forwards`).
        """
        folder = paths.lab_dir(name)
        with paths.lock(f"lab-{name}"):
            if (folder / "config.json").exists():
                lab = cls.load(name)
                lab._refuse_other_options(image, disks, root, memory, forward)
            else:
                lab = cls._create(folder, name, image, disks, root, memory, forward)
            if lab.running:
                step(f"lab {name} is running")
            else:
                lab._start()
        lab.wait_settled()
        return lab

    @classmethod
    def _create(
        cls,
        folder: Path,
        name: str,
        image_name: str | None,
        disk_texts: list[str] | None,
        root: str | None,
        memory: int | None,
        forward: list[int] | None,
    ) -> Lab:
        wanted = disks.parse_disks(list(disks.DEFAULT) if disk_texts is None else disk_texts)
        image_name = image_name or os.environ.get("LAB_IMAGE") or DEFAULT_IMAGE
        root, memory = root or ROOTS[0], memory or DEFAULT_MEMORY
        if root not in ROOTS:
            raise LabError(f"root disk {root!r} not known; wanted one of {', '.join(ROOTS)}")
        if memory < 512:
            raise LabError(f"memory of {memory} MiB is too little; wanted 512 or more")
        forwards = dict.fromkeys(forward or [], 0)
        if 22 in forwards or not all(0 < port < 65536 for port in forwards):
            raise LabError(f"cannot forward the ports {forward}; wanted 1 to 65535 without 22, which always is")
        source = image.ensure(image_name)
        if folder.exists():  # an earlier creation was cut off: its config.json, written last, is missing
            shutil.rmtree(folder)
        files = Files(folder)
        files.disks.mkdir(parents=True)
        files.folder.chmod(0o700)
        step(f"making lab {name}: image {image_name}, root disk on {root}, {len(wanted)} NVMe disks")
        order = [ROOT_SERIAL] * (root == "nvme") + [disk.serial for disk in wanted]
        lab = cls(Config(name, image_name, root, memory, str(uuid.uuid4()), wanted, order, forwards=forwards), files)
        ssh.make_keys(files, name)
        if source.kernel is None:
            seed.create(files, name)
        call("qemu-img", "create", "-q", "-f", "qcow2", "-F", source.disk_format, "-b", source.disk, files.root)
        for disk in wanted:
            disks.create(disk, files.disk(disk.serial))
        lab._save()
        return lab

    def _refuse_other_options(
        self,
        image_name: str | None,
        disk_texts: list[str] | None,
        root: str | None,
        memory: int | None,
        forward: list[int] | None,
    ) -> None:
        wanted = None if disk_texts is None else disks.parse_disks(disk_texts)
        has = self.config
        for what, found, want in (
            ("image", has.image, image_name),
            ("disks", has.disks, wanted),
            ("root", has.root, root),
            ("memory", has.memory, memory),
            ("forwarded ports", sorted(has.forwards), None if forward is None else sorted(set(forward))),
        ):
            if want is not None and want != found:
                raise LabError(
                    f"lab {has.name} exists with {what} {found}, not {want}; end it first: lab down {has.name}"
                )

    def down(self, keep: bool = False) -> None:
        """End the lab: stop QEMU at once and remove the folder; with `keep` only power the guest off, cleanly."""
        if keep:
            self._power_off()
            return
        with paths.lock(f"lab-{self.config.name}"):
            self.connection.close()
            process.kill(self.files.pid)
            shutil.rmtree(self.files.folder)
        step(f"lab {self.config.name} is gone")

    @property
    def running(self) -> bool:
        """Is this lab's QEMU alive?"""
        return process.find(self.files.pid) is not None

    @property
    def connection(self) -> ssh.Connection:
        """How SSH reaches the guest."""
        return ssh.Connection(self.config.name, self.config.port, self.files)

    @property
    def forwards(self) -> dict[int, int]:
        """The guest's forwarded ports: port of the guest → port on 127.0.0.1 of the controller, of this boot."""
        return dict(self.config.forwards)

    def _save(self) -> None:
        partial = self.files.config.with_suffix(".partial")
        partial.write_text(self.config.to_json(), encoding="utf-8")
        partial.replace(self.files.config)

    def _start(self) -> None:
        """Start QEMU. Another program can take a port between our look and QEMU's use: then try others."""
        source = image.under(self.files.root)
        self.config.accel = accel.choose()
        self.config.hotplugged = {}
        for _dummy in range(_PORT_TRIES):
            self.config.port, *ports = _free_ports([self.config.port, *self.config.forwards.values()])
            self.config.forwards = dict(zip(self.config.forwards, ports, strict=True))
            self._save()
            command = qemu.command(self.config, source, self.files)
            command[0] = tool(command[0])
            self.files.qmp.unlink(missing_ok=True)
            with open(self.files.console, "a", encoding="utf-8") as log:
                log.write(f"\n{_POWER_ON}\n")
            started = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if started.returncode == 0:
                step(f"QEMU started ({self.config.accel}), SSH on 127.0.0.1:{self.config.port}")
                return
            if "host forwarding" not in started.stderr:
                break
        raise LabError(f"QEMU of lab {self.config.name} ended at once: {started.stderr.strip()}")

    # -- waiting ---------------------------------------------------------------------------------------------

    def wait_settled(self, other_than: str | None = None, timeout: float | None = None) -> ssh.State:
        """Wait until systemd has finished booting, in another boot than `other_than` (a boot id)."""
        found: list[ssh.State] = []

        def settled() -> bool:
            state = self.connection.state()
            if state and state.settled and state.boot_id != other_than:
                found.append(state)
            return bool(found)

        for cycle in range(1, _POWER_CYCLES + 1):
            try:
                self._wait("the guest to settle", settled, timeout or _boot_timeout())
                break
            except EmulatorFault as error:
                if cycle == _POWER_CYCLES:
                    raise
                step(f"{error}\nQEMU's emulation broke the guest: power cycle")
                self._kill()
                self._start()
        step(f"lab {self.config.name} is up: systemd is {found[0].system}")
        return found[0]

    def _wait(self, what: str, done: Callable[[], bool], timeout: float) -> None:
        began = reported = time.monotonic()
        while not done():
            now = time.monotonic()
            if not self.running:
                raise LabError(f"QEMU of lab {self.config.name} ended while waiting for {what}{self._last_words()}")
            dead = any(end in self._since_power_on(3) for end in _DEAD_ENDS)
            silent = now - began > _SILENCE and self._silent_for() > _SILENCE
            if dead or silent:
                broken = silent or (self.config.accel == "tcg" and _EMULATOR_FAULT in self._since_power_on(200))
                raise (EmulatorFault if broken else LabError)(
                    f"lab {self.config.name} is stuck while waiting for {what}{self._last_words()}"
                )
            if now - began > timeout:
                raise LabError(
                    f"lab {self.config.name}: waited {timeout:.0f} s for {what}, in vain; "
                    f"look at the console, or raise LAB_BOOT_TIMEOUT{self._last_words()}"
                )
            if now - reported > _REPORT:
                reported = now
                last = self.console(1).strip()
                step(f"waiting for {what} … {last[:90]}")
            time.sleep(_POLL)

    def _silent_for(self) -> float:
        """Seconds without a word on the console, where a boot has something to say all the time."""
        if self.config.accel != "tcg" or self.config.image not in image.RECIPES:
            return 0.0
        return time.time() - self.files.console.stat().st_mtime

    def _since_power_on(self, lines: int) -> str:
        return self.console(lines).rpartition(_POWER_ON)[2]

    def console(self, lines: int) -> str:
        """The last lines of the serial console, without its colours."""
        return console.tail(self.files.console, lines)

    def _last_words(self) -> str:
        return f"\nlast lines of {self.files.console}:\n{self.console(12)}"

    # -- using -----------------------------------------------------------------------------------------------

    def run(
        self, command: list[str], check: bool = True, input: str | None = None, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the guest as root; its words arrive exactly as given (for a shell: ["sh", "-c", …])."""
        self._require_running()
        try:
            result = self.connection.run(command, stdin=input, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise LabError(f"lab {self.config.name}: not done within {timeout} s: {shlex.join(command)}") from error
        if check and result.returncode != 0:
            raise CommandFailed(self.config.name, shlex.join(command), result)
        return result

    def _require_running(self) -> None:
        if not self.running:
            raise LabError(f"lab {self.config.name} is not running; boot it with: lab up {self.config.name}")

    def inventory(self) -> dict[str, Any]:
        """The Ansible variables of this host."""
        return inventory.host(self.connection)

    def kernel_names(self) -> dict[str, str]:
        """Serial → kernel name (nvme0, …) of the NVMe controllers that the guest sees now."""
        script = (
            'for c in /sys/class/nvme/nvme*; do [ -e "$c/serial" ] && echo "$(cat "$c/serial") ${c##*/}"; done; true'
        )
        lines = self.run(["sh", "-c", script]).stdout.splitlines()
        return dict(sorted(line.split() for line in lines if len(line.split()) == 2))

    def hash(self, serials: list[str] | None = None) -> dict[str, str]:
        """The sha256 of each whole data disk, from outside; the guest's own cache is written out first."""
        known = [disk.serial for disk in self.config.disks]
        wanted = known if serials is None else serials
        for serial in wanted:
            self._require_disk(serial)
        if self.running:
            self.run(["sync"])
        return disks.sha256_files({serial: self.files.disk(serial) for serial in wanted})

    def _require_disk(self, serial: str) -> Disk:
        for disk in self.config.disks:
            if disk.serial == serial:
                return disk
        known = ", ".join(disk.serial for disk in self.config.disks)
        raise LabError(f"lab {self.config.name} has no disk {serial!r}; it has: {known}")

    # -- going down and coming back --------------------------------------------------------------------------

    def reboot(self) -> None:
        """Ask the guest to reboot; return when another boot has settled."""
        self._require_running()
        before = self._boot_id()
        step(f"rebooting lab {self.config.name}")
        result = self.connection.run(["systemctl", "reboot"])
        if result.returncode not in (0, 255):  # 255: the connection went down with the guest
            raise CommandFailed(self.config.name, "systemctl reboot", result)
        self.connection.close()
        self.wait_settled(other_than=before)

    def _boot_id(self) -> str:
        state = self.connection.state()
        if state is None:
            raise LabError(f"lab {self.config.name} does not answer over SSH{self._last_words()}")
        return state.boot_id

    def cut(self, off: bool = False) -> None:
        """Power loss: kill QEMU as it is; boot again unless `off`."""
        self._require_running()
        self._kill()
        step(f"power of lab {self.config.name} is cut")
        if not off:
            self._start()
            self.wait_settled()

    def _kill(self) -> None:
        process.kill(self.files.pid)
        self.connection.close()

    def _power_off(self) -> None:
        """A clean shutdown by the guest itself."""
        if not self.running:
            return
        step(f"lab {self.config.name} shuts down")
        result = self.connection.run(["systemctl", "poweroff"])
        if result.returncode not in (0, 255):
            raise CommandFailed(self.config.name, "systemctl poweroff", result)
        self.connection.close()
        if not process.wait_gone(self.files.pid, _boot_timeout()):
            raise LabError(
                f"lab {self.config.name} did not power off within {_boot_timeout():.0f} s; "
                f"see why on its console, or cut it: lab cut --off {self.config.name}{self._last_words()}"
            )

    def renumber(self, serials: list[str] | None = None) -> dict[str, str]:
        """Shut down, and boot with the NVMe disks in another order (reversed by default); give the new names.

        Fails when no kernel name has changed, for then nothing would be tested.
        """
        self._require_running()
        wanted = serials or list(reversed(self.config.order))
        if sorted(wanted) != sorted(self.config.order):
            raise LabError(
                f"order {' '.join(wanted)} does not name each disk once; wanted these: {' '.join(self.config.order)}"
            )
        before = self.kernel_names()
        self._power_off()
        self.config.order = wanted
        self._start()
        self.wait_settled()
        after = self.kernel_names()
        moved = [
            f"{serial} {before[serial]}→{name}" for serial, name in after.items() if before.get(serial, name) != name
        ]
        if not moved:
            raise LabError(
                f"lab {self.config.name}: every NVMe disk kept its kernel name in order {' '.join(wanted)}; "
                "give another order (within a NUMA node it is kept; the first disk's node comes first)"
            )
        step("renumbered: " + ", ".join(moved))
        return after

    # -- snapshots -------------------------------------------------------------------------------------------

    def snapshot(self, tag: str) -> None:
        """Keep a copy of all disks, the root disk too, under `tag`."""
        target = self._snapshot_dir(tag)
        if target.exists():
            raise LabError(f"lab {self.config.name} has a snapshot {tag!r} already; choose another tag")
        work = target.with_name(f".{tag}.tmp")
        if work.exists():
            shutil.rmtree(work)
        work.mkdir(parents=True)
        if self.running:
            self.run(["sync"])
            with Qmp(self.files.qmp) as qmp:
                qmp.execute("stop")  # also writes out what QEMU itself holds back
                try:
                    self._copy_disks(self.files.folder, work)
                finally:
                    qmp.execute("cont")
        else:
            self._copy_disks(self.files.folder, work)
        work.rename(target)
        step(f"lab {self.config.name}: snapshot {tag} taken")

    def restore(self, tag: str) -> None:
        """Cut the power, put all disks back as they were at the snapshot, and boot."""
        source = self._snapshot_dir(tag)
        if not source.exists():
            known = sorted(path.name for path in self.files.snapshots.glob("[!.]*"))
            raise LabError(f"lab {self.config.name} has no snapshot {tag!r}; it has: {', '.join(known) or 'none'}")
        self._kill()
        shutil.rmtree(self.files.disks)
        self._copy_disks(source, self.files.folder)
        self.config = self.load(self.config.name).config
        step(f"lab {self.config.name}: disks are as in snapshot {tag}")
        self._start()
        self.wait_settled()

    def _snapshot_dir(self, tag: str) -> Path:
        if not tag.replace("-", "").replace("_", "").isalnum():
            raise LabError(f"snapshot tag {tag!r} is not usable; wanted letters, digits, - and _")
        return self.files.snapshots / tag

    @staticmethod
    def _copy_disks(source: Path, target: Path) -> None:
        for name in ("config.json", "root.qcow2", "disks"):
            call("cp", "-r", "--sparse=always", "--reflink=auto", source / name, target)

    # -- hot-plug --------------------------------------------------------------------------------------------

    def attach(self, text: str, wait: bool = True) -> None:
        """Plug a disk in. A disk that was detached before comes back with its content.

        `wait` until the guest sees it; without, it may still be booting. In a stopped lab it is there at the next boot.
        """
        disk = disks.parse_disk(text)
        if any(other.serial == disk.serial for other in self.config.disks):
            raise LabError(f"lab {self.config.name} has a disk {disk.serial} already; give another serial")
        port = self._spare_port(disk.numa) if self.running else None
        path = self.files.disk(disk.serial)
        if not path.exists():
            disks.create(disk, path)
        elif path.stat().st_size != disk.size:
            raise LabError(
                f"detached disk {disk.serial} has {path.stat().st_size} bytes, not {disk.size}; give its own size"
            )
        if port:
            node = qemu.nvme_id(disk.serial)
            with Qmp(self.files.qmp) as qmp:
                qmp.execute("blockdev-add", **qemu.blockdev(node, path, "raw"))
                try:
                    qmp.execute("device_add", driver="nvme", id=node, bus=port, drive=node, serial=disk.serial)
                except LabError:
                    qmp.execute("blockdev-del", **{"node-name": node})
                    raise
            self.config.hotplugged[disk.serial] = port
        self.config.disks.append(disk)
        self.config.order.append(disk.serial)
        self._save()
        if port and wait:
            self._wait(f"the guest to see {disk.serial}", lambda: self._sees(disk.serial), _HOTPLUG_TIMEOUT)
        step(f"lab {self.config.name}: {disk.serial} attached")

    def _sees(self, serial: str) -> bool:
        return self.connection.run(["sh", "-c", f"grep -qw {serial} /sys/class/nvme/*/serial"]).returncode == 0

    def _spare_port(self, numa: int) -> str:
        used = self.config.hotplugged.values()
        for port in qemu.spare_ports(numa):
            if port not in used:
                return port
        raise LabError(
            f"all {qemu.SPARE_PORTS} hot-plug ports of NUMA node {numa} are taken; detach a disk, or boot anew "
            f"(plugged-in disks then get ports of their own): lab down --keep and lab up {self.config.name}"
        )

    def detach(self, serial: str) -> None:
        """Unplug a disk, in use or not. Its file stays, for a later attach."""
        disk = self._require_disk(serial)
        if self.running:
            node = qemu.nvme_id(serial)
            with Qmp(self.files.qmp) as qmp:
                qmp.execute("device_del", id=node)
                if not qmp.wait_event("DEVICE_DELETED", node, _HOTPLUG_TIMEOUT):
                    raise LabError(
                        f"the guest did not release {serial} within {_HOTPLUG_TIMEOUT:.0f} s; "
                        f"is it still booting?{self._last_words()}"
                    )
                qmp.execute("blockdev-del", **{"node-name": node})
            self.config.hotplugged.pop(serial, None)
        self.config.disks.remove(disk)
        self.config.order.remove(serial)
        self._save()
        step(f"lab {self.config.name}: {serial} detached")


def all_labs() -> list[Lab]:
    """Every lab there is."""
    return [Lab.load(path.parent.name) for path in sorted(paths.labs_dir().glob("*/config.json"))]


def _free_ports(preferred: list[int]) -> list[int]:
    """Free loopback ports: those used before where they are free, so that inventories stay true. All different."""
    with ExitStack() as held:
        return [_hold_port(held, port) for port in preferred]


def _hold_port(held: ExitStack, preferred: int) -> int:
    for port in (preferred, 0):
        probe = held.enter_context(socket.socket())
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return int(probe.getsockname()[1])
    raise LabError("no free TCP port on 127.0.0.1; end something that holds them")
