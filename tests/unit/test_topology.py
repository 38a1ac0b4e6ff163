# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import tarfile
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.topology import read
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import (
    CPU,
    FOLDER,
    NODE,
    PCI,
    Content,
    Files,
    Link,
    build,
    cpu,
    cpu_folders,
    hugepages,
    interface,
    node,
    pci_device,
    two_nodes,
    without,
)

Reading = dict[str, t.Any]
Read = t.Callable[..., Reading]


@pytest.fixture(name="reading")
def fixture_reading(tmp_path: Path) -> Read:
    """reading(files, path=content, ...): what read() makes of the machine."""

    def reading(files: t.Mapping[str, Content], **more: Content) -> Reading:
        return read(build(tmp_path / "root", {**files, **more}))

    return reading


def by_id(reading: Reading, key: str) -> dict[int, t.Any]:
    """{node id: value of key}"""
    return {entry["id"]: entry[key] for entry in reading["nodes"]}


# --- a machine without trouble ----------------------------------------------------------------------------------


def test_the_whole_reading(reading: Read) -> None:
    assert reading(two_nodes()) == {
        "cpus_total": 4,
        "cpus_online": 4,
        "cpus_offline": [],
        "cpus_isolated": [3],
        "cpus_nohz_full": [2, 3],
        "cpus": [
            {"id": 0, "online": True, "node": 0, "package": 0, "core": 0, "siblings": [0, 2]},
            {"id": 1, "online": True, "node": 1, "package": 1, "core": 0, "siblings": [1, 3]},
            {"id": 2, "online": True, "node": 0, "package": 0, "core": 0, "siblings": [0, 2]},
            {"id": 3, "online": True, "node": 1, "package": 1, "core": 0, "siblings": [1, 3]},
        ],
        "cpu_kinds": [{"measure": "cpu_capacity", "speed": 1024, "cpus": [0, 1, 2, 3]}],
        "smt": {"active": True, "control": "on", "threads_per_core": 2},
        "numa": True,
        "nodes": [
            {
                "id": 0,
                "cpus": [0, 2],
                "memory_kb": 8_000_000,
                "hugepages": {"2048kB": {"nr": 512, "free": 500}, "1048576kB": {"nr": 0, "free": 0}},
                "distances": {"0": 10, "1": 21},
                "has_cpu": True,
                "has_memory": True,
            },
            {
                "id": 1,
                "cpus": [1, 3],
                "memory_kb": 4_000_000,
                "hugepages": {"2048kB": {"nr": 0, "free": 0}},
                "distances": {"0": 21, "1": 10},
                "has_cpu": True,
                "has_memory": True,
            },
        ],
        "memory": [
            {"node": 0, "total_kb": 8_000_000, "free_kb": 4_000_000},
            {"node": 1, "total_kb": 4_000_000, "free_kb": 2_000_000},
        ],
        "devices": [
            {
                "address": "0000:01:00.0",
                "class": "0x010802",
                "kind": "nvme",
                "numa_node": 0,
                "local_cpus": [0, 2],
                "names": ["nvme0"],
            },
            {
                "address": "0000:81:00.0",
                "class": "0x020000",
                "kind": "net",
                "numa_node": 1,
                "local_cpus": [1, 3],
                "names": ["ens1f0", "ens1f1"],
            },
        ],
        "interfaces": [
            {"class": "net", "name": "ens1f0", "pci": "0000:81:00.0", "numa_node": 1, "device_link": True},
            {"class": "net", "name": "ens1f1", "pci": "0000:81:00.0", "numa_node": 1, "device_link": True},
            {"class": "net", "name": "lo", "pci": None, "numa_node": None, "device_link": False},
            {"class": "nvme", "name": "nvme0", "pci": "0000:01:00.0", "numa_node": 0, "device_link": True},
        ],
    }


