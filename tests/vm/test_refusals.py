"""What bad input gets: one error before anything is changed, with what was found, what was wanted, and the remedy."""

from __future__ import annotations

import driver

ID = "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_"

SWAP = [
    ({"select": {"serial": ["SWAP0009"]}}, ["no device with serial 'SWAP0009'", "SWAP0001"]),
    ({"select": {"transport": "nvme"}}, ["2 devices match", "SWAP0001", "SWAP0002", "exactly 1"]),
    ({"select": {"transport": "nvme", "min_size": "2G"}}, ["no matching device", "does not match"]),
    ({"select": {"by_id": ["/dev/nvme0n1"]}}, ["a kernel name", "by_id: nvme-"]),
    ({"select": {"by_id": ["/dev/disk/nvme1n1"]}}, ["a kernel name", "serial: "]),
    ({"select": {"serial": ["ROOT0001"]}}, ["holds this system", "is mounted at /"]),
    ({"select": {"by_id": [f"{ID}DATA0002_1-part1"]}}, ["-part1 (", "carries ext4"]),
    ({"select": {"by_id": [f"{ID}DATA0002_1"]}}, ["has partitions", "carries gpt"]),
    ({"select": {"serial": ["SWAP0001"]}, "priority": 32768}, ["priority 32768", "0 to 32767"]),
    ({"select": {"serial": ["SWAP0001"]}, "priority": -1}, ["priority -1"]),
    ({"select": {"transport": "nvme", "min_size": "8 gigs"}}, ["'8 gigs'", '"8G"']),
    ({"select": {"transport": "nvme", "max_size": "8GB"}}, ["'8GB'", "powers of 1024"]),
    ({"select": {"serial": ["SWAP0001"]}, "label": "a-label-that-is-too-long"}, ["of 24 bytes", "1 to 15 bytes"]),
    ({"select": {"model": "QEMU*"}, "wipe": True}, ["a selector that names no device"]),
    ({"select": {}}, ["an empty select"]),
]
SLICE = [
    ({"name": "no-such.slice"}, ["no slice 'no-such.slice'", "system.slice"]),
    ({"name": "system.slice", "properties": {"MemorySwapMaximum": 0}}, ["MemorySwapMaximum", "MemorySwapMax"]),
    ({"name": "system.slice", "properties": {"MemoryLow": "lots"}}, ["'lots'"]),
    ({"name": "system.slice", "properties": {"CPUWeight": 0}}, ["from 1 to 10000"]),
    ({"name": "system.slice", "latency_targets": [{"path": "/proc", "target": "5ms"}]}, ["no physical disk behind"]),
    ({"name": "system.slice", "latency_targets": [{"path": "/", "target": "5"}]}, ["with its unit"]),
]


def refused(lab, module, cases):
    disks = lab.hash()
    results = driver.tasks(lab, *({f"virt.hostprep.{module}": arguments} for arguments, words in cases))
    for (arguments, words), result in zip(cases, results, strict=True):
        assert result.get("failed"), arguments
        assert [word for word in words if word not in result["msg"]] == [], result["msg"]
        assert result["actions"] == [] and not result["changed"]
        assert all(set(problem) == {"found", "wanted", "remedy"} for problem in result["problems"])
    assert lab.hash() == disks


def test_swap_device(lab):
    refused(lab, "swap_device", SWAP)


def test_slice_limits(lab):
    refused(lab, "slice_limits", SLICE)


def test_sizes_that_are_the_same(lab):
    for size in ("1G", "1GiB", "1024M"):
        select = {"transport": "nvme", "min_size": size, "max_size": size}
        (result,) = driver.tasks(lab, {"virt.hostprep.swap_device": {"select": select, "count": 2}, "check_mode": True})
        assert result["changed"], size


def test_not_root(lab):
    (result,) = driver.tasks(
        lab,
        {
            "virt.hostprep.swap_device": {"select": {"serial": ["SWAP0001"]}},
            "become": True,
            "become_user": "nobody",
        },
    )
    assert result.get("failed") and "user id" in result["msg"] and "become: true" in result["msg"]


def test_a_missing_program(lab):
    lab.run(["mv", "/usr/sbin/wipefs", "/usr/sbin/wipefs.away"])
    try:
        (result,) = driver.tasks(lab, {"virt.hostprep.swap_device": {"select": {"serial": ["SWAP0001"]}}})
    finally:
        lab.run(["mv", "/usr/sbin/wipefs.away", "/usr/sbin/wipefs"])
    assert result.get("failed") and "no program 'wipefs'" in result["msg"] and "util-linux" in result["msg"]


def test_swap_that_is_declared_elsewhere_is_reported_and_not_duplicated(lab):
    make = {"virt.hostprep.swap_device": {"select": {"serial": ["SWAP0001"]}}}
    (made,) = driver.tasks(lab, make)
    uuid = made["swap"]["areas"][0]["uuid"]
    lab.run(["sh", "-c", f"echo 'UUID={uuid} none swap pri=5 0 0' >> /etc/fstab"])
    try:
        (twice,) = driver.tasks(lab, make)
        assert twice.get("failed") and "/etc/fstab:" in twice["msg"] and "priority 5" in twice["msg"]
    finally:
        lab.run(["sed", "-i", "/ swap /d", "/etc/fstab"])


def test_a_device_that_vanished(lab):
    lab.detach("SWAP0002")
    try:
        (result,) = driver.tasks(lab, {"virt.hostprep.swap_device": {"select": {"serial": ["SWAP0001", "SWAP0002"]}}})
        assert result.get("failed") and "no device with serial 'SWAP0002'" in result["msg"]
        assert result["actions"] == []
    finally:
        lab.attach("SWAP0002:1G:numa=1")
