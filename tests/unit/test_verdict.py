# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason for which a device is refused, each alone: a reason that gets lost is a disk that gets lost."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import (
    OURS,
    REFUSED,
    USABLE,
    Verdict,
    is_ours,
    judge,
    judge_all,
)
from support import Device, active, device, formatted, holding, host, partition, signature, swap_signature, uuid_of


def verdict(name: str, *devices: Device, recorded: t.Collection[str] = ()) -> Verdict:
    return judge(name, host(*devices)["devices"], "hostprep", recorded)


def reasons(name: str, *devices: Device) -> list[str]:
    found = verdict(name, *devices)
    assert found.verdict == REFUSED
    return [reason.text for reason in found.reasons]


def test_a_blank_disk_is_usable_and_nothing_speaks_against_it() -> None:
    assert verdict("nvme0n1", device()) == Verdict(USABLE)
    assert str(Verdict(USABLE)) == "usable"
    assert not Verdict(USABLE).wipeable


# --- the hardware -------------------------------------------------------------------------------------------------

HARDWARE: list[tuple[dict[str, t.Any], str]] = [
    ({"type": "rom", "held": None}, "is of type rom, not a whole disk or a partition"),
    ({"type": "lvm", "held": None}, "is of type lvm, not a whole disk or a partition"),
    (
        {"virtual": True, "held": None},
        "is a virtual device with no hardware of its own (zvol, network, RAM or stacked)",
    ),
    ({"transport": "usb"}, "is reached over usb: swap needs a local disk"),
    ({"transport": "iscsi"}, "is reached over iscsi: swap needs a local disk"),
    ({"transport": "fc"}, "is reached over fc: swap needs a local disk"),
    ({"transport": "fcoe"}, "is reached over fcoe: swap needs a local disk"),
    ({"transport": "rbd"}, "is reached over rbd: swap needs a local disk"),
    ({"transport": "nvme-tcp"}, "is reached over nvme-tcp: swap needs a local disk"),
    ({"transport": "nvme-rdma"}, "is reached over nvme-rdma: swap needs a local disk"),
    ({"removable": True}, "is removable"),
    ({"read_only": True}, "is read-only"),
    ({"zoned": True}, "is a zoned device"),
    ({"state": "dead"}, "its controller is in state dead"),
    ({"state": "offline"}, "its controller is in state offline"),
    ({"size": 40959}, "has a capacity of 40.0 KiB"),
    ({"size": 0, "held": None}, "has a capacity of 0 B"),
    ({"content": "unreadable"}, "cannot be read"),
    ({"held": None}, "nvme0n1 cannot be opened"),
    ({"held": True}, "nvme0n1 is opened exclusively by another program"),
    ({"holders": ["dm-0", "md1"]}, "nvme0n1 is held by dm-0, md1"),
    ({"mounts": ["/srv"]}, "nvme0n1 is mounted at /srv"),
]


@pytest.mark.parametrize(("facts", "reason"), HARDWARE, ids=[reason for dummy, reason in HARDWARE])
def test_what_no_consent_overrides(facts: dict[str, t.Any], reason: str) -> None:
    found = verdict("nvme0n1", device(**facts))
    assert [entry.text for entry in found.reasons] == [reason]
    assert found.verdict == REFUSED
    assert not found.wipeable


@pytest.mark.parametrize("facts", [{"transport": None}, {"transport": "sata"}, {"state": None}, {"state": "running"}])
def test_what_is_no_reason(facts: dict[str, t.Any]) -> None:
    assert verdict("nvme0n1", device(**facts)).verdict == USABLE


def test_the_smallest_swap_that_mkswap_makes() -> None:
    assert verdict("nvme0n1", device(size=40960)).verdict == USABLE


def test_all_reasons_are_listed_not_only_the_first() -> None:
    disk = holding(device(read_only=True, mounts=["/srv", "/opt"], held=True), signature("xfs"))
    assert reasons("nvme0n1", disk) == [
        "is read-only",
        "nvme0n1 is mounted at /srv",
        "nvme0n1 is mounted at /opt",
        "carries xfs",
    ]


def test_one_reason_that_consent_does_not_cover_is_enough() -> None:
    assert verdict("nvme0n1", holding(device(), signature("xfs"))).wipeable
    assert not verdict("nvme0n1", holding(device(holders=["dm-0"]), signature("xfs"))).wipeable