def test_this_machine() -> None:
    reading = read()
    assert reading["cpus_online"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert sum(entry["total_kb"] for entry in reading["memory"]) > 0


# --- CPUs that are offline --------------------------------------------------------------------------------------


def test_offline_cpus_are_in_no_node_and_no_core(reading: Read) -> None:
    result = reading(two_nodes(), **{f"{CPU}/online": "0,3\n"})
    assert (result["cpus_total"], result["cpus_online"], result["cpus_offline"]) == (4, 2, [1, 2])
    assert by_id(result, "cpus") == {0: [0], 1: [3]}
    assert [entry["online"] for entry in result["cpus"]] == [True, False, False, True]
    assert [entry["siblings"] for entry in result["cpus"]] == [[0], [3], [0], [3]]
    assert result["smt"]["threads_per_core"] == 1


@pytest.mark.parametrize("damaged", [None, "", "\0", "0-\n", "zero\n"])
def test_without_the_list_of_online_cpus_each_cpu_tells(reading: Read, damaged: str | None) -> None:
    files = without(two_nodes(), "cpu/online") | {
        f"{CPU}/cpu1/online": "0\n",
        f"{CPU}/cpu2/online": "1\n",
        f"{CPU}/cpu3/online": "",  # recorded from a kernel that did not let it be read
    }
    result = reading(files if damaged is None else {**files, f"{CPU}/online": damaged})
    assert (result["cpus_online"], result["cpus_offline"]) == (3, [1])
    assert by_id(result, "cpus") == {0: [0, 2], 1: [3]}


def test_a_node_without_any_cpu_online(reading: Read) -> None:
    result = reading(two_nodes(), **{f"{CPU}/online": "1,3\n"})
    assert by_id(result, "has_cpu") == {0: False, 1: True}


# --- lists of CPUs that contradict each other -------------------------------------------------------------------


def test_a_node_claims_cpus_that_do_not_exist(reading: Read) -> None:
    result = reading(two_nodes(), **{f"{NODE}/node0/cpulist": "0-1,4-87\n", f"{NODE}/node1/cpulist": "2-3\n"})
    assert by_id(result, "cpus") == {0: [0, 1], 1: [2, 3]}


def test_the_list_counts_where_list_and_mask_differ(reading: Read) -> None:
    result = reading(two_nodes(), **{f"{NODE}/node0/cpumap": "00000000,0000000f\n"})
    assert by_id(result, "cpus") == {0: [0, 2], 1: [1, 3]}


@pytest.mark.parametrize("damaged", [None, "0-\n", "none\n"])
def test_the_mask_counts_where_there_is_no_list(reading: Read, damaged: str | None) -> None:
    files = without(two_nodes(), "node0/cpulist") | {f"{NODE}/node0/cpumap": "00000000,00000005\n\n\0"}
    result = reading(files if damaged is None else {**files, f"{NODE}/node0/cpulist": damaged})
    assert by_id(result, "cpus") == {0: [0, 2], 1: [1, 3]}


def test_firmware_that_gives_every_node_all_cpus(reading: Read) -> None:
    result = reading(two_nodes(), **{f"{NODE}/node{number}/cpulist": "0-3\n" for number in (0, 1)})
    assert (result["cpus_total"], result["cpus_online"]) == (4, 4)
    assert by_id(result, "cpus") == {0: [0, 1, 2, 3], 1: [0, 1, 2, 3]}
    assert [entry["node"] for entry in result["cpus"]] == [None] * 4


@pytest.mark.parametrize("summary", ["", "\0", "0-7\n", "5\n"])
def test_the_summaries_count_less_than_the_nodes(reading: Read, summary: str) -> None:
    summaries: Files = {f"{NODE}/{name}": summary for name in ("has_cpu", "has_memory", "has_normal_memory", "online")}
    result = reading({**two_nodes(), **summaries})
    assert by_id(result, "has_cpu") == by_id(result, "has_memory") == {0: True, 1: True}


# --- node numbers, memory and distances -------------------------------------------------------------------------


def sparse_nodes(possible: str, **rows: str) -> Files:
    """Nodes 0 (CPUs and memory), 8 (CPUs, no memory) and 250 (memory, no CPUs)."""
    return {
        f"{CPU}/online": "0,8\n",
        **cpu_folders([0, 8]),
        f"{NODE}/possible": f"{possible}\n",
        **node(0, "0", 1000, rows.get("node0", "10 40 80")),
        **node(8, "8", 0, rows.get("node8", "40 10 80")),
        **node(250, "", 500, rows.get("node250", "80 80 10")),
    }


def test_nodes_with_gaps_without_memory_and_without_cpus(reading: Read) -> None:
    result = reading(sparse_nodes(possible="0,8,250"))
    assert by_id(result, "cpus") == {0: [0], 8: [8], 250: []}
    assert by_id(result, "has_cpu") == {0: True, 8: True, 250: False}
    assert by_id(result, "memory_kb") == {0: 1000, 8: 0, 250: 500}
    assert by_id(result, "has_memory") == {0: True, 8: False, 250: True}
    assert by_id(result, "distances")[8] == {"0": 40, "8": 10, "250": 80}
    assert [entry["node"] for entry in result["cpus"]] == [0, 8]


def test_nodes_are_in_the_order_of_their_numbers(reading: Read) -> None:
    files: Files = {f"{CPU}/online": "0\n", **cpu_folders([0])}
    for number in (10, 9, 100, 2):
        files.update(node(number, "", 1, "1 2 3 4"))
    result = reading(files)
    assert list(by_id(result, "id")) == [2, 9, 10, 100]
    assert result["nodes"][0]["distances"] == {"2": 1, "9": 2, "10": 3, "100": 4}


def test_a_row_for_every_possible_node(reading: Read) -> None:
    """A node that went offline leaves its column behind."""
    result = reading(sparse_nodes(possible="0,8,16,250", node8="40 10 99 80"))
    assert by_id(result, "distances")[8] == {"0": 40, "8": 10, "250": 80}


def test_more_possible_nodes_than_there_are(reading: Read) -> None:
    result = reading(sparse_nodes(possible="0-1023"))
    assert by_id(result, "distances")[250] == {"0": 80, "8": 80, "250": 10}


@pytest.mark.parametrize(
    ("row", "distances"),
    [
        ("", {}),
        ("\0", {}),
        ("10 21 x", {}),
        ("10 -1 21", {}),
        ("10 21", {"0": 10, "8": 21}),
        ("  10\t21  80 ", {"0": 10, "8": 21, "250": 80}),
    ],
)
def test_odd_rows(reading: Read, row: str, distances: dict[str, int]) -> None:
    assert by_id(reading(sparse_nodes(possible="0,8,250", node0=row)), "distances")[0] == distances


def test_a_long_row_without_the_possible_nodes_tells_nothing(reading: Read) -> None:
    files = without(sparse_nodes(possible="", node0="10 40 60 80"), "node/possible")
    assert by_id(reading(files), "distances")[0] == {}


def test_no_distances(reading: Read) -> None:
    assert by_id(reading(without(two_nodes(), "distance")), "distances") == {0: {}, 1: {}}


@pytest.mark.parametrize("damaged", [None, "", "Node 0 MemTotal: much kB\n", "Node 0 MemFree: 5 kB\n"])
def test_without_meminfo_the_summary_tells_who_has_memory(reading: Read, damaged: str | None) -> None:
    files = without(two_nodes(), "meminfo") | {f"{NODE}/has_memory": "1\n"}
    if damaged is not None:
        files |= {f"{NODE}/node0/meminfo": damaged}
    result = reading(files)
    assert by_id(result, "memory_kb") == {0: None, 1: None}
    assert by_id(result, "has_memory") == {0: False, 1: True}


def test_without_meminfo_and_summary(reading: Read) -> None:
    assert by_id(reading(without(two_nodes(), "meminfo", "has_memory")), "has_memory") == {0: False, 1: False}


def test_hugepages_with_a_file_missing(reading: Read) -> None:
    result = reading(without(two_nodes(), "node0/hugepages/hugepages-2048kB/free_hugepages"))
    assert by_id(result, "hugepages")[0]["2048kB"] == {"nr": 512, "free": None}


def test_every_size_of_hugepages_from_the_smallest(reading: Read) -> None:
    sizes: Files = {}
    for size in (1_048_576, 64, 32_768):
        sizes.update(hugepages(f"{NODE}/node1/hugepages", size, pages=size, free=1))
    assert list(by_id(reading({**two_nodes(), **sizes}), "hugepages")[1]) == ["64kB", "2048kB", "32768kB", "1048576kB"]


# --- no NUMA ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [{}, {NODE: FOLDER}, {f"{NODE}/possible": "0\n"}])
def test_without_nodes_the_machine_is_node_0(reading: Read, empty: Files) -> None:
    files: Files = {
        f"{CPU}/online": "0-1\n",
        **cpu_folders([0, 1, 2]),
        **hugepages("sys/kernel/mm/hugepages", 1024, pages=3, free=2),
        "proc/meminfo": "MemTotal:        2053992 kB\nMemFree:   1000 kB\nHugePages_Total:       3\n",
        **empty,
    }
    result = reading(files)
    assert result["numa"] is False
    assert result["nodes"] == [
        {
            "id": 0,
            "cpus": [0, 1],
            "memory_kb": 2_053_992,
            "hugepages": {"1024kB": {"nr": 3, "free": 2}},
            "distances": {"0": 10},
            "has_cpu": True,
            "has_memory": True,
        }
    ]
    assert result["memory"] == [{"node": 0, "total_kb": 2_053_992, "free_kb": 1000}]
    assert [entry["node"] for entry in result["cpus"]] == [0, 0, None]


def test_a_root_that_holds_nothing(reading: Read) -> None:
    result = reading({})
    assert result["cpus_total"] is result["cpus_online"] is result["cpus_isolated"] is None
    assert result["nodes"][0]["memory_kb"] is None
    assert result["cpus"] == result["devices"] == result["interfaces"] == result["cpu_kinds"] == []


# --- isolated and tick-free CPUs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "isolated"),
    [("\n", []), ("", []), ("\0\n", []), ("  (null)\n", []), ("1,3\n", [1, 3]), ("2-3\n\0", [2, 3])],
)
def test_the_kernels_own_lists_count(reading: Read, content: str, isolated: list[int]) -> None:
    files = {**two_nodes(), f"{CPU}/isolated": content, f"{CPU}/nohz_full": content}
    result = reading(files, **{"proc/cmdline": "isolcpus=0 nohz_full=0\n"})
    assert result["cpus_isolated"] == result["cpus_nohz_full"] == isolated


