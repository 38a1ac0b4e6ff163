# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_schema as schema
from ansible_collections.virt.hostprep.plugins.module_utils.kubelet_rules import (
    Machine,
    StateFile,
    problems,
    state_files,
)
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.releases import Release

Data = dict[str, t.Any]

MACHINE = Machine(cgroup_v2=True, numa_nodes=(0, 1), cpus=frozenset(range(8)), memory_bytes=16 << 30)
OLD_CGROUPS = dataclasses.replace(MACHINE, cgroup_v2=False)
UNKNOWN = Machine(cgroup_v2=True, numa_nodes=(), cpus=frozenset(), memory_bytes=0)

STATIC_MEMORY: Data = {
    "memoryManagerPolicy": "Static",
    "systemReserved": {"memory": "1Gi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}, {"numaNode": 1, "limits": {"memory": "100Mi"}}],
}


def found(config: Data, minor: int = 33, machine: Machine = MACHINE) -> list[Problem]:
    """Of a configuration that the schema takes; the rules are not asked to repair what it refuses."""
    assert schema.problems(config, Release(1, minor)) == []
    return problems(config, Release(1, minor), machine)


def only(config: Data, minor: int = 33, machine: Machine = MACHINE) -> Problem:
    (problem,) = found(config, minor, machine)
    return problem


@pytest.mark.parametrize("minor", range(28, 38))
def test_an_empty_configuration_breaks_no_rule(minor: int) -> None:
    assert found({}, minor) == []
    assert found({}, minor, UNKNOWN) == []


# Swap and gates


@pytest.mark.parametrize("minor", [30, 33, 34, 36])
def test_limited_swap_is_taken_where_the_gate_is_on(minor: int) -> None:
    assert found({"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}, minor) == []


def test_limited_swap_needs_cgroup_v2() -> None:
    problem = only({"memorySwap": {"swapBehavior": "LimitedSwap"}}, machine=OLD_CGROUPS)
    assert "LimitedSwap on a host with cgroup v1" in problem.found
    assert "systemd.unified_cgroup_hierarchy=1" in problem.remedy
    assert found({"memorySwap": {"swapBehavior": "NoSwap"}}, machine=OLD_CGROUPS) == []


@pytest.mark.parametrize("minor", [28, 29])
def test_a_swap_behaviour_needs_the_gate_that_is_off_before_1_30(minor: int) -> None:
    swap = {"memorySwap": {"swapBehavior": "LimitedSwap"}}
    problem = only(swap, minor)
    assert problem.found == "memorySwap.swapBehavior: LimitedSwap, with the feature gate NodeSwap off"
    assert "set featureGates.NodeSwap: true" in problem.remedy
    assert found({**swap, "featureGates": {"NodeSwap": True}}, minor) == []
    assert found({**swap, "featureGates": {"AllBeta": True}}, minor) == []
    assert found({"memorySwap": {"swapBehavior": ""}}, minor) == []
    assert found({"memorySwap": {}}, minor) == []


def test_the_gate_off_by_hand_before_it_is_locked() -> None:
    config = {"memorySwap": {"swapBehavior": "LimitedSwap"}, "featureGates": {"NodeSwap": False}}
    assert "with the feature gate NodeSwap off" in only(config, 33).found
    assert found({"featureGates": {"NodeSwap": False}}, 33) == []


@pytest.mark.parametrize("more", [{}, {"memorySwap": {"swapBehavior": "LimitedSwap"}}])
def test_the_locked_gate_may_not_be_off(more: Data) -> None:
    problem = only({"featureGates": {"NodeSwap": False}, **more}, 34)
    assert (problem.found, "locked" in problem.wanted) == ("featureGates.NodeSwap: false", True)
    assert found({"featureGates": {"NodeSwap": True}, **more}, 34) == []


@pytest.mark.parametrize(
    ("config", "gate", "off", "on"),
    [
        ({"imageMaximumGCAge": "24h"}, "ImageMaximumGCAge", 29, 30),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}}, "KubeletCrashLoopBackOffMax", 34, 35),
        ({"imagePullCredentialsVerificationPolicy": "AlwaysVerify"}, "KubeletEnsureSecretPulledImages", 34, 35),
        ({"cpuCFSQuotaPeriod": "10ms"}, "CustomCPUCFSQuotaPeriod", 35, 36),
    ],
)
def test_fields_that_need_a_gate(config: Data, gate: str, off: int, on: int) -> None:
    assert f"the gate {gate} on" in only(config, off).wanted
    assert found({**config, "featureGates": {gate: True}}, off) == []
    assert found(config, on) == []
    assert f"the gate {gate} on" in only({**config, "featureGates": {gate: False}}, on).wanted


