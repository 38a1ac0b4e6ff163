# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""sysfs and procfs below a folder that stands for "/": the running machine or a recorded one.

Nothing here raises: what is missing, unreadable or nonsense is None, or empty for a list or dict.
"""

from __future__ import annotations

import os
import re
import stat

from ansible_collections.virt.hostprep.plugins.module_utils.cpulist import parse_list, parse_mask

_MAX_LINKS = 40  # in one path; the kernel's own limit
_MAX_BYTES = 1 << 16  # of a file; those that the kernel makes are far smaller

_MEMINFO_LINE = re.compile(r"(?:Node\s+[0-9]+\s+)?(\w+):\s*([0-9]{1,18})\s+kB")


class Tree:
    """Reads files below root. Links are followed as under chroot, so none leads out of it."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._links: dict[str, str | None] = {}  # known already: thousands of files share their folders

    def target(self, path: str) -> str | None:
        """Where a path leads through all links, whether or not something is there; None for a loop."""
        reached = ""
        ahead = path.split("/")[::-1]
        links = 0
        while ahead:
            name = ahead.pop()
            if name == "..":
                reached = reached.rpartition("/")[0]
                continue
            if name in ("", "."):
                continue
            link = self._link(f"{reached}/{name}")
            if link is None:
                reached = f"{reached}/{name}"
                continue
            links += 1
            if links > _MAX_LINKS:
                return None
            if link.startswith("/"):
                reached = ""
            ahead.extend(link.split("/")[::-1])
        return reached

    def _link(self, path: str) -> str | None:
        if path not in self._links:
            self._links[path] = _read_link(self._root + path)
        return self._links[path]

    def names(self, path: str) -> list[str]:
        """The entries of a folder, sorted as text."""
        target = self.target(path)
        try:
            return [] if target is None else sorted(os.listdir(f"{self._root}{target}/"))
        except OSError:
            return []

    def is_folder(self, path: str) -> bool:
        target = self.target(path)
        return target is not None and os.path.isdir(f"{self._root}{target}/")

    def is_file(self, path: str) -> bool:
        target = self.target(path)
        return target is not None and os.path.isfile(self._root + target)

    def numbered(self, path: str, prefix: str, suffix: str = "") -> list[int]:
        """The numbers N of the folders path/prefixNsuffix, ascending."""
        pattern = re.compile(f"{prefix}(0|[1-9][0-9]{{0,8}}){suffix}")
        matches = [match for match in map(pattern.fullmatch, self.names(path)) if match]
        return sorted(int(match[1]) for match in matches if self.is_folder(f"{path}/{match[0]}"))

    def text(self, path: str) -> str | None:
        """A file's text up to the first NUL, where a C string ends, without white space around it."""
        target = self.target(path)
        # only regular files: opening a pipe would wait for a writer
        if target is None or not os.path.isfile(self._root + target):
            return None
        try:
            with open(self._root + target, "rb") as file:
                content = file.read(_MAX_BYTES)
        except OSError:
            return None
        return content.partition(b"\0")[0].decode("ascii", "replace").strip()

    def number(self, path: str) -> int | None:
        text = self.text(path)
        return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def ids(self, path: str) -> list[int] | None:
        """The ids in a file in list format. The kernel shows a mask that it never allocated as "(null)"."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return [] if text == "(null)" else parse_list(text)
        except ValueError:
            return None

    def mask(self, path: str) -> list[int] | None:
        """The ids in a file in mask format."""
        try:
            return parse_mask(self.text(path) or "")
        except ValueError:
            return None

    def list_or_mask(self, list_path: str, mask_path: str) -> list[int] | None:
        """A set that the kernel offers in both formats. Old kernels have the mask only."""
        ids = self.ids(list_path)
        return self.mask(mask_path) if ids is None else ids

    def meminfo(self, path: str) -> dict[str, int]:
        """The lines in kB of proc/meminfo or of a node's meminfo."""
        lines = (self.text(path) or "").splitlines()
        return {match[1]: int(match[2]) for match in map(_MEMINFO_LINE.match, lines) if match}


def _read_link(path: str) -> str | None:
    try:
        # asking first is faster than a readlink that fails, the usual case
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None
    except OSError:
        return None  # nothing there: not a link
