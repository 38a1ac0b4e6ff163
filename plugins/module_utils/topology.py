# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs, NUMA nodes and the place of devices, as sysfs and procfs below a root tell them. Reading only.

What no file tells is null, or empty for a list or dict; nothing raises. Where files contradict each other,
the list of online CPUs overrules what nodes and cores claim, and a node's own folder overrules the summaries
node/has_*, which are empty or wrong on several kernels.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.isolation import isolation
from ansible_collections.virt.hostprep.plugins.module_utils.tree import Tree

Data = dict[str, t.Any]

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
PCI = "/sys/bus/pci/devices"

LOCAL_DISTANCE = 10  # of a node to itself, in ACPI and in the kernel

# How a PCI class code (class, subclass, interface: two digits each) begins, and what that is.
DEVICE_KINDS = {
    "0x010802": "nvme",
    "0x02": "net",
    "0x0c06": "infiniband",
    "0x03": "display",
    "0x12": "accelerator",
}
INTERFACE_CLASSES = ("net", "nvme")

# What tells fast cores from slow ones, the best source first: the scheduler's scale (up to 1024), then kHz.
SPEED_FILES = ("cpu_capacity", "cpufreq/base_frequency", "cpufreq/cpuinfo_max_freq")
SAME_KIND = 0.9  # cores of one design differ by less: a favoured core is only a little faster

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


def read(root: str = "/") -> Data:
    """The topology of the machine whose "/" is the folder root; numa_info documents every key.

    Ids are numbers in ascending order, memory is in kB.
    """
    tree = Tree(root)
    present = tree.numbered(CPU, "cpu")
    online = _online(tree, present)
    node_ids = tree.numbered(NODE, "node")
    nodes = _nodes(tree, node_ids, online) if node_ids else [_machine_as_node(tree, online)]
    cpus = _cpus(tree, present, online, nodes)
    isolated, nohz_full = _isolation(tree, present)
    interfaces = _interfaces(tree)
    return {
        "cpus_total": len(present) if present else None,
        "cpus_online": None if online is None else len(online),
        "cpus_offline": [cpu["id"] for cpu in cpus if not cpu["online"]],
        "cpus_isolated": isolated,
        "cpus_nohz_full": nohz_full,
        "cpus": cpus,
        "cpu_kinds": _cpu_kinds(tree, [cpu["id"] for cpu in cpus if cpu["online"]]),
        "smt": _smt(tree, cpus),
        "numa": bool(node_ids),
        "nodes": nodes,
        "memory": _memory(tree, node_ids),
        "devices": _devices(tree, interfaces),
        "interfaces": interfaces,
    }


def _online(tree: Tree, present: list[int]) -> list[int] | None:
    """The CPUs that are online; None if no file tells."""
    listed = tree.ids(f"{CPU}/online")
    if listed:  # an empty list is damage: no machine runs without a CPU
        return listed
    if not present:
        return None
    # a CPU that cannot be taken offline has no such file
    return [cpu for cpu in present if tree.number(f"{CPU}/cpu{cpu}/online") != 0]


def _of_online(cpus: list[int] | None, online: list[int] | None) -> list[int]:
    if cpus is None or online is None:
        return cpus or []
    return sorted(set(cpus).intersection(online))


def _isolation(tree: Tree, present: list[int]) -> tuple[list[int] | None, list[int] | None]:
    """(cpus_isolated, cpus_nohz_full), each from its file, else from the kernel command line."""
    isolated, nohz_full = tree.ids(f"{CPU}/isolated"), tree.ids(f"{CPU}/nohz_full")
    cmdline = tree.text("/proc/cmdline")
    possible = tree.ids(f"{CPU}/possible") or present
    if cmdline is not None and possible:
        at_boot = isolation(cmdline, possible, present)
        isolated = at_boot[0] if isolated is None else isolated
        nohz_full = at_boot[1] if nohz_full is None else nohz_full
    return isolated, nohz_full