# --- content at rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *("ext4", "xfs", "btrfs", "vfat", "iso9660", "squashfs", "crypto_LUKS", "LVM2_member", "linux_raid_member"),
        *("zfs_member", "bcache", "ceph_bluestore", "mpath_member", "gpt", "dos", "PMBR", "future_fs"),
    ],
)
def test_any_signature_refuses_and_may_be_wiped(kind: str) -> None:
    found = verdict("nvme0n1", holding(device(), signature(kind)))
    assert [reason.text for reason in found.reasons] == [f"carries {kind}"]
    assert found.wipeable


def test_labels_help_to_recognise_what_is_there() -> None:
    assert reasons("nvme0n1", holding(device(), signature("ext4", label="backup"))) == [
        "carries ext4 labelled 'backup'"
    ]


def test_the_same_signature_at_both_ends_is_one_reason() -> None:
    assert reasons("nvme0n1", holding(device(), signature("gpt", 512), signature("gpt", 1 << 30))) == ["carries gpt"]


def test_data_without_a_signature() -> None:
    found = verdict("nvme0n1", device(content="data"))
    assert str(found) == "holds data that no known signature explains"
    assert found.wipeable


def test_a_partition_table_that_only_the_kernel_or_udev_knows() -> None:
    found = verdict("nvme0n1", device(partition_table="gpt"))
    assert str(found) == "carries a partition table (gpt)"
    assert found.wipeable


def test_a_partition_table_is_one_reason_however_it_is_known() -> None:
    assert reasons("nvme0n1", holding(device(partition_table="gpt"), signature("gpt"))) == ["carries gpt"]


def test_partitions_even_if_they_are_blank() -> None:
    disk = device()
    parts = [partition(disk, 1), partition(disk, 2)]
    found = verdict("nvme0n1", disk, *parts)
    assert "has partitions: nvme0n1p1, nvme0n1p2" in [reason.text for reason in found.reasons]
    assert found.wipeable
    assert verdict("nvme0n1p1", disk, *parts).verdict == USABLE


def test_a_hibernation_image_is_never_wiped() -> None:
    found = verdict("nvme0n1", holding(device(), signature("swsuspend")))
    assert str(found) == "nvme0n1 holds a hibernation image (swsuspend): resume or discard it first"
    assert not found.wipeable


def test_nor_is_one_in_a_partition() -> None:
    disk = device()
    found = verdict("nvme0n1", disk, holding(partition(disk, 1), signature("swsuspend")))
    assert "nvme0n1p1 holds a hibernation image (swsuspend): resume or discard it first" in str(found)
    assert not found.wipeable


# --- in use by relatives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"mounts": ["/srv"], "held": True}, "nvme0n1p2 is mounted at /srv"),
        ({"holders": ["dm-0"], "held": True}, "nvme0n1p2 is held by dm-0"),
        ({"held": None}, "nvme0n1p2 cannot be opened"),
    ],
)
def test_a_disk_whose_partition_is_in_use(facts: dict[str, t.Any], reason: str) -> None:
    disk = device()
    found = verdict("nvme0n1", disk, partition(disk, 1), partition(disk, 2, **facts))
    assert reason in str(found)
    assert not found.wipeable


def test_a_disk_whose_partition_is_active_swap() -> None:
    disk = device()
    part = active(formatted(partition(disk, 1)))
    found = verdict("nvme0n1", disk, part)
    assert "nvme0n1p1 is active swap of another owner" in str(found)
    assert not found.wipeable


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"mounts": ["/srv"]}, "nvme0n1, on which it lies, is mounted at /srv"),
        ({"holders": ["dm-0"]}, "nvme0n1, on which it lies, is held by dm-0"),
    ],
)
def test_a_partition_whose_disk_is_in_use(facts: dict[str, t.Any], reason: str) -> None:
    disk = device(**facts)
    assert reasons("nvme0n1p1", disk, partition(disk, 1)) == [reason]


def test_a_partition_whose_disk_is_active_swap() -> None:
    disk = device()
    part = partition(disk, 1)
    assert reasons("nvme0n1p1", active(disk), part) == ["nvme0n1, on which it lies, is active swap"]


@pytest.mark.parametrize("mount", ["/", "/boot", "/boot/efi", "/efi", "/usr", "/sysroot"])
def test_the_system_disk_and_every_partition_of_it(mount: str) -> None:
    disk = device(held=True)
    parts = [partition(disk, 1, mounts=[mount], held=True), partition(disk, 2)]
    for name in ("nvme0n1", "nvme0n1p2"):
        found = verdict(name, disk, *parts)
        assert "nvme0n1 holds this system" in str(found)
        assert not found.wipeable