def test_values_that_need_no_gate() -> None:
    assert found({"cpuCFSQuotaPeriod": "100ms"}, 28) == []
    assert found({"imageMaximumGCAge": "0s"}, 29) == []
    assert found({"memoryReservationPolicy": "None"}, 36) == []
    assert "MemoryQoS" in only({"memoryReservationPolicy": "TieredReservation"}, 36).wanted


def test_cgroup_v1_by_release() -> None:
    assert found({}, 34, OLD_CGROUPS) == []
    assert "failCgroupV1" in only({}, 35, OLD_CGROUPS).found
    assert found({"failCgroupV1": False}, 35, OLD_CGROUPS) == []
    assert "failCgroupV1" in only({"failCgroupV1": True}, 31, OLD_CGROUPS).found
    assert "singleProcessOOMKill" in only({"singleProcessOOMKill": False}, 32, OLD_CGROUPS).found


# CPUs


def test_reserved_cpus_exist() -> None:
    assert found({"reservedSystemCPUs": "0-1,7"}) == []
    problem = only({"reservedSystemCPUs": "0,8-9"})
    assert problem.found == "reservedSystemCPUs: 0,8-9, of which the host does not have 8, 9"
    assert "8, the highest is 7" in problem.wanted
    assert "does not have 8, 9" in only({"reservedSystemCPUs": "0-9"}).found
    assert found({"reservedSystemCPUs": "0,8-9"}, machine=UNKNOWN) == []


@pytest.mark.parametrize("cgroup", ["systemReservedCgroup", "kubeReservedCgroup"])
def test_reserved_cpus_and_reserved_cgroups_exclude_each_other(cgroup: str) -> None:
    problem = only({"reservedSystemCPUs": "0", cgroup: "/system.slice"})
    assert problem.found == f"reservedSystemCPUs: 0 together with {cgroup}: /system.slice"
    assert found({"reservedSystemCPUs": "0", cgroup: ""}) == []
    assert found({"reservedSystemCPUs": "", cgroup: "/system.slice"}) == []


@pytest.mark.parametrize(
    "reserved",
    [
        {},
        {"systemReserved": {"cpu": "0"}, "kubeReserved": {"memory": "1Gi"}},
        {"systemReserved": {"cpu": "0m"}, "reservedSystemCPUs": ""},
    ],
)
def test_static_needs_a_reserved_cpu(reserved: Data) -> None:
    assert only({"cpuManagerPolicy": "static", **reserved}).found == "cpuManagerPolicy: static without a reserved CPU"


@pytest.mark.parametrize(
    "reserved",
    [{"systemReserved": {"cpu": "1m"}}, {"kubeReserved": {"cpu": "1"}}, {"reservedSystemCPUs": "0"}],
)
def test_static_with_a_reserved_cpu(reserved: Data) -> None:
    assert found({"cpuManagerPolicy": "static", **reserved}) == []


def test_no_more_cpus_are_reserved_than_there_are() -> None:
    problem = only({"systemReserved": {"cpu": "4500m"}, "kubeReserved": {"cpu": "4"}})
    assert problem.found == "8500m CPUs in systemReserved and kubeReserved"
    assert "the 8 CPUs" in problem.wanted
    assert found({"systemReserved": {"cpu": "4"}, "kubeReserved": {"cpu": "4"}}) == []
    assert found({"systemReserved": {"cpu": "40"}}, machine=UNKNOWN) == []
    assert found({"systemReserved": {"cpu": "40"}, "reservedSystemCPUs": "0"}) == []


def static(*options: str, **more: t.Any) -> Data:
    return {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "cpuManagerPolicyOptions": dict.fromkeys(options, "true"),
        **more,
    }