def _cpus(tree: Tree, present: list[int], online: list[int] | None, nodes: list[Data]) -> list[Data]:
    claims: dict[int, list[int]] = {}
    for node in nodes:
        for cpu in node["cpus"]:
            claims.setdefault(cpu, []).append(node["id"])
    return [_cpu(tree, cpu, online, claims.get(cpu, [])) for cpu in present]


def _cpu(tree: Tree, cpu: int, online: list[int] | None, claims: list[int]) -> Data:
    topology = f"{CPU}/cpu{cpu}/topology"
    siblings = tree.list_or_mask(f"{topology}/thread_siblings_list", f"{topology}/thread_siblings")
    return {
        "id": cpu,
        "online": online is not None and cpu in online,
        "node": claims[0] if len(claims) == 1 else None,  # several nodes claim it: broken firmware
        "package": _not_negative(tree.number(f"{topology}/physical_package_id")),
        "core": _not_negative(tree.number(f"{topology}/core_id")),
        "siblings": _of_online(siblings, online),
    }


def _not_negative(number: int | None) -> int | None:
    """The kernel writes -1 for what it does not know."""
    return None if number is None or number < 0 else number


def _cpu_kinds(tree: Tree, cpus: list[int]) -> list[Data]:
    """The kinds of cores, the fastest first; one if all are alike, none if nothing recorded tells."""
    for file in SPEED_FILES:
        speeds = {cpu: tree.number(f"{CPU}/cpu{cpu}/{file}") or 0 for cpu in cpus}
        if speeds and min(speeds.values()) > 0:
            return _grouped(file.rpartition("/")[2], speeds)
    return []


def _grouped(measure: str, speeds: dict[int, int]) -> list[Data]:
    kinds: list[Data] = []
    slowest = 0
    for cpu in sorted(speeds, key=lambda cpu: (-speeds[cpu], cpu)):
        if not kinds or speeds[cpu] <= slowest * SAME_KIND:
            kinds.append({"measure": measure, "speed": speeds[cpu], "cpus": []})
        slowest = speeds[cpu]
        kinds[-1]["cpus"].append(cpu)
    for kind in kinds:
        kind["cpus"].sort()
    return kinds


def _smt(tree: Tree, cpus: list[Data]) -> Data:
    return {
        "active": {"0": False, "1": True}.get(tree.text(f"{CPU}/smt/active") or ""),
        "control": tree.text(f"{CPU}/smt/control") or None,
        "threads_per_core": max((len(cpu["siblings"]) for cpu in cpus), default=0) or None,
    }


def _nodes(tree: Tree, node_ids: list[int], online: list[int] | None) -> list[Data]:
    possible = tree.ids(f"{NODE}/possible")
    with_memory = tree.ids(f"{NODE}/has_memory") or []
    nodes = []
    for node in node_ids:
        folder = f"{NODE}/node{node}"
        cpus = _of_online(tree.list_or_mask(f"{folder}/cpulist", f"{folder}/cpumap"), online)
        memory = tree.meminfo(f"{folder}/meminfo").get("MemTotal")
        nodes.append(
            {
                "id": node,
                "cpus": cpus,
                "memory_kb": memory,
                "hugepages": _hugepages(tree, f"{folder}/hugepages"),
                "distances": _distances(tree.text(f"{folder}/distance"), node_ids, possible),
                "has_cpu": bool(cpus),
                "has_memory": node in with_memory if memory is None else memory > 0,
            }
        )
    return nodes


def _machine_as_node(tree: Tree, online: list[int] | None) -> Data:
    """A machine without NUMA, in the shape of a node."""
    memory = tree.meminfo("/proc/meminfo").get("MemTotal")
    return {
        "id": 0,
        "cpus": online or [],
        "memory_kb": memory,
        "hugepages": _hugepages(tree, "/sys/kernel/mm/hugepages"),
        "distances": {"0": LOCAL_DISTANCE},
        "has_cpu": bool(online),
        "has_memory": bool(memory),
    }


