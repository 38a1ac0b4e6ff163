# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes and times as people write them, exactly. Pure functions; a bad value is one HostprepError."""

from __future__ import annotations

import re

from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem

_SIZE = re.compile(r"^\s*(\d+)\s*(?:([KMGTP])(?:iB)?|B)?\s*$", re.ASCII)
_POWER = {None: 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}

_TIME = re.compile(r"^\s*(\d+)\s*(us|ms|s)\s*$", re.ASCII)
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}


def parse_size(value: object, name: str) -> int:
    """Bytes of "8G", "8GiB", "8192M" or 8589934592: powers of 1024, whole numbers only."""
    match = _SIZE.match(str(value)) if not isinstance(value, bool) else None
    if match is None:
        raise HostprepError(
            Problem(
                found=f"{name}: {value!r}",
                wanted="a whole number with K, M, G, T or P (powers of 1024; KiB, MiB, ... are the same), or bytes",
                remedy='write it like "8G", "8GiB" or "8192M"; decimal units such as GB are not taken',
            )
        )
    return int(match.group(1)) << 10 * _POWER[match.group(2)]


def parse_microseconds(value: object, name: str) -> int:
    """Microseconds of "500us", "5ms" or "1s"."""
    match = _TIME.match(str(value))
    if match is None or int(match.group(1)) == 0:
        raise HostprepError(
            Problem(
                found=f"{name}: {value!r}",
                wanted="a time above zero with its unit, us, ms or s",
                remedy='write it like "5ms"',
            )
        )
    return int(match.group(1)) * _MICROSECONDS[match.group(2)]


def show_size(size: int) -> str:
    """The largest unit that divides a size exactly, else one decimal: 8 GiB, 8191.5 MiB, 512 B."""
    for unit, power in (("TiB", 4), ("GiB", 3), ("MiB", 2), ("KiB", 1)):
        whole = 1024**power
        if size >= whole:
            return f"{size // whole} {unit}" if size % whole == 0 else f"{size / whole:.1f} {unit}"
    return f"{size} B"
