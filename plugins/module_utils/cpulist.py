# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's two ways to write a set of CPUs or NUMA nodes as text.

- list: `0-3,8,10-20:1/2`, see "cpu lists" in the kernel's admin-guide/kernel-parameters;
- mask: `0000ffff,00000000`, hexadecimal, 32 bits between commas, the highest bits first.

Both functions return the ids in ascending order, each once, and raise ValueError where the kernel refuses.
"""

from __future__ import annotations

import re

# Far above what a kernel can be built for (8192 CPUs, 1024 nodes): a damaged file must not fill the memory.
MAX_IDS = 1 << 16

_SEPARATORS = re.compile(r"[,\s]+")
_NUMBER = r"([0-9]{1,10}|N)"
_REGION = re.compile(rf"(?:([aA][lL][lL])|{_NUMBER}(?:-{_NUMBER})?)(?::{_NUMBER}/{_NUMBER})?")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*")


def parse_list(text: str, size: int | None = None) -> list[int]:
    """Ids in a list such as `0-3,8,16-31:2/8`; the last part takes the first 2 of every 8 ids from 16 to 31.

    `size` is the number of ids that exist (0 .. size-1). Without it `all` and `N` (the last id) are refused.
    """
    if size is not None:
        size = min(size, MAX_IDS)
    ids: set[int] = set()
    for region in _SEPARATORS.split(text):
        if region:
            ids.update(_region(region, size))
    return sorted(ids)


def _region(text: str, size: int | None) -> list[int]:
    match = _REGION.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not an id, a range of ids or a range with a pattern such as 0-31:2/8")
    everything, first, last, used, group = match.groups()
    if used and not (everything or last):
        raise ValueError(f"'{text}' gives a pattern to a single id; a pattern needs a range")

    start = 0 if everything else _number(first, size)
    end = _number("N" if everything else last or first, size)
    if start > end:
        raise ValueError(f"the range '{text}' ends before it starts")
    highest = (MAX_IDS if size is None else size) - 1
    if end > highest:
        raise ValueError(f"'{text}' names an id that is too high; the highest is {highest}")
    if not used:
        return list(range(start, end + 1))

    taken, step = _number(used, size), _number(group, size)
    if step == 0 or taken > step:
        raise ValueError(f"the pattern in '{text}' takes {taken} ids of every {step}")
    return [i for i in range(start, end + 1) if (i - start) % step < taken]


def _number(text: str, size: int | None) -> int:
    if text != "N":
        return int(text)
    if size is None:
        raise ValueError("'N' and 'all' need the number of ids")
    return size - 1


def parse_mask(text: str) -> list[int]:
    """Ids of the bits that are set in a mask such as `1,00000000`: id 32."""
    digits = text.strip()
    if not _MASK.fullmatch(digits):
        raise ValueError(f"'{digits[:40]}' is not a mask of up to 8 hexadecimal digits between commas")
    chunks = digits.split(",")
    if len(chunks) * 32 > MAX_IDS:
        raise ValueError(f"the mask has {len(chunks) * 32} bits; {MAX_IDS} are the most")
    bits = int("".join(chunk.zfill(8) for chunk in chunks), 16)
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]
