# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ties the values of a kubelet's configuration to each other and to the machine, before a kubelet meets them.

Each rule stops a real kubelet; its source is named above it, below pkg/kubelet of Kubernetes unless it says more.
Pure functions on the merged configuration: the file, the drop-ins and the flags, defaults filled in or not.
A value of a wrong type is kubelet_schema's to report; a rule that would need it is silent.
"""

from __future__ import annotations

import math
import struct
import typing as t
from dataclasses import dataclass
from fractions import Fraction

from ansible_collections.virt.hostprep.plugins.module_utils.kubelet_schema import (
    TRUE,
    cpu_set,
    duration,
    percent,
    quantity,
    quantity_text,
)
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Problem
from ansible_collections.virt.hostprep.plugins.module_utils.releases import Kubernetes, Release, kubernetes

Data = dict[str, t.Any]

_EVICTION_DEFAULT = Fraction(100 << 20)  # memory.available 100Mi, eviction/defaults_linux.go


@dataclass(frozen=True)
class Machine:
    """Facts of the node. An empty or zero fact is unknown; the rules that need it are silent then."""

    cgroup_v2: bool
    numa_nodes: tuple[int, ...]
    cpus: frozenset[int]  # online
    memory_bytes: int  # MemTotal


@dataclass(frozen=True)
class StateFile:
    """A file of /var/lib/kubelet that must be removed while the kubelet is stopped and the node drained."""

    name: str
    reason: str


_Found = t.Iterator[Problem]
_Rule = t.Callable[[Data, Kubernetes, Machine], _Found]


def problems(config: Data, release: Release, machine: Machine) -> list[Problem]:
    """Why a kubelet of that release would not start on that machine, or would not do what is asked for."""
    row = kubernetes(release)
    return [problem for rule in _RULES for problem in rule(config, row, machine)]


# Swap and feature gates


# app/server.go: LimitedSwap on cgroup v1 stops the kubelet (before 1.31 it gave no swap); component-base/featuregate
def _swap(config: Data, row: Kubernetes, machine: Machine) -> _Found:
    if row.node_swap_gate == "locked" and _mapping(config, "featureGates").get("NodeSwap") is False:
        yield Problem(
            found="featureGates.NodeSwap: false",
            wanted="the gate on: this release has locked it",
            remedy="leave the gate out; memorySwap.swapBehavior NoSwap keeps pods from swapping",
        )
    if _text(_mapping(config, "memorySwap"), "swapBehavior") == "LimitedSwap" and not machine.cgroup_v2:
        yield Problem(
            found="memorySwap.swapBehavior: LimitedSwap on a host with cgroup v1",
            wanted="cgroup v2",
            remedy="boot the host with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
        )


# apis/config/validation/validation.go. Field, its gate, and whether a value needs the gate.
_GATED: tuple[tuple[str, str, t.Callable[[t.Any], bool]], ...] = (
    ("memorySwap.swapBehavior", "NodeSwap", bool),
    ("imageMaximumGCAge", "ImageMaximumGCAge", lambda value: bool(_seconds(value))),
    ("crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax", bool),
    ("imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages", bool),
    ("preloadedImagesVerificationAllowlist", "KubeletEnsureSecretPulledImages", bool),
    ("cpuCFSQuotaPeriod", "CustomCPUCFSQuotaPeriod", lambda value: _seconds(value) not in (None, Fraction(1, 10))),
    ("memoryReservationPolicy", "MemoryQoS", lambda value: value == "TieredReservation"),
)


def _gated_fields(config: Data, row: Kubernetes, _machine: Machine) -> _Found:
    for field, gate, needs in _GATED:
        head, _dot, tail = field.partition(".")
        value = _mapping(config, head).get(tail) if tail else config.get(head)
        if gate not in row.gates or not needs(value) or _gate(config, gate, row.gates[gate]):
            continue
        if gate == "NodeSwap" and row.node_swap_gate == "locked":
            continue  # told by _swap
        yield Problem(
            found=f"{field}: {value}, with the feature gate {gate} off",
            wanted=f"the gate {gate} on where {field} is set",
            remedy=f"set featureGates.{gate}: true as well, or leave {field} out",
        )


# apis/config/validation/validation_linux.go
def _cgroup_v1(config: Data, row: Kubernetes, machine: Machine) -> _Found:
    if machine.cgroup_v2:
        return
    if _flag(config, "failCgroupV1", row.fail_cgroup_v1):
        yield Problem(
            found="a host with cgroup v1 and failCgroupV1: true (set, or the default of this release)",
            wanted="cgroup v2",
            remedy="boot the host with cgroup v2; failCgroupV1: false only puts it off",
        )
    if not _flag(config, "singleProcessOOMKill", True):
        yield Problem(
            found="singleProcessOOMKill: false on a host with cgroup v1",
            wanted="cgroup v2",
            remedy="leave singleProcessOOMKill out, or boot the host with cgroup v2",
        )


# CPUs


# validation.go and getReservedCPUs in app/server.go
def _reserved_cpus(config: Data, _row: Kubernetes, machine: Machine) -> _Found:
    cpus = _cpus(config)
    if not cpus:
        return
    text = config["reservedSystemCPUs"]
    for cgroup in ("systemReservedCgroup", "kubeReservedCgroup"):
        if _text(config, cgroup):
            yield Problem(
                found=f"reservedSystemCPUs: {text} together with {cgroup}: {config[cgroup]}",
                wanted="one of the two",
                remedy=f"empty {cgroup} (and take it out of enforceNodeAllocatable), or leave reservedSystemCPUs out",
            )
    missing = cpus - machine.cpus
    if machine.cpus and missing:
        yield Problem(
            found=f"reservedSystemCPUs: {text}, of which the host does not have {_join(sorted(missing))}",
            wanted=f"CPUs of this host: {len(machine.cpus)}, the highest is {max(machine.cpus)}",
            remedy="name CPUs that exist and are online",
        )


# cm/cpumanager/policy_options.go: NewStaticPolicyOptions
_EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)


# cm/cpumanager/{cpu_manager,policy_none,policy_options}.go
def _cpu_manager(config: Data, row: Kubernetes, _machine: Machine) -> _Found:
    options = _mapping(config, "cpuManagerPolicyOptions")
    policy = _cpu_policy(config)
    if policy == "none" and options:
        yield Problem(
            found=f"cpuManagerPolicyOptions {_join(options)} with cpuManagerPolicy: none",
            wanted="options with the policy static only",
            remedy="set cpuManagerPolicy: static, or leave the options out",
        )
    if policy != "static":
        return
    if _reserved_cpu_amount(config) == 0:
        yield Problem(
            found="cpuManagerPolicy: static without a reserved CPU",
            wanted="CPUs that no pod gets for itself: the system and the kubelet need some",
            remedy="set reservedSystemCPUs, or cpu of systemReserved or kubeReserved",
        )
    yield from _without_gate(config, options, row.cpu_manager_options, "CPUManagerPolicy")
    for one, other in _EXCLUSIVE:
        if options.get(one) in TRUE and options.get(other) in TRUE:
            yield Problem(
                found=f"cpuManagerPolicyOptions {one} and {other} at once",
                wanted="one of the two",
                remedy="leave one out",
            )
    if options.get("align-by-socket") in TRUE and _topology_policy(config) == "single-numa-node":
        yield Problem(
            found="cpuManagerPolicyOptions align-by-socket with topologyManagerPolicy: single-numa-node",
            wanted="one of the two: a socket can hold several NUMA nodes",
            remedy="leave align-by-socket out, or choose another topologyManagerPolicy",
        )


def _without_gate(config: Data, options: Data, stages: t.Mapping[str, str], manager: str) -> _Found:
    for name in options:
        for stage, default in (("Alpha", False), ("Beta", True)):
            gate = f"{manager}{stage}Options"
            if stages.get(name) == stage.lower() and not _gate(config, gate, default):
                yield Problem(
                    found=f"the option {name}, which is {stage.lower()} in this release, with the gate {gate} off",
                    wanted=f"the gate {gate} on",
                    remedy=f"set featureGates.{gate}: true, or leave {name} out",
                )


# cm/topologymanager/topology_manager.go: 8 NUMA nodes are the most unless an option says more
def _topology_manager(config: Data, row: Kubernetes, machine: Machine) -> _Found:
    policy = _topology_policy(config)
    if policy == "none":
        return
    options = _mapping(config, "topologyManagerPolicyOptions")
    yield from _without_gate(config, options, row.topology_manager_options, "TopologyManagerPolicy")
    name = "max-allowable-numa-nodes"
    limit = _amount(options.get(name)) or 8
    if len(machine.numa_nodes) > limit:
        yield Problem(
            found=f"topologyManagerPolicy: {policy} on a host with {len(machine.numa_nodes)} NUMA nodes",
            wanted=f"{limit} NUMA nodes at the most",
            remedy=(
                f"set topologyManagerPolicyOptions {name}: '{len(machine.numa_nodes)}'"
                if name in row.topology_manager_options
                else "leave topologyManagerPolicy at none, or join NUMA nodes in the firmware (SNC, NPS)"
            ),
        )


# Memory


# apis/config/validation/validation_reserved_memory.go, of either policy
def _reserved_memory(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    seen = set()
    for node, kind, value in _reservations(config):
        where = f"reservedMemory of NUMA node {node}: {kind} {value}"
        if kind != "memory" and not kind.startswith("hugepages-"):
            yield Problem(where, "memory or hugepages-<size>", "leave that type out")
        if _amount(value) == 0:
            yield Problem(where, "an amount above zero", "leave the entry out")
        if (node, kind) in seen:
            yield Problem(f"a second {where}", "each type once per NUMA node", "join the entries")
        seen.add((node, kind))


# cm/memorymanager/{memory_manager,policy_static}.go: validateReservedMemory and NewPolicyStatic
def _memory_manager(config: Data, _row: Kubernetes, machine: Machine) -> _Found:
    if _memory_policy(config) != "Static":
        return
    totals: dict[str, Fraction] = {"memory": Fraction(0)}
    for node, kind, value in _reservations(config):
        if machine.numa_nodes and node not in machine.numa_nodes:
            yield Problem(
                found=f"reservedMemory of NUMA node {node}",
                wanted=f"NUMA nodes of this host: {_join(machine.numa_nodes)}",
                remedy="reserve memory on NUMA nodes that exist",
            )
        amount = _amount(value)
        if amount is None:
            return
        totals[kind] = totals.get(kind, Fraction(0)) + amount
    for kind, total in totals.items():
        if kind.startswith("hugepages-") and total:
            yield Problem(
                found=f"reservedMemory of {quantity_text(total)} {kind}",
                wanted="none: the kubelet compares with systemReserved and kubeReserved, which cannot hold hugepages",
                remedy=f"leave {kind} out of reservedMemory",
            )
    yield from _memory_sum(config, machine, totals["memory"])


def _memory_sum(config: Data, machine: Machine, total: Fraction) -> _Found:
    parts = [_reserved_amount(config, key, "memory") for key in ("systemReserved", "kubeReserved")]
    evictions = _eviction_memory(config, machine)
    if None in parts or not evictions:
        return
    system, kube = (part or Fraction(0) for part in parts)
    reserved = system + kube
    if total == 0 and reserved + min(evictions) == 0:
        yield Problem(
            found="memoryManagerPolicy: Static without reserved memory",
            wanted="reservedMemory, and the same amount in systemReserved, kubeReserved and evictionHard",
            remedy="set reservedMemory",
        )
    elif total not in [reserved + eviction for eviction in evictions]:
        eviction = evictions[0]
        wanted = quantity_text(reserved + eviction)
        portable = percent(_text(_mapping(config, "evictionHard"), "memory.available")) is None
        yield Problem(
            found=f"limits of reservedMemory that add up to {quantity_text(total)} memory",
            wanted=(
                f"{wanted}: systemReserved {quantity_text(system)} + kubeReserved {quantity_text(kube)}"
                f" + evictionHard memory.available {quantity_text(eviction)}"
            ),
            remedy=f"let the limits add up to {wanted}, or change what is reserved"
            + ("" if portable else "; write memory.available as a quantity, a percentage differs from node to node"),
        )


# cm/node_container_manager_linux.go: validateNodeAllocatable
def _capacity(config: Data, _row: Kubernetes, machine: Machine) -> _Found:
    cpu = _reserved_cpu_amount(config)
    if machine.cpus and cpu is not None and not _cpus(config) and cpu > len(machine.cpus):
        yield Problem(
            found=f"{quantity_text(cpu)} CPUs in systemReserved and kubeReserved",
            wanted=f"no more than the {len(machine.cpus)} CPUs of the host",
            remedy="reserve less",
        )
    parts = [_reserved_amount(config, key, "memory") for key in ("systemReserved", "kubeReserved")]
    evictions = _eviction_memory(config, machine)
    if not machine.memory_bytes or None in parts or not evictions:
        return
    memory = sum((part or Fraction(0) for part in parts), min(evictions))
    if memory > machine.memory_bytes:
        yield Problem(
            found=f"{quantity_text(memory)} memory in systemReserved, kubeReserved and evictionHard memory.available",
            wanted=f"no more than the {quantity_text(Fraction(machine.memory_bytes))} of the host",
            remedy="reserve less",
        )


# Everything else of apis/config/validation/validation.go that needs more than one value


def _enforcements(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    entries = config.get("enforceNodeAllocatable")
    if not isinstance(entries, list):
        entries = ["pods"]
    if "none" in entries and len(entries) > 1:
        yield Problem(
            found=f"enforceNodeAllocatable: {_join(entries)}",
            wanted="none alone, or the others without it",
            remedy="take none out",
        )
    for name, cgroup in (("system-reserved", "systemReservedCgroup"), ("kube-reserved", "kubeReservedCgroup")):
        both = [entry for entry in (name, f"{name}-compressible") if entry in entries]
        if len(both) > 1:
            yield Problem(
                found=f"enforceNodeAllocatable: {_join(both)}", wanted="one of the two", remedy="take one out"
            )
        if both and not _text(config, cgroup):
            yield Problem(
                found=f"enforceNodeAllocatable: {both[0]} without {cgroup}",
                wanted=f"the cgroup on which it is enforced, in {cgroup}",
                remedy=f"set {cgroup}, or take {both[0]} out",
            )
    others = [entry for entry in entries if entry != "none"]
    if others and not _flag(config, "cgroupsPerQOS", True):
        yield Problem(
            found=f"enforceNodeAllocatable: {_join(others)} with cgroupsPerQOS: false",
            wanted="cgroupsPerQOS: true",
            remedy="leave cgroupsPerQOS out, or set enforceNodeAllocatable to an empty list",
        )


# eviction/helpers.go: ParseThresholdConfig; 0% and 100% switch a signal off
def _evictions(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    periods = _mapping(config, "evictionSoftGracePeriod")
    for signal, threshold in _mapping(config, "evictionSoft").items():
        if periods.get(signal) is None and threshold not in (None, "0%", "100%"):
            yield Problem(
                found=f"evictionSoft {signal}: {threshold} without a grace period",
                wanted=f"a duration in evictionSoftGracePeriod {signal}",
                remedy=f"set evictionSoftGracePeriod {signal}, or leave the soft threshold out",
            )


def _images(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    low = _number(config, "imageGCLowThresholdPercent", 80)
    high = _number(config, "imageGCHighThresholdPercent", 85)
    if low >= high:
        yield Problem(
            found=f"imageGCLowThresholdPercent {low} and imageGCHighThresholdPercent {high} (defaults: 80 and 85)",
            wanted="the low one below the high one",
            remedy="set both",
        )
    youngest = _period(config, "imageMinimumGCAge")
    oldest = _period(config, "imageMaximumGCAge")
    youngest = Fraction(120) if youngest == 0 else youngest  # zero means the default
    if oldest and youngest is not None and oldest <= youngest:
        yield Problem(
            found=f"imageMaximumGCAge: {config['imageMaximumGCAge']}",
            wanted=f"more than imageMinimumGCAge, {float(youngest):g}s",
            remedy="raise imageMaximumGCAge, or lower imageMinimumGCAge",
        )
    pulls = _number(config, "maxParallelImagePulls", 1)
    if pulls > 1 and _flag(config, "serializeImagePulls", False):
        yield Problem(
            found=f"maxParallelImagePulls: {pulls} with serializeImagePulls: true",
            wanted="serializeImagePulls: false",
            remedy="set serializeImagePulls: false, or leave maxParallelImagePulls out",
        )
    policy = _text(config, "imagePullCredentialsVerificationPolicy") or "NeverVerifyPreloadedImages"
    if config.get("preloadedImagesVerificationAllowlist") and policy != "NeverVerifyAllowlistedImages":
        yield Problem(
            found=f"preloadedImagesVerificationAllowlist with imagePullCredentialsVerificationPolicy: {policy}",
            wanted="the policy NeverVerifyAllowlistedImages",
            remedy="set that policy, or leave the list out",
        )


def _shutdown(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    periods = {name: _period(config, name) for name in ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods")}
    whole, critical = periods.values()
    if whole is not None and critical is not None and critical > whole:
        yield Problem(
            found=f"shutdownGracePeriodCriticalPods: {float(critical):g}s, shutdownGracePeriod: {float(whole):g}s",
            wanted="the time of the critical pods as a part of the whole",
            remedy="raise shutdownGracePeriod, or lower shutdownGracePeriodCriticalPods",
        )
    for name, period in periods.items():
        if period is not None and (period < 0 or 0 < period < 1):
            yield Problem(f"{name}: {config[name]}", "zero, or one second and more", "write a time such as 30s")
    if config.get("shutdownGracePeriodByPodPriority") and (whole or critical):
        yield Problem(
            found="shutdownGracePeriodByPodPriority together with shutdownGracePeriod",
            wanted="one of the two",
            remedy="leave shutdownGracePeriod and shutdownGracePeriodCriticalPods out, or the list",
        )


def _others(config: Data, _row: Kubernetes, _machine: Machine) -> _Found:
    if _text(config, "systemCgroups") and not _text(config, "cgroupRoot"):
        yield Problem(
            found=f"systemCgroups: {config['systemCgroups']} without cgroupRoot",
            wanted="cgroupRoot where systemCgroups is set",
            remedy="set cgroupRoot (/ as a rule), or leave systemCgroups out",
        )
    if _flag(config, "enableSystemLogQuery", False) and not _flag(config, "enableSystemLogHandler", True):
        yield Problem(
            found="enableSystemLogQuery: true with enableSystemLogHandler: false",
            wanted="both, or neither",
            remedy="leave enableSystemLogHandler out, or enableSystemLogQuery",
        )


_RULES: tuple[_Rule, ...] = (
    _swap,
    _gated_fields,
    _cgroup_v1,
    _reserved_cpus,
    _cpu_manager,
    _topology_manager,
    _reserved_memory,
    _memory_manager,
    _capacity,
    _enforcements,
    _evictions,
    _images,
    _shutdown,
    _others,
)


# State files


def state_files(before: Data, after: Data) -> list[StateFile]:
    """State files that a kubelet with the merged configuration `after` would not start with.

    cm/cpumanager and cm/memorymanager: policy_static.go (validateState), state/state_checkpoint.go.
    """
    reasons = {
        "cpu_manager_state": list(_cpu_changes(before, after)),
        "memory_manager_state": list(_memory_changes(before, after)),
    }
    return [StateFile(name, "; ".join(found)) for name, found in reasons.items() if found]


def _cpu_changes(before: Data, after: Data) -> t.Iterator[str]:
    policies = [_cpu_policy(before), _cpu_policy(after)]
    if "static" not in policies:
        return
    yield from _change("cpuManagerPolicy", *policies)
    yield from _change("the CPU reservation", _cpu_reservation(before), _cpu_reservation(after))
    yield from _change("strict-cpu-reservation", *(_strict(config) for config in (before, after)))


def _memory_changes(before: Data, after: Data) -> t.Iterator[str]:
    policies = [_memory_policy(before), _memory_policy(after)]
    if "Static" not in policies:
        return
    yield from _change("memoryManagerPolicy", *policies)
    yield from _change("reservedMemory", _memory_reservation(before), _memory_reservation(after))
    yield from _change("memory in systemReserved and kubeReserved", _memory_reserved(before), _memory_reserved(after))
    yield from _change("evictionHard memory.available", _memory_eviction(before), _memory_eviction(after))


def _change(name: str, before: str, after: str) -> t.Iterator[str]:
    if before != after:
        yield f"{name} changes from {before} to {after}"


def _cpu_reservation(config: Data) -> str:
    """What the static policy sees: the listed CPUs, else a number of CPUs, rounded up as the kubelet does."""
    cpus = _cpus(config)
    if cpus:
        return f"CPUs {_join(sorted(cpus))}"
    amount = _reserved_cpu_amount(config)
    return "a value that cannot be read" if amount is None else f"{math.ceil(amount)} CPUs"


def _strict(config: Data) -> str:
    strict = _mapping(config, "cpuManagerPolicyOptions").get("strict-cpu-reservation") in TRUE
    return str(strict).lower()


def _memory_reservation(config: Data) -> str:
    parts = []
    for node, kind, value in _reservations(config):
        amount = _amount(value)
        parts.append((node, kind, str(value) if amount is None else quantity_text(amount)))
    return _join(f"node {node} {kind} {amount}" for node, kind, amount in sorted(parts)) or "nothing"


def _memory_reserved(config: Data) -> str:
    parts = [_reserved_amount(config, key, "memory") for key in ("systemReserved", "kubeReserved")]
    known = [part for part in parts if part is not None]
    return quantity_text(sum(known, Fraction(0))) if len(known) == 2 else "a value that cannot be read"


def _memory_eviction(config: Data) -> str:
    value = _mapping(config, "evictionHard").get("memory.available")
    amount = _EVICTION_DEFAULT if value is None else _amount(value)
    return str(value) if amount is None else quantity_text(amount)


# Reading


def _mapping(config: Data, key: str) -> Data:
    value = config.get(key)
    return value if isinstance(value, dict) else {}


def _text(config: Data, key: str) -> str:
    value = config.get(key)
    return value if isinstance(value, str) else ""


def _flag(config: Data, key: str, default: bool) -> bool:
    value = config.get(key)
    return value if isinstance(value, bool) else default


def _number(config: Data, key: str, default: int) -> int:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _seconds(value: t.Any) -> Fraction | None:
    try:
        return duration(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _period(config: Data, key: str) -> Fraction | None:
    """Seconds; zero where the key is absent, None where it cannot be read."""
    value = config.get(key)
    return Fraction(0) if value is None else _seconds(value)


def _amount(value: t.Any) -> Fraction | None:
    try:
        return quantity(value) if isinstance(value, (str, int, float)) else None
    except ValueError:
        return None


def _gate(config: Data, name: str, default: bool) -> bool:
    """AllAlpha and AllBeta switch on the gates that are not named."""
    gates = _mapping(config, "featureGates")
    return _flag(gates, name, default or _flag(gates, "AllAlpha", False) or _flag(gates, "AllBeta", False))


def _cpu_policy(config: Data) -> str:
    return _text(config, "cpuManagerPolicy") or "none"


def _memory_policy(config: Data) -> str:
    return _text(config, "memoryManagerPolicy") or "None"


def _topology_policy(config: Data) -> str:
    return _text(config, "topologyManagerPolicy") or "none"


def _cpus(config: Data) -> frozenset[int]:
    try:
        return cpu_set(_text(config, "reservedSystemCPUs"))
    except ValueError:
        return frozenset()


def _reserved_amount(config: Data, key: str, resource: str) -> Fraction | None:
    value = _mapping(config, key).get(resource)
    return Fraction(0) if value is None else _amount(value)


def _reserved_cpu_amount(config: Data) -> Fraction | None:
    """reservedSystemCPUs replaces cpu of the two (app/server.go)."""
    if _text(config, "reservedSystemCPUs"):
        return Fraction(len(_cpus(config))) or None
    parts = [_reserved_amount(config, key, "cpu") for key in ("systemReserved", "kubeReserved")]
    known = [part for part in parts if part is not None]
    return sum(known, Fraction(0)) if len(known) == 2 else None


def _reservations(config: Data) -> t.Iterator[tuple[int, str, t.Any]]:
    """NUMA node, type and value of each limit of reservedMemory."""
    entries = config.get("reservedMemory")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            for kind, value in _mapping(entry, "limits").items():
                yield _number(entry, "numaNode", 0), str(kind), value


def _eviction_memory(config: Data, machine: Machine) -> list[Fraction]:
    """Bytes of the hard threshold of memory.available, as eviction/api/types.go resolves it; empty: unknown.

    Two where evictionHard does not name it: a main file with other signals has none, a drop-in keeps the default.
    """
    thresholds = config.get("evictionHard")
    if thresholds is None:
        return [_EVICTION_DEFAULT]
    value = _mapping(config, "evictionHard").get("memory.available")
    if value is None:
        return [_EVICTION_DEFAULT, Fraction(0)]
    part = percent(value) if isinstance(value, str) else None
    if part is None:
        amount = _amount(value)
        return [] if amount is None else [amount]
    if part in (0, 100):
        return [Fraction(0)]
    if part > 100 or not machine.memory_bytes:
        return []
    # Go computes the share in float32 and multiplies in float64.
    return [Fraction(int(machine.memory_bytes * _float32(_float32(float(part)) / 100)))]


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _join(values: t.Iterable[t.Any]) -> str:
    return ", ".join(str(value) for value in values)