@pytest.mark.parametrize("damaged", [None, "oops\n"])
def test_without_the_lists_the_command_line_counts(reading: Read, damaged: str | None) -> None:
    files = without(two_nodes(), "cpu/isolated") | {"proc/cmdline": "isolcpus=managed_irq,domain,1 nohz_full=1\n"}
    result = reading(files if damaged is None else {**files, f"{CPU}/isolated": damaged})
    assert (result["cpus_isolated"], result["cpus_nohz_full"]) == ([1], [2, 3])


def test_the_cpu_folders_stand_in_for_the_possible_cpus(reading: Read) -> None:
    files = without(two_nodes(), "isolated", "nohz_full", "cpu/possible") | {"proc/cmdline": "isolcpus=2-N"}
    assert reading(files)["cpus_isolated"] == [2, 3]


def test_isolation_is_unknown_without_lists_and_command_line(reading: Read) -> None:
    result = reading(without(two_nodes(), "isolated", "nohz_full", "cmdline"))
    assert result["cpus_isolated"] is result["cpus_nohz_full"] is None


# --- cores ------------------------------------------------------------------------------------------------------


def test_siblings_from_the_mask(reading: Read) -> None:
    files = without(two_nodes(), "cpu0/topology/thread_siblings_list")
    assert reading(files, **{f"{CPU}/cpu0/topology/thread_siblings": "5\n"})["cpus"][0]["siblings"] == [0, 2]


