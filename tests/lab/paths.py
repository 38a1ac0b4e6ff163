"""Where the lab keeps its state, and the locks that keep parallel commands apart."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
# sun_path holds 108 bytes, and ssh appends 17 of its own while it makes a control socket.
_SOCKET_LIMIT = 90


def home() -> Path:
    """The lab's home: LAB_HOME, else a folder in the user's cache."""
    if given := os.environ.get("LAB_HOME"):
        return Path(given).absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "hostprep-lab"


def images_dir() -> Path:
    """The cache of images, shared by all labs."""
    path = home() / "images"
    path.mkdir(parents=True, exist_ok=True)
    return path


def labs_dir() -> Path:
    """The folder with one folder a lab."""
    path = home() / "labs"
    path.mkdir(parents=True, exist_ok=True)
    return path


def lab_dir(name: str) -> Path:
    """The folder of lab `name`; it need not exist. Refuses names that are no host names."""
    if not _NAME.fullmatch(name):
        raise LabError(f"lab name {name!r} is not usable; wanted 1-40 of a-z, 0-9 and - (a host name)")
    path = labs_dir() / name
    if len(os.fsencode(path / "control.sock")) > _SOCKET_LIMIT:
        raise LabError(f"{path} is too long for a socket's path ({_SOCKET_LIMIT} bytes); set LAB_HOME to a shorter one")
    return path


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name`; others wait. The kernel frees it when the process ends, however it ends."""
    folder = home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