def test_options_need_the_static_policy() -> None:
    problem = only({"cpuManagerPolicyOptions": {"full-pcpus-only": "false"}})
    assert problem.found == "cpuManagerPolicyOptions full-pcpus-only with cpuManagerPolicy: none"
    assert found({"cpuManagerPolicyOptions": {}}) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("full-pcpus-only", "distribute-cpus-across-cores"),
        ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
    ],
)
def test_options_that_exclude_each_other(one: str, other: str) -> None:
    gates = {"featureGates": {"CPUManagerPolicyAlphaOptions": True}}
    assert only(static(one, other, **gates)).found == f"cpuManagerPolicyOptions {one} and {other} at once"
    config = static(one, **gates)
    config["cpuManagerPolicyOptions"][other] = "false"
    assert found(config) == []


def test_alpha_options_need_their_gate() -> None:
    problem = only(static("strict-cpu-reservation"), 32)
    assert "is alpha in this release, with the gate CPUManagerPolicyAlphaOptions off" in problem.found
    assert found(static("strict-cpu-reservation"), 33) == []
    assert found(static("strict-cpu-reservation", featureGates={"CPUManagerPolicyAlphaOptions": True}), 32) == []
    assert found(static("strict-cpu-reservation", featureGates={"AllAlpha": True}), 32) == []
    off = {"featureGates": {"CPUManagerPolicyBetaOptions": False}}
    assert "CPUManagerPolicyBetaOptions off" in only(static("strict-cpu-reservation", **off), 33).found
    assert found(static("strict-cpu-reservation", **off), 35) == []


def test_align_by_socket_and_single_numa_node_exclude_each_other() -> None:
    gates = {"featureGates": {"CPUManagerPolicyAlphaOptions": True}}
    config = static("align-by-socket", topologyManagerPolicy="single-numa-node", **gates)
    assert "align-by-socket with topologyManagerPolicy: single-numa-node" in only(config).found
    assert found({**config, "topologyManagerPolicy": "restricted"}) == []


def test_more_than_eight_numa_nodes() -> None:
    machine = dataclasses.replace(MACHINE, numa_nodes=tuple(range(12)))
    config: Data = {"topologyManagerPolicy": "best-effort"}
    assert found({}, machine=machine) == []
    assert found({"topologyManagerPolicy": "none"}, machine=machine) == []
    problem = only(config, machine=machine)
    assert problem.found == "topologyManagerPolicy: best-effort on a host with 12 NUMA nodes"
    assert "max-allowable-numa-nodes: '12'" in problem.remedy
    assert "max-allowable-numa-nodes" not in only(config, 30, machine).remedy
    config["topologyManagerPolicyOptions"] = {"max-allowable-numa-nodes": "12"}
    assert found(config, machine=machine) == []
    config["topologyManagerPolicyOptions"] = {"max-allowable-numa-nodes": "11"}
    assert "11 NUMA nodes at the most" in only(config, machine=machine).wanted


# Memory


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"cpu": "1"}, "reservedMemory of NUMA node 1: cpu 1"),
        ({"memory": "0"}, "reservedMemory of NUMA node 1: memory 0"),
        ({"memory": "0Gi"}, "reservedMemory of NUMA node 1: memory 0Gi"),
    ],
)
def test_entries_of_reserved_memory_of_either_policy(limits: Data, text: str) -> None:
    assert only({"reservedMemory": [{"numaNode": 1, "limits": limits}]}).found == text


def test_reserved_memory_has_each_type_once_per_node() -> None:
    entry = {"numaNode": 0, "limits": {"memory": "1Gi"}}
    assert only({"reservedMemory": [entry, entry]}).found.startswith("a second reservedMemory of NUMA node 0: memory")
    assert found({"reservedMemory": [entry, {**entry, "numaNode": 1}]}) == []


def test_the_memory_sum_with_the_default_eviction_threshold() -> None:
    assert found(STATIC_MEMORY) == []


def test_the_memory_sum_is_told_with_its_parts() -> None:
    problem = only({**STATIC_MEMORY, "kubeReserved": {"memory": "512Mi"}})
    assert problem.found == "limits of reservedMemory that add up to 1124Mi memory"
    assert problem.wanted == "1636Mi: systemReserved 1Gi + kubeReserved 512Mi + evictionHard memory.available 100Mi"
    assert problem.remedy == "let the limits add up to 1636Mi, or change what is reserved"


