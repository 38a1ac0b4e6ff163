# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import selection
from support import GIB, Device, device, holding, host, partition, signature, wanted

Devices = dict[str, Device]


def select(**criteria: t.Any) -> dict[str, t.Any]:
    found: dict[str, t.Any] = wanted(criteria)["select"]
    return found


@pytest.fixture
def devices() -> Devices:
    """One disk of each naming style, with partitions."""
    found: list[Device] = []
    for name, serial, transport in (
        ("nvme0n1", "A", "nvme"),
        ("nvme0n2", "A", "nvme"),  # a second namespace: same serial
        ("sda", "S", "sata"),
        ("mmcblk0", "M", None),
        ("vda", "V", "virtio"),
    ):
        disk = device(name, serial, transport=transport, wwid=f"wwid-{name}", links={"by_id": [f"id-{name}"]})
        found += [disk, partition(disk, 1), partition(disk, 11)]
    found.append(device("zram0", None, virtual=True))
    devices: Devices = host(*found)["devices"]
    return devices


# --- disk or partition --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("disk", "part"),
    [
        ("nvme0n1", "nvme0n1p1"),
        ("nvme0n2", "nvme0n2p1"),
        ("sda", "sda1"),
        ("mmcblk0", "mmcblk0p1"),
        ("vda", "vda1"),
    ],
)
def test_a_link_means_the_disk_and_its_part_link_the_partition(devices: Devices, disk: str, part: str) -> None:
    for prefix in ("", "/dev/disk/by-id/"):
        assert selection.matching(select(by_id=[f"{prefix}id-{disk}"]), devices) == [disk]
        assert selection.matching(select(by_id=[f"{prefix}id-{disk}-part1"]), devices) == [part]
        assert selection.matching(select(by_id=[f"{prefix}id-{disk}-part11"]), devices) == [f"{part}1"]
    assert selection.matching(select(by_path=[f"/dev/disk/by-path/pci-{disk}-nvme-1-part1"]), devices) == [part]
    assert selection.matching(select(partlabel=[f"label-{part}"]), devices) == [part]
    assert selection.matching(select(partlabel=[f"/dev/disk/by-partlabel/label-{part}"]), devices) == [part]
    assert selection.matching(select(wwid=[f"wwid-{disk}"]), devices) == [disk]


def test_a_serial_means_whole_disks_and_all_namespaces(devices: Devices) -> None:
    assert selection.matching(select(serial=["A"]), devices) == ["nvme0n1", "nvme0n2"]
    assert selection.matching(select(serial=["S"]), devices) == ["sda"]


@pytest.mark.parametrize(
    "criteria",
    [{"model": "*"}, {"min_size": "1"}, {"max_size": "8T"}, {"numa_node": 0}, {"transport": "nvme"}],
)
def test_patterns_never_mean_partitions(devices: Devices, criteria: dict[str, t.Any]) -> None:
    found = selection.matching(select(**criteria), devices)
    assert found
    assert all(devices[name]["type"] == "disk" for name in found)


def test_all_criteria_have_to_hold(devices: Devices) -> None:
    devices["nvme0n2"]["numa_node"] = 1
    assert selection.matching(select(serial=["A"], numa_node=1), devices) == ["nvme0n2"]
    assert selection.matching(select(serial=["A"], transport="sata"), devices) == []
    assert selection.matching(select(serial=["A", "S"], by_id=["id-sda"]), devices) == ["sda"]
    assert selection.matching(select(partlabel=["label-sda1"], transport="nvme"), devices) == []


def test_no_criteria_mean_no_device(devices: Devices) -> None:
    assert selection.matching(select(), devices) == []
    assert selection.matching(select(serial=[], model=""), devices) == []


def test_other_types_of_devices_are_never_meant() -> None:
    volume = device("dm-0", "A", type="lvm")
    assert selection.matching(select(serial=["A"]), host(volume)["devices"]) == []


# --- sizes, models, nodes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criteria", "matches"),
    [
        ({"min_size": "1G"}, True),
        ({"min_size": "1GiB"}, True),
        ({"min_size": "1025M"}, False),
        ({"max_size": "1024M"}, True),
        ({"max_size": "1023M"}, False),
        ({"min_size": "1G", "max_size": "1G"}, True),
        ({"model": "QEMU*"}, True),
        ({"model": "qemu*"}, False),
        ({"model": "QEMU"}, False),
        ({"numa_node": 0}, True),
        ({"numa_node": 1}, False),
        ({"numa_node": -1}, False),
        ({"transport": "nvme"}, True),
        ({"transport": "virtio"}, False),
    ],
)
def test_patterns(criteria: dict[str, t.Any], matches: bool) -> None:
    devices = host(device(size=GIB))["devices"]
    assert selection.matching(select(**criteria), devices) == (["nvme0n1"] if matches else [])


def test_an_unknown_node_is_no_node() -> None:
    """-1 in sysfs is None here: neither node 0 nor node -1 may take it for their own."""
    devices = host(device(numa_node=None))["devices"]
    assert selection.matching(select(numa_node=0), devices) == []
    assert selection.matching(select(numa_node=-1), devices) == []