def test_the_disks_below_a_root_on_lvm_on_md() -> None:
    first, second = device("nvme0n1", "A"), holding(device("nvme1n1", "B"), signature("linux_raid_member"))
    part, rest = partition(first, 1), partition(first, 2)
    raid = device("md0", None, type="raid1", virtual=True, slaves=["nvme0n1p1", "nvme1n1"])
    root = device("dm-0", None, type="lvm", virtual=True, slaves=["md0"], mounts=["/"])
    devices = (first, part, rest, second, raid, root)
    for name in ("nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme1n1", "md0", "dm-0"):
        found = verdict(name, *devices)
        assert "holds this system" in str(found), name
        assert not found.wipeable


# --- swap ---------------------------------------------------------------------------------------------------------


def test_swap_with_our_label_is_ours_active_or_not() -> None:
    assert verdict("nvme0n1", formatted(device())) == Verdict(OURS)
    assert verdict("nvme0n1", active(formatted(device()))) == Verdict(OURS)


def test_swap_with_a_uuid_that_a_unit_of_ours_names_is_ours() -> None:
    disk = formatted(device(), label="older")
    assert verdict("nvme0n1", disk, recorded=[uuid_of(disk)]).verdict == OURS
    assert verdict("nvme0n1", disk, recorded=["else"]).verdict == REFUSED


def test_our_label_on_anything_but_swap_is_not_ours() -> None:
    disk = holding(device(), signature("ext4", uuid="1", label="hostprep"))
    assert verdict("nvme0n1", disk, recorded=["1"]).verdict == REFUSED
    assert verdict("nvme0n1", active(disk), recorded=["1"]).verdict == REFUSED


def test_swap_of_others_at_rest_may_be_wiped_but_not_when_it_is_active() -> None:
    rest, running = formatted(device(), label="other"), active(formatted(device("nvme1n1", "B"), label=None, uuid="1"))
    assert str(verdict("nvme0n1", rest)) == "carries swap labelled 'other'"
    assert verdict("nvme0n1", rest).wipeable
    assert reasons("nvme1n1", running) == ["nvme1n1 is active swap of another owner", "carries swap"]
    assert not verdict("nvme1n1", running).wipeable


@pytest.mark.parametrize("kind", ["gpt", "linux_raid_member", "ext4"])
def test_our_label_beside_something_else_is_not_ours(kind: str) -> None:
    """mdadm leaves the header of a swap area where it is: what is in the array must not be paged over."""
    disk = holding(device(), swap_signature("1"), signature(kind, 4096))
    assert verdict("nvme0n1", disk, recorded=["1"]).verdict == REFUSED


def test_but_what_lies_in_an_active_area_is_memory_that_looks_like_something() -> None:
    disk = active(holding(device(), swap_signature("1"), signature("iso9660", 0x8001), signature("swap", 0xFFF6)))
    assert verdict("nvme0n1", disk) == Verdict(OURS)
    disk["signatures"][0]["label"] = "other"
    assert verdict("nvme0n1", disk).verdict == REFUSED


@pytest.mark.parametrize("facts", [{"read_only": True}, {"holders": ["dm-0"]}, {"held": True}, {"mounts": ["/srv"]}])
def test_even_ours_is_refused_when_it_cannot_be_used(facts: dict[str, t.Any]) -> None:
    disk = formatted(device(**facts))
    assert is_ours(disk, "hostprep", [])
    assert verdict("nvme0n1", disk).verdict == REFUSED


# --- all at once --------------------------------------------------------------------------------------------------


def test_what_block_device_info_returns() -> None:
    disk, full = device(), holding(device("nvme1n1", "B"), signature("ext4"))
    judged = judge_all(host(full, disk)["devices"], "hostprep", [])
    assert [entry["name"] for entry in judged] == ["nvme0n1", "nvme1n1"]
    assert [entry["verdict"] for entry in judged] == [USABLE, REFUSED]
    assert [entry["wipeable"] for entry in judged] == [False, True]
    assert judged[1]["reasons"] == ["carries ext4"]
    assert judged[0]["stable_name"] == "/dev/disk/by-id/nvme-nvme.1b36-SWAP0001"
    assert set(judged[0]) == {*disk, "stable_name", "verdict", "reasons", "wipeable"}