def test_the_memory_sum_knows_decimal_and_binary_units() -> None:
    config: Data = {
        "memoryManagerPolicy": "Static",
        "kubeReserved": {"memory": "1G"},
        "evictionHard": {"memory.available": "24M"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1024M"}}],
    }
    assert found(config) == []
    config["reservedMemory"][0]["limits"]["memory"] = "1024Mi"
    assert "add up to 1Gi memory" in only(config).found


def test_static_by_itself_needs_at_least_the_eviction_threshold() -> None:
    problem = only({"memoryManagerPolicy": "Static"})
    assert (problem.found, problem.wanted[:5]) == ("limits of reservedMemory that add up to 0 memory", "100Mi")
    nothing = {"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "0%"}}
    assert only(nothing).found == "memoryManagerPolicy: Static without reserved memory"


@pytest.mark.parametrize("total", ["1Gi", "1124Mi"])
def test_an_eviction_threshold_that_is_not_named_may_be_the_default_or_none(total: str) -> None:
    config = {
        **STATIC_MEMORY,
        "evictionHard": {"nodefs.available": "5%"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": total}}],
    }
    assert found(config) == []
    config["reservedMemory"] = [{"numaNode": 0, "limits": {"memory": "2Gi"}}]
    assert len(found(config)) == 1


def test_an_eviction_threshold_in_percent_is_resolved_on_this_host() -> None:
    # float32(0.1) * 16 GiB, truncated: what the kubelet computes, not 1717986918.
    config: Data = {
        "memoryManagerPolicy": "Static",
        "evictionHard": {"memory.available": "10%"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": 1717986944}}],
    }
    assert found(config) == []
    config["reservedMemory"][0]["limits"]["memory"] = 1717986918
    assert "a percentage differs from node to node" in only(config).remedy
    assert found(config, machine=UNKNOWN) == []


def test_hugepages_have_no_other_side() -> None:
    config = {
        **STATIC_MEMORY,
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi", "hugepages-1Gi": "4Gi"}}],
    }
    assert only(config).found == "reservedMemory of 4Gi hugepages-1Gi"
    assert found({**config, "memoryManagerPolicy": "None"}) == []


def test_reserved_memory_on_a_node_that_does_not_exist() -> None:
    config = {**STATIC_MEMORY, "reservedMemory": [{"numaNode": 4, "limits": {"memory": "1124Mi"}}]}
    problem = only(config)
    assert (problem.found, problem.wanted) == ("reservedMemory of NUMA node 4", "NUMA nodes of this host: 0, 1")
    assert found(config, machine=dataclasses.replace(MACHINE, numa_nodes=(0, 4))) == []
    assert found(config, machine=UNKNOWN) == []
    assert found({**config, "memoryManagerPolicy": "None"}) == []


def test_no_more_memory_is_reserved_than_there_is() -> None:
    problem = only({"systemReserved": {"memory": "12Gi"}, "kubeReserved": {"memory": "4Gi"}})
    assert "16484Mi memory" in problem.found
    assert "the 16Gi of the host" in problem.wanted
    assert found({"systemReserved": {"memory": "12Gi"}}) == []
    assert found({"systemReserved": {"memory": "32Gi"}}, machine=UNKNOWN) == []


# The rest


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"enforceNodeAllocatable": ["none", "pods"]}, "enforceNodeAllocatable: none, pods"),
        ({"enforceNodeAllocatable": ["kube-reserved"]}, "kube-reserved without kubeReservedCgroup"),
        ({"enforceNodeAllocatable": ["system-reserved"]}, "system-reserved without systemReservedCgroup"),
        (
            {"enforceNodeAllocatable": ["system-reserved-compressible"]},
            "system-reserved-compressible without systemReservedCgroup",
        ),
        (
            {
                "enforceNodeAllocatable": ["kube-reserved", "kube-reserved-compressible"],
                "kubeReservedCgroup": "/kube.slice",
            },
            "kube-reserved, kube-reserved-compressible",
        ),
        ({"cgroupsPerQOS": False}, "enforceNodeAllocatable: pods with cgroupsPerQOS: false"),
        ({"evictionSoft": {"memory.available": "1Gi"}}, "evictionSoft memory.available: 1Gi without a grace period"),
        (
            {"evictionSoft": {"pid.available": "10%"}, "evictionSoftGracePeriod": {"memory.available": "1m"}},
            "evictionSoft pid.available: 10% without a grace period",
        ),
        ({"imageGCHighThresholdPercent": 75}, "Percent 80 and imageGCHighThresholdPercent 75"),
        ({"imageGCLowThresholdPercent": 85}, "Percent 85 and imageGCHighThresholdPercent 85"),
        ({"imageMaximumGCAge": "2m"}, "imageMaximumGCAge: 2m"),
        ({"imageMaximumGCAge": "1h", "imageMinimumGCAge": "1h"}, "imageMaximumGCAge: 1h"),
        ({"maxParallelImagePulls": 2, "serializeImagePulls": True}, "maxParallelImagePulls: 2"),
        ({"shutdownGracePeriodCriticalPods": "10s"}, "CriticalPods: 10s, shutdownGracePeriod: 0s"),
        ({"shutdownGracePeriod": "20s", "shutdownGracePeriodCriticalPods": "30s"}, "CriticalPods: 30s"),
        ({"shutdownGracePeriod": "500ms"}, "shutdownGracePeriod: 500ms"),
        (
            {"shutdownGracePeriod": "30s", "shutdownGracePeriodByPodPriority": [{"priority": 0}]},
            "shutdownGracePeriodByPodPriority together",
        ),
        ({"systemCgroups": "/system"}, "systemCgroups: /system without cgroupRoot"),
        ({"enableSystemLogQuery": True, "enableSystemLogHandler": False}, "enableSystemLogHandler: false"),
    ],
)
def test_broken_pairs(config: Data, text: str) -> None:
    assert text in only(config).found


