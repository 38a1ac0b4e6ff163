# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import itertools
import typing as t
from fractions import Fraction

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_rules as rules
from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_schema as schema
from ansible_collections.virt.hostprep.plugins.module_utils.releases import Release
from hypothesis import given
from hypothesis import strategies as st

Data = dict[str, t.Any]

RELEASES = st.builds(Release, st.just(1), st.integers(28, 38))
MACHINES = st.builds(
    rules.Machine,
    cgroup_v2=st.booleans(),
    numa_nodes=st.sampled_from([(), (0,), (0, 1), tuple(range(12))]),
    cpus=st.sampled_from([frozenset[int](), frozenset(range(8))]),
    memory_bytes=st.sampled_from([0, 1 << 34]),
)

# Words that rules look for, so that a random configuration reaches them.
WORDS = st.sampled_from(
    [
        *schema._FIELDS,
        *schema._SIGNALS,
        "cpu",
        "memory",
        "swapBehavior",
        "limits",
        "numaNode",
        "NodeSwap",
        "hugepages-1Gi",
    ]
)
TEXTS = st.sampled_from(
    [
        "",
        "static",
        "Static",
        "none",
        "LimitedSwap",
        "1Gi",
        "100Mi",
        "10%",
        "999999999999%",
        "0",
        "0-1",
        "30s",
        "-5s",
        "true",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=8
)
CONFIGS = st.dictionaries(WORDS | st.text(max_size=8), VALUES, max_size=10)


@given(CONFIGS, CONFIGS, RELEASES, MACHINES)
def test_any_configuration_is_judged_and_every_problem_is_whole(
    config: Data, other: Data, release: Release, machine: rules.Machine
) -> None:
    found = schema.problems(config, release) + rules.problems(config, release, machine)
    assert all(problem.found and problem.wanted and problem.remedy for problem in found)
    assert all(file.reason for file in rules.state_files(config, other))


@given(CONFIGS, CONFIGS)
def test_state_files_go_both_ways_or_neither(one: Data, other: Data) -> None:
    assert rules.state_files(one, one) == []
    assert [file.name for file in rules.state_files(one, other)] == [
        file.name for file in rules.state_files(other, one)
    ]


@given(st.dictionaries(st.sampled_from(sorted(schema._FIELDS)), st.none()), RELEASES)
def test_a_field_once_known_stays_known(settings: Data, release: Release) -> None:
    if schema.problems(settings, release) == []:
        assert schema.problems(settings, Release(1, release.minor + 1)) == []


@given(st.integers(0, 1 << 50), st.sampled_from(["", "Ki", "Mi", "Gi", "k", "M", "G", "m", "e3"]))
def test_a_quantity_that_is_shown_reads_back(number: int, suffix: str) -> None:
    amount = schema.quantity(f"{number}{suffix}")
    assert schema.quantity(schema.quantity_text(amount)) == amount
    assert schema.quantity(f"-{number}{suffix}") == -amount


@given(st.integers(0, 10**6), st.integers(0, 59), st.integers(0, 999))
def test_a_duration_is_the_sum_of_its_parts(minutes: int, seconds: int, milliseconds: int) -> None:
    text = f"{minutes}m{seconds}s{milliseconds}ms"
    assert schema.duration(text) == minutes * 60 + seconds + Fraction(milliseconds, 1000)


@given(st.text(max_size=12) | st.text(alphabet="0123456789.eEKMGimkns-+%hu", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (schema.quantity, schema.duration, schema.percent, schema.cpu_set):
        with contextlib.suppress(ValueError):
            read(text)


AMOUNTS = st.integers(0, 4096).map(lambda number: f"{number}Mi")


@given(
    system=AMOUNTS,
    kube=AMOUNTS,
    eviction=st.integers(1, 512).map(lambda number: f"{number}Mi"),
    share=st.integers(1, 99),
    difference=st.sampled_from([0, 1, -1, 1 << 20]),
)
def test_the_memory_sum_holds_exactly(system: str, kube: str, eviction: str, share: int, difference: int) -> None:
    total = sum(int(schema.quantity(text)) for text in (system, kube, eviction))
    first = total * share // 100
    config: Data = {
        "memoryManagerPolicy": "Static",
        "systemReserved": {"memory": system},
        "kubeReserved": {"memory": kube},
        "evictionHard": {"memory.available": eviction},
        "reservedMemory": [
            {"numaNode": node, "limits": {"memory": amount}}
            for node, amount in enumerate([first, total - first + difference])
        ],
    }
    machine = rules.Machine(cgroup_v2=True, numa_nodes=(0, 1), cpus=frozenset(), memory_bytes=0)
    found = rules.problems(config, Release(1, 33), machine)
    assert [problem for problem in found if "add up to" in problem.found] == [] if difference == 0 else len(found) == 1


@given(st.sets(st.integers(0, 63)), st.integers(1, 64))
def test_reserved_cpus_are_judged_by_the_set(reserved: set[int], number: int) -> None:
    config: Data = {"reservedSystemCPUs": ",".join(str(cpu) for cpu in sorted(reserved))}
    cpus = frozenset(range(number))
    machine = rules.Machine(cgroup_v2=True, numa_nodes=(0,), cpus=cpus, memory_bytes=0)
    assert bool(rules.problems(config, Release(1, 33), machine)) is not (reserved <= cpus)


@given(st.permutations(["0", "1", "2-3"]), st.permutations(["0", "1", "2-3"]))
def test_the_order_of_cpus_is_no_change(one: list[str], other: list[str]) -> None:
    before, after = ({"cpuManagerPolicy": "static", "reservedSystemCPUs": ",".join(each)} for each in (one, other))
    assert rules.state_files(before, after) == []


def test_no_two_rules_report_the_same_thing_of_one_broken_configuration() -> None:
    config: Data = {
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "featureGates": {"NodeSwap": False},
        "systemReserved": {"memory": "64Gi"},
        "reservedMemory": [{"numaNode": 9, "limits": {"memory": "1Gi"}}],
    }
    machine = rules.Machine(cgroup_v2=False, numa_nodes=(0,), cpus=frozenset([0]), memory_bytes=1 << 30)
    found = rules.problems(config, Release(1, 36), machine)
    assert len(found) >= 6
    assert all(one.found != other.found for one, other in itertools.combinations(found, 2))
