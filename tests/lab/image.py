"""Disk images: built from Debian packages by a recipe and cached by its hash, or brought by the user."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.errors import LabError
from lab.paths import images_dir, lock
from lab.progress import step
from lab.tools import as_root, call

_HERE = Path(__file__).parent
ROOT_LABEL = "lab-root"
_MIB = 1 << 20
_INCLUDE = (
    "bcache-tools btrfs-progs cryptsetup-bin dbus dosfstools e2fsprogs fdisk gdisk genisoimage initramfs-tools "
    "iproute2 kmod libpam-systemd linux-image-amd64 lvm2 mdadm numactl nvme-cli openssh-server parted procps python3 "
    "squashfs-tools strace sudo systemd-sysv udev util-linux xfsprogs zstd"
)
# What the lab's machine has no hardware for, and what only costs time at boot.
_DRIVERS = "bluetooth gpu iio infiniband input/mouse isdn media misc/vmw_vmci net/wireless staging watchdog"
_MODULES = (*(f"drivers/{kind}" for kind in _DRIVERS.split()), "net/mac80211", "net/vmw_vsock", "net/wireless", "sound")
_EXCLUDE = (
    *(f"*/lib/modules/*/kernel/{module}/*" for module in _MODULES),
    "/usr/share/doc/*",
    "/usr/share/locale/*",
    "/usr/share/man/*",
    # The root disk is plain ext4: hooks for other storage only make the initramfs slow.
    *(f"/usr/share/initramfs-tools/*/{kind}" for kind in ("bcache", "btrfs", "dmsetup", "lvm2", "mdadm", "xfs")),
)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what is in a built image."""

    suite: str
    size: int = 4096 * _MIB
    include: tuple[str, ...] = tuple(_INCLUDE.split())
    exclude: tuple[str, ...] = _EXCLUDE

    def key(self, sources: Path = _HERE) -> str:
        """A name for the image that changes whenever the recipe does."""
        files = [sources / "customize.sh", *sorted(path for path in (sources / "rootfs").rglob("*") if path.is_file())]
        content = [
            [str(path.relative_to(sources)), os.access(path, os.X_OK), path.read_text(encoding="utf-8")]
            for path in files
        ]
        text = json.dumps([asdict(self), content], sort_keys=True)
        return f"{self.suite}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


RECIPES = {suite: Recipe(suite) for suite in ("trixie", "bookworm")}


@dataclass(frozen=True)
class Image:
    """An image to boot. Without a kernel it boots by its own boot loader (firmware boot)."""

    disk: Path
    disk_format: str
    kernel: Path | None = None
    initrd: Path | None = None


def ensure(name: str) -> Image:
    """The image `name` (a recipe, a path or a URL), made or fetched if it is not there yet."""
    if name in RECIPES:
        return _ensure_built(RECIPES[name])
    if re.match(r"https?://", name):
        return _ready(_ensure_fetched(name))
    if not Path(name).is_file():
        raise LabError(f"image {name!r} is neither a file nor a URL nor one of {', '.join(RECIPES)}")
    return _ready(Path(name).absolute())


def _ready(path: Path) -> Image:
    information = json.loads(call("qemu-img", "info", "--output=json", path))
    return Image(path, str(information["format"]))


def _ensure_fetched(url: str) -> Path:
    suffix = Path(url).suffix if re.fullmatch(r"\.[a-z0-9]+", Path(url).suffix) else ".img"
    path = images_dir() / f"fetched-{hashlib.sha256(url.encode()).hexdigest()[:12]}{suffix}"
    with lock(path.name):
        if not path.exists():
            step(f"fetching {url}")
            partial = path.with_name(path.name + ".partial")
            try:
                with urllib.request.urlopen(url, timeout=60) as source, open(partial, "wb") as target:
                    shutil.copyfileobj(source, target, _MIB)
            except (urllib.error.URLError, TimeoutError) as error:
                raise LabError(f"cannot fetch image {url}: {error}; give another URL or a path") from error
            partial.rename(path)
    return path


def _ensure_built(recipe: Recipe) -> Image:
    folder = images_dir() / recipe.key()
    with lock(folder.name):
        if not folder.exists():
            _build(recipe, folder)
    return _built(folder)


def _built(folder: Path) -> Image:
    return Image(folder / "root.img", "raw", folder / "vmlinuz", folder / "initrd.img")