def test_an_allowlist_needs_its_policy() -> None:
    config: Data = {"preloadedImagesVerificationAllowlist": ["registry.example/pause"]}
    assert "NeverVerifyPreloadedImages" in only(config, 35).found
    assert found({**config, "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages"}, 35) == []


def test_sound_pairs() -> None:
    assert (
        found(
            {
                "enforceNodeAllocatable": ["pods", "kube-reserved"],
                "kubeReservedCgroup": "/kube.slice",
                "evictionSoft": {"memory.available": "1Gi", "pid.available": "0%"},
                "evictionSoftGracePeriod": {"memory.available": "1m"},
                "imageGCHighThresholdPercent": 75,
                "imageGCLowThresholdPercent": 70,
                "imageMaximumGCAge": "24h",
                "maxParallelImagePulls": 4,
                "shutdownGracePeriod": "30s",
                "shutdownGracePeriodCriticalPods": "10s",
                "systemCgroups": "/system",
                "cgroupRoot": "/",
                "enableSystemLogQuery": True,
            }
        )
        == []
    )
    assert found({"enforceNodeAllocatable": ["none"], "cgroupsPerQOS": False}) == []
    assert found({"enforceNodeAllocatable": [], "cgroupsPerQOS": False}) == []


@pytest.mark.parametrize(
    "config",
    [
        {"shutdownGracePeriod": "ten", "shutdownGracePeriodCriticalPods": "10s"},
        {"shutdownGracePeriodCriticalPods": "1s", "shutdownGracePeriod": 30},
        {"imageMinimumGCAge": 2, "imageMaximumGCAge": "1s"},
        {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "two"}},
        {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-"},
        {"memoryManagerPolicy": "Static", "systemReserved": {"memory": "1GB"}},
        {"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "much"}},
        {"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "200%"}},
        {"memoryManagerPolicy": "Static", "reservedMemory": [{"limits": {"memory": "1GB"}}]},
        {"memoryManagerPolicy": "Static", "reservedMemory": [{"limits": {"memory": True}}]},
        {"enforceNodeAllocatable": "pods", "evictionSoft": ["memory.available"], "memorySwap": "LimitedSwap"},
    ],
)
def test_what_cannot_be_read_is_left_to_the_schema(config: Data) -> None:
    assert schema.problems(config, Release(1, 33)) != []
    assert problems(config, Release(1, 33), MACHINE) == []


def test_a_release_that_is_too_old_is_refused() -> None:
    with pytest.raises(HostprepError, match="or newer"):
        problems({}, Release(1, 27), MACHINE)


# State files

STATIC_CPU: Data = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({}, STATIC_CPU, "cpuManagerPolicy changes from none to static; the CPU reservation changes from 0 CPUs to"),
        (STATIC_CPU, {"reservedSystemCPUs": "0-1"}, "cpuManagerPolicy changes from static to none"),
        (
            STATIC_CPU,
            {**STATIC_CPU, "reservedSystemCPUs": "0-2"},
            "the CPU reservation changes from CPUs 0, 1 to CPUs 0, 1, 2",
        ),
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}},
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}, "systemReserved": {"cpu": "1m"}},
            "the CPU reservation changes from 1 CPUs to 2 CPUs",
        ),
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "2"}},
            STATIC_CPU,
            "the CPU reservation changes from 2 CPUs to CPUs 0, 1",
        ),
        (
            STATIC_CPU,
            {**STATIC_CPU, "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}},
            "strict-cpu-reservation changes from false to true",
        ),
    ],
)
def test_the_state_of_the_cpu_manager_goes(before: Data, after: Data, reason: str) -> None:
    (file,) = state_files(before, after)
    assert file.name == "cpu_manager_state"
    assert file.reason.startswith(reason)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"reservedSystemCPUs": "0-1"}),
        ({"cpuManagerPolicy": "none"}, {"cpuManagerPolicy": "", "kubeReserved": {"cpu": "1"}}),
        (STATIC_CPU, {**STATIC_CPU, "reservedSystemCPUs": "1,0"}),
        (STATIC_CPU, {**STATIC_CPU, "kubeReserved": {"cpu": "2"}}),
        (STATIC_CPU, {**STATIC_CPU, "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}),
        (STATIC_CPU, {**STATIC_CPU, "cpuManagerPolicyOptions": {"strict-cpu-reservation": "false"}}),
        (STATIC_CPU, {**STATIC_CPU, "failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}),
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1100m"}},
            {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "2"}},
        ),
    ],
)
def test_the_state_of_the_cpu_manager_stays(before: Data, after: Data) -> None:
    assert state_files(before, after) == []


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({}, "memoryManagerPolicy changes from Static to None"),
        (
            {**STATIC_MEMORY, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}}]},
            "reservedMemory changes from node 0 memory 1Gi, node 1 memory 100Mi to node 0 memory 1124Mi",
        ),
        (
            {**STATIC_MEMORY, "kubeReserved": {"memory": "1Gi"}},
            "memory in systemReserved and kubeReserved changes from 1Gi to 2Gi",
        ),
        (
            {**STATIC_MEMORY, "evictionHard": {"memory.available": "200Mi"}},
            "evictionHard memory.available changes from 100Mi to 200Mi",
        ),
        (
            {**STATIC_MEMORY, "evictionHard": {"memory.available": "5%"}},
            "evictionHard memory.available changes from 100Mi to 5%",
        ),
    ],
)
def test_the_state_of_the_memory_manager_goes(after: Data, reason: str) -> None:
    (file,) = state_files(STATIC_MEMORY, after)
    assert file.name == "memory_manager_state"
    assert file.reason.startswith(reason)


