"""Data disks: what a user may ask for, and the raw files made from it."""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.tools import call

CONTENTS = ("blank", "ext4", "gpt")
DEFAULT = (
    "SWAP0001:1G:numa=0",
    "SWAP0002:1G:numa=1",
    "DATA0001:512M:numa=0:content=ext4",
    "DATA0002:512M:numa=1:content=gpt",
)
NODES = 2
_FORM = "SERIAL:SIZE[:numa=N][:content=blank|ext4|gpt], for example SWAP0003:2G:numa=1"
_SERIAL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,19}")  # NVMe: 20 bytes; QEMU ids begin with a letter
_SIZE = re.compile(r"([1-9][0-9]*)([KMGT]?)(?:i?B)?")
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MIB = 1 << 20


@dataclass(frozen=True)
class Disk:
    """One NVMe disk. `size` is in bytes, `numa` is the node its bus belongs to."""

    serial: str
    size: int
    numa: int = 0
    content: str = "blank"


def parse_size(text: str) -> int:
    """Bytes from "1G", "512M", "4096"; units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise LabError(f"size {text!r} not understood; wanted a number with K, M, G or T, for example 1G")
    size = int(match[1]) * _UNIT[match[2]]
    if size % 512:
        raise LabError(f"size {text!r} is {size} bytes; wanted a multiple of 512, the disk's block size")
    return size


def parse_disk(text: str) -> Disk:
    """A disk from its command line form."""
    serial, *rest = text.split(":")
    if not rest:
        raise LabError(f"disk {text!r} has no size; wanted {_FORM}")
    if not _SERIAL.fullmatch(serial) or serial == ROOT_SERIAL:
        raise LabError(
            f"serial {serial!r} is not usable; wanted 1-20 of A-Z a-z 0-9 _ -, a letter first, not {ROOT_SERIAL}"
        )
    numa, content = "0", "blank"
    for option in rest[1:]:
        key, _dummy, value = option.partition("=")
        if key == "numa":
            numa = value
        elif key == "content":
            content = value
        else:
            raise LabError(f"disk {text!r} has the unknown option {option!r}; wanted {_FORM}")
    if numa not in map(str, range(NODES)):
        raise LabError(f"disk {text!r} asks for NUMA node {numa!r}; the lab has nodes 0 to {NODES - 1}")
    if content not in CONTENTS:
        raise LabError(f"disk {text!r} asks for content {content!r}; wanted one of {', '.join(CONTENTS)}")
    disk = Disk(serial, parse_size(rest[0]), int(numa), content)
    if content != "blank" and disk.size < 64 * _MIB:
        raise LabError(f"disk {text!r} is too small for content {content}; wanted 64M or more")
    return disk


ROOT_SERIAL = "ROOT0001"


def parse_disks(texts: list[str]) -> list[Disk]:
    """Several disks; their serials must differ."""
    disks = [parse_disk(text) for text in texts]
    serials = [disk.serial for disk in disks]
    for serial in serials:
        if serials.count(serial) > 1:
            raise LabError(f"serial {serial} is given {serials.count(serial)} times; every disk needs its own")
    return disks


def create(disk: Disk, path: Path) -> None:
    """Make the raw, sparse file of `disk`."""
    with open(path, "xb") as handle:
        handle.truncate(disk.size)
    if disk.content == "ext4":
        _make_ext4(path, 0, disk.size, disk.serial)
    elif disk.content == "gpt":
        first = disk.size // 2 // _MIB * _MIB - _MIB
        table = f"label: gpt\nstart=1MiB, size={first // 1024}KiB, type=linux, name=data\ntype=linux, name=spare\n"
        call("sfdisk", "--quiet", path, stdin=table)
        _make_ext4(path, _MIB, first, disk.serial)


def _make_ext4(path: Path, offset: int, size: int, label: str) -> None:
    """An ext4 file system with a few files in it, at `offset` of the disk file."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "precious"
        tree.mkdir()
        (tree / "README").write_text(f"Files on {label}. They must survive everything.\n", encoding="ascii")
        (tree / "random.bin").write_bytes(random.Random(label).randbytes(4 * _MIB))
        call(
            "mke2fs",
            "-q",
            "-t",
            "ext4",
            "-L",
            label[:16],
            "-E",
            f"offset={offset}",
            "-d",
            folder,
            path,
            f"{size // 1024}k",
        )


def sha256_files(files: dict[str, Path]) -> dict[str, str]:
    """The sha256 of each whole file, holes read as zeros, several at a time."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(files, pool.map(_sha256, files.values()), strict=True))


def _sha256(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
