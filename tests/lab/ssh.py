"""SSH to a lab: its keys, one shared connection, and the guest's state read through it."""

from __future__ import annotations

import base64
import re
import shlex
import socket
import subprocess
from dataclasses import dataclass

from lab.files import AUTHORIZED_KEYS, HOST_KEY, Files
from lab.tools import call, tool

_STATE = re.compile(r"^lab-state ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) ([a-z]+)$", re.MULTILINE)
# --wait: one process in the guest waits there, instead of many that look and slow the boot down.
_STATE_SCRIPT = 'echo; echo "lab-state $(cat /proc/sys/kernel/random/boot_id) $(systemctl is-system-running --wait)"'
# The newer, post-quantum exchanges cost a second of CPU time under TCG.
_KEX = "curve25519-sha256"
SETTLED = ("running", "degraded")


@dataclass(frozen=True)
class State:
    """A guest at one moment: which boot it is in, and what systemd says of it."""

    boot_id: str
    system: str

    @property
    def settled(self) -> bool:
        """True when systemd has finished booting."""
        return self.system in SETTLED


def parse_state(text: str) -> State | None:
    """The state in what the guest printed. Only a whole, well-formed line counts: shells may print what they like."""
    match = _STATE.search(text.replace("\r", ""))
    return State(match[1], match[2]) if match else None


def make_keys(files: Files, name: str) -> None:
    """A fresh user key and host key, and the credentials that carry them into the guest."""
    for path in (files.key, files.host_key):
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{name}", "-f", path)
    public = files.host_key.with_suffix(".pub").read_text(encoding="ascii")
    files.known_hosts.write_text(f"{alias(name)} {public}", encoding="ascii")
    for credential, key in ((AUTHORIZED_KEYS, files.key.with_suffix(".pub")), (HOST_KEY, files.host_key)):
        value = base64.b64encode(key.read_bytes()).decode()
        path = files.credential(credential)
        path.touch(mode=0o600)
        path.write_text(f"io.systemd.credential.binary:{credential}={value}", encoding="ascii")


def alias(name: str) -> str:
    """The name under which a lab's host key is known; its port may change."""
    return f"lab-{name}"


@dataclass(frozen=True)
class Connection:
    """How to reach one lab. All uses share one connection (ControlMaster), also those of Ansible."""

    name: str
    port: int
    files: Files

    def options(self) -> list[str]:
        """The options that ssh needs besides port, user, key and host."""
        settings = {
            "UserKnownHostsFile": self.files.known_hosts,
            "HostKeyAlias": alias(self.name),
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ControlMaster": "auto",
            "ControlPath": self.files.control,
            "ControlPersist": "600",
            "ConnectTimeout": "30",
            "ServerAliveInterval": "10",
            "ServerAliveCountMax": "6",
            "LogLevel": "ERROR",
            "KexAlgorithms": _KEX,
        }
        return ["-F", "none", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]

    def argv(self, *extra: str) -> list[str]:
        """An ssh command line, up to and with the host."""
        return [tool("ssh"), *self.options(), "-i", str(self.files.key), "-p", str(self.port), *extra, "root@127.0.0.1"]

    def run(
        self, command: list[str], stdin: str | None = None, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the guest, its words passed exactly; exit code 255 is ssh's own failure."""
        return subprocess.run(
            [*self.argv("-T"), shlex.join(command)],
            input=stdin or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def state(self, timeout: float = 20) -> State | None:
        """The guest's state once systemd has settled, or None if it does not answer so within `timeout` seconds."""
        if not self._banner():
            return None
        try:
            answer = self.run(["sh", "-c", _STATE_SCRIPT], timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return parse_state(answer.stdout)

    def close(self) -> None:
        """End the shared connection; needed when the guest goes away under it. No connection is fine too."""
        subprocess.run([*self.argv("-O", "exit")], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.files.control.unlink(missing_ok=True)

    def _banner(self) -> bool:
        """Does a real sshd answer? QEMU accepts connections long before the guest does."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
                return probe.recv(4) == b"SSH-"
        except OSError:
            return False