def under(overlay: Path) -> Image:
    """The image that a lab's root disk lies over: the lab keeps it even when the recipe has changed since."""
    disk = Path(json.loads(call("qemu-img", "info", "--output=json", overlay))["backing-filename"])
    if not disk.exists():
        raise LabError(f"{disk}, over which {overlay} lies, is gone; end this lab: lab down {overlay.parent.name}")
    return _built(disk.parent) if (disk.parent / "vmlinuz").exists() else _ready(disk)


def _build(recipe: Recipe, folder: Path) -> None:
    """Build into a neighbour folder, and rename it when it is complete."""
    work = folder.with_name(f".{folder.name}.tmp")
    tree = work / "rootfs"
    remove = ["rm", "-rf", "--one-file-system", "--", str(work)]
    subprocess.run(as_root(*remove), check=True)  # what a build that was cut off left behind
    work.mkdir()
    step(f"building image {folder.name} (about a minute; once per recipe)")
    _mmdebstrap(recipe, tree, folder.with_suffix(".log"))

    step("making its ext4 root disk")
    disk = work / "root.img"
    with open(disk, "xb") as handle:
        handle.truncate(recipe.size)
    # A partition of its own, as on real hosts: "is this the root disk" must see through it.
    call(
        "sfdisk",
        "--quiet",
        disk,
        stdin="label: gpt\nstart=1MiB, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=root\n",
    )
    blocks = (recipe.size - 2 * _MIB) // 1024
    options = f"offset={_MIB},lazy_itable_init=0,lazy_journal_init=0"
    commands: list[list[str | Path]] = [
        ["mke2fs", "-q", "-t", "ext4", "-L", ROOT_LABEL, "-m", "0", "-E", options, "-d", tree, disk, f"{blocks}k"],
        ["cp", _only(tree, "vmlinuz-*"), work / "vmlinuz"],
        ["cp", _only(tree, "initrd.img-*"), work / "initrd.img"],
        ["chown", "-R", f"{os.getuid()}:{os.getgid()}", disk, work / "vmlinuz", work / "initrd.img"],
        ["rm", "-rf", "--one-file-system", "--", tree],
    ]
    for command in commands:
        subprocess.run(as_root(*command), check=True)
    work.rename(folder)


def _only(tree: Path, pattern: str) -> Path:
    found = sorted((tree / "boot").glob(pattern))
    if len(found) != 1:
        raise LabError(f"the image has {len(found)} files /boot/{pattern}; wanted exactly one")
    return found[0]


def _mmdebstrap(recipe: Recipe, tree: Path, log: Path) -> None:
    hook = f'cp -r "{_HERE}/rootfs/." "$1"'
    command = as_root(
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        "--architectures=amd64",
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in recipe.exclude),
        f"--include={','.join(recipe.include)}",
        f"--essential-hook={hook}",
        f"--customize-hook={_HERE}/customize.sh",
        recipe.suite,
        tree,
        *_mirror(),
    )
    with open(log, "w", encoding="utf-8") as record:
        builder = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert builder.stdout is not None
        for line in builder.stdout:
            record.write(line)
            if re.match(r"I: (?!running --|chroot|finding|automatically)", line):
                step(line[3:].strip())
    if builder.wait() != 0:
        tail = "".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[-15:])
        raise LabError(
            f"mmdebstrap failed with exit code {builder.returncode}; its log is {log}; its last lines:\n{tail}"
        )


def _mirror() -> list[str]:
    """Where packages come from: LAB_MIRROR, else what this Debian host itself uses, else mmdebstrap's default."""
    if given := os.environ.get("LAB_MIRROR"):
        return [given]
    if "\nID=debian\n" not in "\n" + Path("/etc/os-release").read_text(encoding="utf-8"):
        return []
    for path in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("debian.*"))):
        if path.exists() and (found := find_mirror(path.read_text(encoding="utf-8"))):
            return [found]
    return []


def find_mirror(sources: str) -> str | None:
    """The first archive URI in apt sources text, one-line or deb822; security archives do not count."""
    uris = re.findall(r"^(?:deb\s+(?:\[[^]]*\]\s*)?|URIs:\s*)(https?://\S+)", sources, re.MULTILINE)
    return next((uri for uri in uris if "security" not in uri), None)