def test_what_the_kernel_does_not_know_is_null(reading: Read) -> None:
    result = reading({**without(two_nodes(), "core_id"), f"{CPU}/cpu0/topology/physical_package_id": "-1\n"})
    assert (result["cpus"][0]["package"], result["cpus"][0]["core"]) == (None, None)


def speeds(name: str, *values: int) -> Files:
    return {
        **cpu_folders(range(len(values))),
        **{f"{CPU}/cpufreq/policy{number}/{name}": f"{value}\n" for number, value in enumerate(values)},
        **{f"{CPU}/cpu{number}/cpufreq": Link(f"../cpufreq/policy{number}") for number in range(len(values))},
    }


def test_fast_and_slow_cores(reading: Read) -> None:
    assert reading(speeds("base_frequency", 1400000, 1900000, 1900000, 1400000))["cpu_kinds"] == [
        {"measure": "base_frequency", "speed": 1900000, "cpus": [1, 2]},
        {"measure": "base_frequency", "speed": 1400000, "cpus": [0, 3]},
    ]


def test_favoured_cores_are_no_kind_of_their_own(reading: Read) -> None:
    kinds = reading(speeds("cpuinfo_max_freq", 5000000, 5100000, 3500000, 4900000))["cpu_kinds"]
    assert [(kind["speed"], kind["cpus"]) for kind in kinds] == [(5100000, [0, 1, 3]), (3500000, [2])]


def test_a_speed_that_some_cpu_does_not_tell_is_not_used(reading: Read) -> None:
    kinds = reading(speeds("base_frequency", 2000000, 1000000), **{f"{CPU}/cpu0/cpu_capacity": "1024\n"})["cpu_kinds"]
    assert {kind["measure"] for kind in kinds} == {"base_frequency"}


