# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.isolation import isolation

EIGHT = list(range(8))


@pytest.mark.parametrize(
    ("cmdline", "isolated", "nohz_full"),
    [
        ("", [], []),
        ("root=/dev/vda1 quiet", [], []),
        ("isolcpus=2-3", [2, 3], []),
        ("isolcpus=domain,2-3", [2, 3], []),
        ("isolcpus=managed_irq,2-3", [], []),
        ("isolcpus=managed_irq,domain,2-3", [2, 3], []),
        ("isolcpus=nohz,2-3", [], [2, 3]),
        ("isolcpus=nohz,domain,2-3", [2, 3], [2, 3]),
        ("nohz_full=1-7:1/2", [], [1, 3, 5, 7]),
        ("nohz-full=6-N", [], [6, 7]),
        ("isolcpus=1-N", list(range(1, 8)), []),
        ('isolcpus="2,3"', [2, 3], []),
        ('note="isolcpus=2 nohz_full=3" isolcpus=4', [4], []),
        # flags that the kernel does not know are skipped, malformed ones spoil the parameter
        ("isolcpus=future_flag,2-3", [2, 3], []),
        ("isolcpus=managed_irq,future,2-3", [], []),
        ("isolcpus=dom4in,2-3", [], []),
        ("isolcpus=domain", [], []),
        # what cannot be read in full is ignored in full
        ("isolcpus=2-8", [], []),
        ("isolcpus=2,x", [], []),
        ("isolcpus=", [], []),
        ("isolcpus", [], []),
        # two parameters
        ("isolcpus=2-3 nohz_full=4-5", [2, 3], [4, 5]),
        ("isolcpus=managed_irq,2-3 nohz_full=2-3", [], [2, 3]),
        ("isolcpus=2-3 isolcpus=4-5", [2, 3], []),
        ("isolcpus=nohz,2-3 nohz_full=4-5", [], [2, 3]),
        ("nohz_full=4-5 isolcpus=nohz,domain,2-3", [], [4, 5]),
        ("nohz_full=2-3 isolcpus=nohz,domain,2-3", [2, 3], [2, 3]),
        # the boot CPU keeps the housekeeping if nobody else would do it
        ("isolcpus=0-7", list(range(1, 8)), []),
        ("isolcpus=0", [0], []),
        # what follows -- is for init, and other parameters are not ours
        ("quiet -- isolcpus=2-3", [], []),
        ("tuned.isolcpus=2-3 xisolcpus=4 rcu_nocbs=5", [], []),
    ],
)
def test_isolation(cmdline: str, isolated: list[int], nohz_full: list[int]) -> None:
    assert isolation(cmdline, possible=EIGHT, present=EIGHT) == (isolated, nohz_full)


def test_the_boot_cpu_is_the_first_that_is_present() -> None:
    assert isolation("isolcpus=0-7", possible=EIGHT, present=[2, 3]) == ([0, 1, 3, 4, 5, 6, 7], [])


def test_only_possible_cpus_are_isolated() -> None:
    assert isolation("isolcpus=1-4", possible=[0, 1, 4], present=[0, 1, 4]) == ([1, 4], [])
