# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel makes of isolcpus= and nohz_full= on its command line.

The rules are those of kernel/sched/isolation.c (5.18 and newer): a parameter that the kernel cannot read in
full is ignored in full, and of two parameters that disagree about the same thing the first one holds.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.cpulist import parse_list

# What a CPU can be freed from: the scheduler's domains, the tick, and the interrupts that the kernel places.
_FLAGS = ("domain", "nohz", "managed_irq")


def isolation(cmdline: str, possible: t.Sequence[int], present: t.Sequence[int]) -> tuple[list[int], list[int]]:
    """The ids that cpu/isolated and cpu/nohz_full would show after a boot with this command line.

    `possible` and `present` are the ids of the CPUs that the kernel has room for (at least one) and of those
    that are there, ascending.
    """
    freed: dict[str, set[int]] = {}
    for flags, text in _parameters(cmdline):
        try:
            cpus = set(parse_list(text, size=possible[-1] + 1))
        except ValueError:
            continue
        if not set(present) - cpus:
            cpus -= set(present[:1])  # the boot CPU has to do the work of all
        if cpus and all(freed.get(flag, cpus) == cpus for flag in flags):
            for flag in flags:
                freed[flag] = cpus
    return sorted(freed.get("domain", set()).intersection(possible)), sorted(freed.get("nohz", set()))


def _parameters(cmdline: str) -> t.Iterator[tuple[set[str], str]]:
    """(flags, list of CPUs as text) of each parameter that frees CPUs of something, in order."""
    for word in re.findall(r'(?:"[^"]*"|[^\s"])+', cmdline):
        name, _equals, value = word.replace('"', "").partition("=")
        name = name.replace("-", "_")
        if name == "__":  # the word "--": what follows is for init
            return
        if name == "nohz_full":
            yield {"nohz"}, value
        elif name == "isolcpus":
            yield _isolcpus(value)


def _isolcpus(value: str) -> tuple[set[str], str]:
    """(flags, list as text) of isolcpus=[FLAG,...]LIST. Unknown flags are skipped, odd ones spoil it."""
    flags = set()
    while re.match("[A-Za-z]", value):
        flag, _comma, value = value.partition(",")
        if flag in _FLAGS:
            flags.add(flag)
        elif not re.fullmatch("[A-Za-z_]+", flag):
            return set(), ""
    return flags or {"domain"}, value