@pytest.mark.parametrize(
    "after",
    [
        {**STATIC_MEMORY, "evictionHard": {"memory.available": "104857600"}},
        {**STATIC_MEMORY, "evictionHard": {"memory.available": "100Mi", "nodefs.available": "5%"}},
        {**STATIC_MEMORY, "evictionSoft": {"memory.available": "1Gi"}, "failSwapOn": False},
        {**STATIC_MEMORY, "systemReserved": {"memory": "512Mi"}, "kubeReserved": {"memory": "512Mi"}},
        {**STATIC_MEMORY, "systemReserved": {"memory": "1024Mi", "cpu": "1"}},
        {**STATIC_MEMORY, "reservedMemory": list(reversed(STATIC_MEMORY["reservedMemory"]))},
    ],
)
def test_the_state_of_the_memory_manager_stays(after: Data) -> None:
    assert state_files(STATIC_MEMORY, after) == []


def test_both_state_files_at_once() -> None:
    assert [file.name for file in state_files({}, {**STATIC_CPU, **STATIC_MEMORY})] == [
        "cpu_manager_state",
        "memory_manager_state",
    ]


def test_nothing_of_memory_matters_under_the_policy_none() -> None:
    assert state_files({}, {**STATIC_MEMORY, "memoryManagerPolicy": "None"}) == []


def test_a_state_file_is_plain_data() -> None:
    assert state_files(STATIC_CPU, {}) == [
        StateFile(
            "cpu_manager_state",
            "cpuManagerPolicy changes from static to none; the CPU reservation changes from CPUs 0, 1 to 0 CPUs",
        )
    ]
