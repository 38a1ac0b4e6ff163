# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a host: files below a root and the output of read-only programs.

With root "/" programs run for real. With any other root the host is a recording: files are read below
the root, and the output of a program is the file ROOT/commands/NAME (see docs/recordings.md).
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.tree import Tree

Run = t.Callable[[t.Sequence[str]], "tuple[int, str, str]"]
T = t.TypeVar("T")


class Host:
    """Reads one host. Observations that are dear are made once and remembered (once)."""

    def __init__(self, root: str = "/", run: Run | None = None) -> None:
        self.root = root
        self._tree = Tree(root)
        self._run = run
        self._seen: dict[str, t.Any] = {}

    @property
    def recorded(self) -> bool:
        return self.root != "/"

    def path(self, path: str, follow: bool = True) -> str:
        """Where a path of the host lies. Links of a recording never lead out of its root."""
        if not self.recorded:
            return path
        directory, name = os.path.split(path)
        reached = self._tree.target(path) if follow else f"{self._tree.target(directory) or directory}/{name}"
        return f"{self.root.rstrip('/')}{reached or path}"

    def read(self, path: str) -> str | None:
        """Text of a file without trailing newlines and NULs; None if it is missing or unreadable."""
        try:
            with open(self.path(path), encoding="utf-8", errors="surrogateescape") as stream:
                return stream.read().rstrip("\x00\n")
        except OSError:
            return None

    def read_raw(self, path: str) -> str | None:
        """Text of a file exactly as it is; None if there is no such file. Other errors are raised."""
        try:
            with open(self.path(path), encoding="utf-8", errors="surrogateescape") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def modified(self, path: str) -> float | None:
        """When a file was last written, in seconds since the epoch; None if it is not there."""
        try:
            return os.stat(self.path(path)).st_mtime
        except OSError:
            return None

    def meminfo(self) -> dict[str, int]:
        """Bytes by the names of /proc/meminfo."""
        return {name: kib * 1024 for name, kib in self._tree.meminfo("/proc/meminfo").items()}

    def names(self, path: str) -> list[str]:
        """Sorted entries of a directory; empty if there is none."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.lexists(self.path(path, follow=False))

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as written; None if it is not a link."""
        try:
            return os.readlink(self.path(path, follow=False))
        except OSError:
            return None

    def command(self, argv: t.Sequence[str], accept: t.Container[int] = (0,)) -> str:
        """Standard output of a read-only program.

        Raises HostprepError when the program is missing or ends with a status that is not accepted.
        """
        if self.recorded:
            return self.read(f"/commands/{argv[0]}") or ""
        if self._run is None:
            raise RuntimeError("this Host was made without a way to run programs")
        status, out, err = self._run(argv)
        if status not in accept:
            raise HostprepError(
                Problem(
                    found=f"'{' '.join(argv)}' ended with status {status}: {err.strip() or out.strip()}",
                    wanted="its output",
                    remedy="run it by hand as root on this host and repair what it complains about",
                )
            )
        return out

    def require_root(self) -> None:
        if not self.recorded and os.geteuid() != 0:
            raise HostprepError(
                Problem(
                    found=f"this runs as user id {os.geteuid()}",
                    wanted="root: devices, units and kernel settings are read and changed",
                    remedy="set 'become: true' for the play or the task",
                )
            )

    def once(self, key: str, observe: t.Callable[[Host], T]) -> T:
        if key not in self._seen:
            self._seen[key] = observe(self)
        return t.cast(T, self._seen[key])

    def forget(self) -> None:
        """After a change: everything has to be looked at again."""
        self._seen.clear()