@pytest.mark.parametrize("speed", ["0\n", "<unknown>\n", ""])
def test_a_speed_that_is_none(reading: Read, speed: str) -> None:
    files = speeds("base_frequency", 2000000, 1000000) | {f"{CPU}/cpufreq/policy1/base_frequency": speed}
    assert reading(files)["cpu_kinds"] == []


@pytest.mark.parametrize(("content", "active"), [("1\n", True), ("0\n", False), ("\n", None), ("yes\n", None)])
def test_smt(reading: Read, content: str, active: bool | None) -> None:
    assert reading(two_nodes(), **{f"{CPU}/smt/active": content})["smt"]["active"] is active


# --- devices and interfaces -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("0x010802", "nvme"),
        ("0x020000", "net"),
        ("0x020700", "net"),
        ("0x028000", "net"),
        ("0x0c0600", "infiniband"),
        ("0x030200", "display"),
        ("0x120000", "accelerator"),
        ("0x010803", None),  # an NVMe administrative controller has no disk
        ("0x010601", None),
        ("0x0c0330", None),
        ("", None),
    ],
)
def test_kinds_of_devices(reading: Read, code: str, kind: str | None) -> None:
    assert [device["kind"] for device in reading(pci_device("pci0000:00/0000:00:01.0", code))["devices"]] == (
        [kind] if kind else []
    )


def test_a_device_with_a_mask_and_without_a_node(reading: Read) -> None:
    device = reading(pci_device("pci0004:05/0004:05:00.0", "0x030000", local_cpus="0000,0000ffff"))["devices"][0]
    assert (device["numa_node"], device["local_cpus"]) == (None, list(range(16)))


def test_a_device_whose_node_the_kernel_does_not_know(reading: Read) -> None:
    device = pci_device("pci0000:00/0000:00:02.0", "0x010802", numa_node="-1", local_cpulist="0-3")
    result = reading({**device, **interface("nvme", "nvme0", "pci0000:00/0000:00:02.0")})
    assert result["devices"][0]["numa_node"] == result["interfaces"][0]["numa_node"] == -1
    assert result["devices"][0]["local_cpus"] == [0, 1, 2, 3]


def test_a_device_that_tells_nothing(reading: Read) -> None:
    device = reading(pci_device("pci0000:00/0000:00:02.0", "0x020000"))["devices"][0]
    assert device["numa_node"] is device["local_cpus"] is None


NIC = pci_device("pci0000:00/0000:00:03.0", "0x020000", numa_node="1")


@pytest.mark.parametrize(
    ("files", "pci", "device_link"),
    [
        pytest.param(interface("net", "x", "pci0000:00/0000:00:03.0"), "0000:00:03.0", True, id="plain"),
        pytest.param(interface("net", "x", "pci0000:00/0000:00:03.0/virtio0"), "0000:00:03.0", True, id="virtio"),
        pytest.param(interface("net", "x", "pci0000:00/0000:00:03.0/usb1/1-4/1-4:1.0"), "0000:00:03.0", True, id="usb"),
        pytest.param(
            interface("nvme", "x", "pci0000:00/0000:00:03.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0"),
            "10000:e1:00.0",
            True,
            id="behind a volume management device",
        ),
        pytest.param(
            {"sys/devices/pci0000:00/0000:00:03.0/net/x": FOLDER}
            | {"sys/class/net/x": Link("../../devices/pci0000:00/0000:00:03.0/net/x")},
            "0000:00:03.0",
            False,
            id="an empty folder stands in for the target",
        ),
        pytest.param(
            {"sys/class/net/x": Link("../../devices/pci0000:00/0000:00:03.0/net/x")},
            "0000:00:03.0",
            False,
            id="target not recorded",
        ),
        pytest.param(
            {"sys/class/net/x": Link("/sys/devices/pci0000:00/0000:00:03.0/net/x")},
            "0000:00:03.0",
            False,
            id="absolute link",
        ),
        pytest.param(
            {"sys/class/net/x/device": Link("../../../devices/pci0000:00/0000:00:03.0")},
            "0000:00:03.0",
            True,
            id="a folder, as old kernels have it",
        ),
        pytest.param({"sys/class/net/x": Link("../../devices/virtual/net/x")}, None, False, id="virtual"),
        pytest.param(
            {"sys/class/nvme/x": Link("../../devices/virtual/nvme-fabrics/ctl/x")}, None, False, id="over fabrics"
        ),
        pytest.param({"sys/class/net/x": FOLDER}, None, False, id="an empty folder"),
        pytest.param({"sys/class/net/x": Link("x")}, None, False, id="a link to itself"),
    ],
)
def test_interfaces(reading: Read, files: Files, pci: str | None, device_link: bool) -> None:
    found = reading({**NIC, **files})["interfaces"]
    assert [(entry["name"], entry["pci"], entry["device_link"]) for entry in found] == [("x", pci, device_link)]
    assert found[0]["numa_node"] == (1 if pci == "0000:00:03.0" else None)


