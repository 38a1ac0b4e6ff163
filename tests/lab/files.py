"""The files of one lab (labs/NAME/…)."""

from __future__ import annotations

from pathlib import Path

# systemd credentials for the guest: the first is systemd's own name, the second is met by tmpfiles.d/lab.conf.
AUTHORIZED_KEYS = "ssh.authorized_keys.root"
HOST_KEY = "lab.ssh_host_key"


class Files:
    """The paths; most files are there only once the lab has been made or booted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.json"
        self.console = folder / "console.log"
        self.control = folder / "control.sock"
        self.disks = folder / "disks"
        self.host_key = folder / "host_key"
        self.key = folder / "id_ed25519"
        self.known_hosts = folder / "known_hosts"
        self.pid = folder / "qemu.pid"
        self.qmp = folder / "qmp.sock"
        self.root = folder / "root.qcow2"
        self.seed = folder / "seed.iso"
        self.snapshots = folder / "snapshots"

    def disk(self, serial: str) -> Path:
        """The raw file of a data disk."""
        return self.disks / f"{serial}.raw"

    def credential(self, name: str) -> Path:
        """The file with one SMBIOS string that carries the systemd credential `name`."""
        return self.folder / f"{name}.credential"

    def credentials(self) -> list[Path]:
        """All of them."""
        return [self.credential(AUTHORIZED_KEYS), self.credential(HOST_KEY)]