def test_node_zero_counts_as_a_criterion_and_nothing_does_not() -> None:
    assert selection.given(select(numa_node=0)) == {"numa_node": 0}
    assert selection.given(select(serial=[], model="", min_size=None)) == {}


def test_a_model_that_is_not_known_matches_only_everything() -> None:
    devices = host(device(model=None))["devices"]
    assert selection.matching(select(model="QEMU*"), devices) == []
    assert selection.matching(select(model="*"), devices) == ["nvme0n1"]


def test_sizes_that_are_none_are_all_reported() -> None:
    problems = selection.value_problems(select(min_size="8 gigs", max_size="-1"))
    assert [problem.found for problem in problems] == ["select.min_size: '8 gigs'", "select.max_size: '-1'"]


# --- names that are wrong -----------------------------------------------------------------------------------------

KERNEL_NAMES = [
    *("nvme0n1", "/dev/nvme0n1", "/dev/disk/nvme0n1", "nvme0n1p1", "/dev/nvme10n12p3", "nvme0c1n1", "sda", "/dev/sda1"),
    *("/dev/sdaa", "vda", "/dev/vda2", "hda", "xvdb1", "dm-0", "/dev/dm-0", "md127", "md0p1", "loop0", "zram0"),
    *("mmcblk0", "/dev/mmcblk0p1"),
]


@pytest.mark.parametrize("key", ["by_id", "by_path", "serial", "wwid", "partlabel"])
@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_kernel_names_are_refused(devices: Devices, key: str, name: str) -> None:
    (problem,) = selection.name_problems(select(**{key: [name]}), devices)
    assert problem.found.startswith(f"{key} {name!r}, a kernel name, which can belong to another device after")
    assert problem.wanted == "a stable name"


@pytest.mark.parametrize(
    "name", ["SWAP0001", "nvme-eui.0025385b71b0a1c3", "sda-backup", "pci-0000:00:04.0-nvme-1", "md"]
)
def test_names_that_only_look_like_them(devices: Devices, name: str) -> None:
    assert "a kernel name" not in str(selection.name_problems(select(serial=[name]), devices)[0])


def test_a_kernel_name_is_answered_with_the_stable_ones(devices: Devices) -> None:
    (problem,) = selection.name_problems(select(by_id=["/dev/sda"]), devices)
    assert problem.remedy == "use one of its stable names: by_id: id-sda, serial: S, by_path: pci-sda-nvme-1"


def test_a_kernel_name_of_a_device_without_stable_names() -> None:
    bare = device("vdb", None, links={"by_id": [], "by_path": []})
    (problem,) = selection.name_problems(select(by_id=["/dev/vdb"]), host(bare)["devices"])
    assert "udev knows none" in problem.remedy


def test_a_kernel_name_that_is_not_there_either(devices: Devices) -> None:
    (problem,) = selection.name_problems(select(by_id=["/dev/nvme7n1"]), devices)
    assert (
        "name it by serial, wwid or by_id; this host has /dev/disk/by-id/id-nvme0n1 (nvme0n1, serial A"
        in problem.remedy
    )
    assert "zram0" not in problem.remedy


@pytest.mark.parametrize("key", ["by_id", "by_path", "serial", "wwid", "partlabel"])
def test_a_name_that_no_device_has(devices: Devices, key: str) -> None:
    (problem,) = selection.name_problems(select(**{key: ["GONE"]}), devices)
    assert problem.found.startswith(f"no device with {key} 'GONE'; this host has /dev/disk/by-id/id-nvme0n1 (nvme0n1")
    assert problem.wanted == f"one device with {key} 'GONE'"
    assert selection.name_problems(select(**{key: ["GONE"]}), devices, must_exist=False) == []


def test_every_wrong_name_is_reported(devices: Devices) -> None:
    problems = selection.name_problems(select(serial=["A", "X", "Y"], by_id=["/dev/sda"]), devices)
    assert len(problems) == 3


def test_a_host_without_disks() -> None:
    (problem,) = selection.name_problems(select(serial=["A"]), {})
    assert "this host has no disks" in problem.found


# --- how many -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criteria", "count", "expected"),
    [
        ({"transport": "nvme"}, None, 1),
        ({"transport": "nvme"}, 3, 3),
        ({"serial": ["A", "B"]}, None, 2),
        ({"serial": ["A", "B"]}, 4, 4),
        ({"serial": ["A"], "by_id": ["x", "y", "z"]}, None, 3),
    ],
)
def test_as_many_as_are_named_or_said(criteria: dict[str, t.Any], count: int | None, expected: int) -> None:
    assert selection.wanted_count(select(**criteria), count) == expected


def test_a_device_in_words_begins_with_what_to_write_into_the_variables() -> None:
    assert selection.describe(device()) == "/dev/disk/by-id/nvme-nvme.1b36-SWAP0001 (nvme0n1, serial SWAP0001, 1 GiB)"
    full = holding(device("vda", None, links={"by_id": [], "by_path": []}), signature("ext4"))
    assert selection.describe(full) == "/dev/vda (vda, 1 GiB)"
