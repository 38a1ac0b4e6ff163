"""QEMU's command line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from lab import qemu
from lab.config import Config
from lab.disks import DEFAULT, parse_disks
from lab.files import Files
from lab.image import Image

BUILT = Image(Path("/images/root.img"), "raw", Path("/images/vmlinuz"), Path("/images/initrd.img"))
READY = Image(Path("/images/cloud.qcow2"), "qcow2")
FILES = Files(Path("/labs/a,b"))


def config(**changes):
    disks = parse_disks(changes.pop("disks", list(DEFAULT)))
    values = {
        "name": "dev",
        "image": "trixie",
        "root": "virtio",
        "memory": 3072,
        "uuid": "c0ffee00-0000-4000-8000-000000000000",
        "disks": disks,
        "order": [disk.serial for disk in disks],
        "port": 2222,
        "accel": "tcg",
    }
    return Config(**{**values, **changes})


def values(command, option):
    """Every value of one option."""
    return [value for name, value in itertools.pairwise(command) if name == f"-{option}"]


def devices(command, driver):
    """Every device of one driver, in order."""
    return [device for device in map(json.loads, values(command, "device")) if device["driver"] == driver]


def bus_order(command):
    """The NVMe serials in the order in which the kernel meets their slots."""
    bus = {bridge["id"]: bridge["bus_nr"] for bridge in devices(command, "pxb-pcie")}
    place = {}
    for port in devices(command, "pcie-root-port"):
        slot, function = port["addr"].split(".")
        place[port["id"]] = (bus[port["bus"]], int(slot, 16), int(function))
    disks = devices(command, "nvme")
    return [disk["serial"] for disk in sorted(disks, key=lambda disk: place[disk["bus"]])]


def nodes(command):
    """Serial → NUMA node."""
    node = {bridge["id"]: bridge["numa_node"] for bridge in devices(command, "pxb-pcie")}
    bridge = {port["id"]: node[port["bus"]] for port in devices(command, "pcie-root-port")}
    return {disk["serial"]: bridge[disk["bus"]] for disk in devices(command, "nvme")}


def test_machine_has_two_numa_nodes():
    command = qemu.command(config(), BUILT, FILES)
    assert values(command, "smp") == ["4,sockets=2,cores=2,threads=1"]
    assert values(command, "m") == ["3072M"]
    assert [json.loads(memory)["size"] for memory in values(command, "object")] == [1536 << 20] * 2
    assert values(command, "numa") == [
        "node,nodeid=0,memdev=memory0,cpus=0-1",
        "node,nodeid=1,memdev=memory1,cpus=2-3",
        "dist,src=0,dst=1,val=21",
    ]


def test_each_disk_sits_on_its_node():
    command = qemu.command(config(), BUILT, FILES)
    assert nodes(command) == {"SWAP0001": 0, "SWAP0002": 1, "DATA0001": 0, "DATA0002": 1}


def test_each_node_has_spare_ports():
    ports = {port["id"] for port in devices(qemu.command(config(), BUILT, FILES), "pcie-root-port")}
    for node in (0, 1):
        assert ports >= set(qemu.spare_ports(node))


def test_order_decides_the_slots_not_the_nodes():
    plain = qemu.command(config(), BUILT, FILES)
    assert bus_order(plain) == ["SWAP0001", "DATA0001", "SWAP0002", "DATA0002"]
    reverse = qemu.command(config(order=["DATA0002", "DATA0001", "SWAP0002", "SWAP0001"]), BUILT, FILES)
    assert bus_order(reverse) == ["DATA0002", "SWAP0002", "DATA0001", "SWAP0001"]
    assert nodes(reverse) == nodes(plain)


def test_root_on_nvme_is_one_of_the_disks():
    order = ["ROOT0001", "SWAP0001", "SWAP0002", "DATA0001", "DATA0002"]
    command = qemu.command(config(root="nvme", order=order), BUILT, FILES)
    assert bus_order(command)[0] == "ROOT0001"
    assert devices(command, "virtio-blk-pci") == []


def test_many_disks_have_slots_and_chassis_of_their_own():
    command = qemu.command(config(disks=[f"S{number}:1G" for number in range(28)]), BUILT, FILES)
    ports = devices(command, "pcie-root-port")
    assert len(ports) == 28 + 2 * qemu.SPARE_PORTS
    assert len({port["chassis"] for port in ports}) == len(ports)
    assert len({(port["bus"], port["addr"]) for port in ports}) == len(ports)
    assert max(int(port["addr"].split(".")[0], 16) for port in ports) < 32


def test_built_image_boots_its_kernel():
    command = qemu.command(config(), BUILT, FILES)
    assert values(command, "kernel") == ["/images/vmlinuz"]
    (words,) = values(command, "append")
    assert {"root=LABEL=lab-root", "console=ttyS0", "systemd.hostname=dev"} <= set(words.split())
    assert "bootindex" not in devices(command, "virtio-blk-pci")[0]


def test_ready_image_boots_by_itself_with_a_seed():
    command = qemu.command(config(), READY, FILES)
    assert values(command, "kernel") == []
    root, seed = sorted(devices(command, "virtio-blk-pci"), key=lambda device: device["drive"])
    assert (root["drive"], root["bootindex"]) == ("root", 0)
    assert seed["drive"] == "seed"
    drives = {drive["node-name"]: drive for drive in map(json.loads, values(command, "blockdev"))}
    assert drives["seed"]["read-only"] is True


def test_commas_in_paths_are_escaped():
    command = qemu.command(config(), BUILT, FILES)
    assert values(command, "qmp") == ["unix:/labs/a,,b/qmp.sock,server=on,wait=off"]
    assert values(command, "pidfile") == ["/labs/a,b/qemu.pid"]  # not an option list


def test_ssh_port_is_on_the_loopback():
    assert values(qemu.command(config(), BUILT, FILES), "netdev") == ["user,id=net,hostfwd=tcp:127.0.0.1:2222-:22"]


@pytest.mark.parametrize(
    ("accel", "image", "expected"),
    [
        ("kvm", BUILT, ("kvm", "host")),
        ("tcg", BUILT, ("tcg,thread=multi", "Nehalem")),
        ("tcg", READY, ("tcg,thread=multi", "max")),
    ],
)
def test_accelerator(accel, image, expected):
    command = qemu.command(config(accel=accel), image, FILES)
    assert (*values(command, "accel"), *values(command, "cpu")) == expected
