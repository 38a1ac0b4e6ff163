"""What a lab remembers about itself (labs/NAME/config.json)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.disks import Disk
from lab.errors import LabError

ROOTS = ("virtio", "nvme")
DEFAULT_MEMORY = 3072


@dataclass
class Config:
    """`memory` is in MiB; `order` is the order in which the NVMe disks (by serial) meet the kernel."""

    name: str
    image: str
    root: str
    memory: int
    uuid: str
    disks: list[Disk]
    order: list[str]
    port: int = 0
    accel: str = ""
    hotplugged: dict[str, str] = field(default_factory=dict)  # serial → spare port, until QEMU starts anew
    forwards: dict[int, int] = field(default_factory=dict)  # port of the guest → port of the controller, on loopback

    def to_json(self) -> str:
        """The text of config.json."""
        return json.dumps(asdict(self), indent=2) + "\n"


def from_json(text: str, where: Path) -> Config:
    """A configuration from the text of `where`."""
    try:
        data: dict[str, Any] = json.loads(text)
        data["disks"] = [Disk(**disk) for disk in data["disks"]]
        data["forwards"] = {int(guest): port for guest, port in data.get("forwards", {}).items()}  # JSON has text keys
        return Config(**data)
    except (ValueError, TypeError, KeyError) as error:
        raise LabError(f"{where} is not a lab's configuration ({error}); end this lab with: lab down NAME") from error