def test_an_interface_of_a_device_that_is_not_on_the_recorded_bus(reading: Read) -> None:
    files = without({**NIC, **interface("net", "x", "pci0000:00/0000:00:03.0")}, f"{PCI}/0000:00:03.0")
    assert reading(files)["interfaces"][0]["numa_node"] == 1


# --- damage -----------------------------------------------------------------------------------------------------

DAMAGE: dict[str, Content] = {
    "empty": "",
    "NUL": b"\0",
    "NULs": b"\0" * 5000,
    "binary": bytes(range(256)),
    "words": "no such device\n",
    "huge list": "0-4294967295\n",
    "long": "9" * 100_000,
    "negative": "-1\n",
    "folder": FOLDER,
    "dangling link": Link("nowhere"),
    "link to itself": Link("../../../../../../../.."),
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_no_damaged_file_stops_the_reading(tmp_path: Path, content: Content) -> None:
    whole = two_nodes()
    root = build(tmp_path / "root", whole)
    keys = set(read(root))
    for path in [path for path, before in whole.items() if isinstance(before, str)]:
        intact, damaged = tmp_path / "intact", tmp_path / "root" / path
        damaged.rename(intact)
        build(tmp_path / "root", {path: content})
        result = read(root)
        assert set(result) == keys, path
        json.dumps(result)
        if content is FOLDER:
            damaged.rmdir()
        intact.replace(damaged)


@pytest.mark.parametrize("path", ["sys", "proc", "sys/devices/system", CPU, NODE, PCI, "sys/class", "sys/class/net"])
def test_a_file_where_a_folder_should_be(reading: Read, path: str) -> None:
    files = {name: content for name, content in two_nodes().items() if not name.startswith(f"{path}/")}
    json.dumps(reading(files, **{path: "0\n"}))


# --- speed ------------------------------------------------------------------------------------------------------


def test_a_large_machine_is_read_in_a_moment(tmp_path: Path) -> None:
    files: Files = {f"{CPU}/online": "0-143\n"}
    for number in range(144):
        files.update(cpu(number, core=number % 72, siblings=f"{number % 72},{number % 72 + 72}"))
    for number in range(4):
        files.update(node(number, f"{36 * number}-{36 * number + 35}", 1000, "10 21 21 21"))
    for number in range(300):
        path = f"pci0000:00/0000:00:01.0/0000:{number // 8:02x}:{number % 8:02x}.0"
        files.update(pci_device(path, "0x020000", numa_node="0", local_cpulist="0-35"))
        files.update(interface("net", f"eth{number}", path))
    root = build(tmp_path, files)

    def seconds() -> float:
        start = time.process_time()
        read(root)
        return time.process_time() - start

    assert min(seconds() for _attempt in range(3)) < 0.2


# --- recorded machines ------------------------------------------------------------------------------------------

RECORDED = Path(__file__).resolve().parents[2].parent / "shared/topologies"
NOT_PART_OF_THE_READING = {"name", "source", "notes"}


def recorded_machines() -> list[t.Any]:
    machines: list[t.Any] = [path.name.removesuffix(".json") for path in sorted(RECORDED.glob("*.json"))]
    skip = pytest.mark.skip(reason=f"no recorded machines in {RECORDED}")
    return machines or [pytest.param("none", marks=skip)]


@pytest.mark.parametrize("machine", recorded_machines())
def test_recorded_machines(machine: str, tmp_path: Path) -> None:
    with tarfile.open(RECORDED / f"{machine}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    expected = json.loads((RECORDED / f"{machine}.json").read_text(encoding="utf-8"))
    result = read(str(tmp_path))
    for key in expected.keys() - NOT_PART_OF_THE_READING:
        assert result[key] == expected[key], key