def _hugepages(tree: Tree, folder: str) -> Data:
    """{"2048kB": {"nr": 0, "free": 0}, ...}"""
    return {
        f"{size}kB": {
            "nr": tree.number(f"{folder}/hugepages-{size}kB/nr_hugepages"),
            "free": tree.number(f"{folder}/hugepages-{size}kB/free_hugepages"),
        }
        for size in tree.numbered(folder, "hugepages-", "kB")
    }


def _distances(row: str | None, node_ids: list[int], possible: list[int] | None) -> dict[str, int]:
    """{node id: distance}. The row has one number for each online node, whatever the ids are.

    A row with more numbers than there are nodes speaks of all possible ones.
    """
    numbers = re.findall(r"\S+", row or "")
    if not all(re.fullmatch("[0-9]{1,9}", number) for number in numbers):
        return {}
    columns = node_ids if len(numbers) <= len(node_ids) else possible or []
    return {str(node): int(number) for node, number in zip(columns, numbers) if node in node_ids}


def _memory(tree: Tree, node_ids: list[int]) -> list[Data]:
    files = {node: f"{NODE}/node{node}/meminfo" for node in node_ids} or {0: "/proc/meminfo"}
    meminfo = {node: tree.meminfo(file) for node, file in files.items()}
    return [
        {"node": node, "total_kb": info.get("MemTotal"), "free_kb": info.get("MemFree")}
        for node, info in meminfo.items()
    ]


def _devices(tree: Tree, interfaces: list[Data]) -> list[Data]:
    """The PCI devices of the kinds that placement cares for, by address."""
    names: dict[str, list[str]] = {}
    for interface in interfaces:
        names.setdefault(interface["pci"], []).append(interface["name"])
    devices = []
    for address in tree.names(PCI):
        folder = f"{PCI}/{address}"
        code = tree.text(f"{folder}/class") or ""
        kind = next((kind for start, kind in DEVICE_KINDS.items() if code.startswith(start)), None)
        if kind is not None:
            devices.append(
                {
                    "address": address,
                    "class": code,
                    "kind": kind,
                    "numa_node": tree.number(f"{folder}/numa_node"),
                    "local_cpus": tree.list_or_mask(f"{folder}/local_cpulist", f"{folder}/local_cpus"),
                    "names": sorted(names.get(address, [])),
                }
            )
    return devices


def _interfaces(tree: Tree) -> list[Data]:
    """Network interfaces and NVMe controllers, by class and name."""
    return [
        _interface(tree, kind, name)
        for kind in INTERFACE_CLASSES
        for name in tree.names(f"/sys/class/{kind}")
        if not tree.is_file(f"/sys/class/{kind}/{name}")  # class/net/bonding_masters is no interface
    ]


def _interface(tree: Tree, kind: str, name: str) -> Data:
    entry = f"/sys/class/{kind}/{name}"
    # class/net/NAME leads to .../ADDRESS/net/NAME, or is a folder whose link "device" leads to .../ADDRESS
    device = _pci_device(tree.target(f"{entry}/device"))
    address = device.rpartition("/")[2] if device else None
    numa_node = None
    if device:
        numa_node = tree.number(f"{PCI}/{address}/numa_node")
        numa_node = tree.number(f"{device}/numa_node") if numa_node is None else numa_node
    return {
        "class": kind,
        "name": name,
        "pci": address,
        "numa_node": numa_node,
        "device_link": "device" in tree.names(entry),
    }


def _pci_device(path: str | None) -> str | None:
    """The path of the nearest PCI device at or above a path in sysfs."""
    names = (path or "").split("/")
    while names and not _PCI_ADDRESS.fullmatch(names[-1]):
        names.pop()
    return "/".join(names) or None
