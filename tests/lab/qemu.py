"""QEMU's command line for a lab: a pure function of its configuration."""

from __future__ import annotations

import json
from pathlib import Path

from lab.config import Config
from lab.disks import NODES, ROOT_SERIAL, Disk
from lab.files import Files
from lab.image import ROOT_LABEL, Image

BINARY = "qemu-system-x86_64"
_BARE = (BINARY, "-nodefaults", "-no-user-config", "-display", "none")
CPUS = 4
SPARE_PORTS = 4  # free hot-plug ports a NUMA node
_BUS_FIRST, _BUS_STEP = 32, 96  # PCI bus numbers of the host bridges; a port takes one number
# Nothing here is needed in the guest, and each driver costs boot time under TCG.
_MACHINE = "q35,sata=off,smbus=off,vmport=off"

# Less work for an emulated CPU; nothing that a test of a Debian host would look at.
_KERNEL_WORDS = (
    "net.ifnames=0 mitigations=off init_on_alloc=0 cryptomgr.notests rcupdate.rcu_expedited=1 "
    "tsc=reliable clocksource=tsc "
    "modprobe.blacklist=nvme"  # loaded by the image's initramfs itself, see rootfs/…/init-premount/lab-nvme
)


def nvme_id(serial: str) -> str:
    """QEMU's id of a disk's NVMe controller."""
    return f"nvme-{serial}"


def spare_ports(numa: int) -> list[str]:
    """The ids of the free hot-plug ports of a NUMA node."""
    return [f"spare{numa}.{number}" for number in range(SPARE_PORTS)]


def command(config: Config, image: Image, files: Files) -> list[str]:
    """The whole command line. QEMU puts itself into the background once the machine is set up."""
    return [
        *_BARE,
        "-daemonize",
        *_options(
            name=f"lab-{config.name}",
            uuid=config.uuid,
            pidfile=str(files.pid),
            qmp=f"unix:{_escaped(files.qmp)},server=on,wait=off",
            chardev=f"file,id=console,path={_escaped(files.console)},append=on",
            serial="chardev:console",
        ),
        *_processor(config, image),
        *_boot(config, image, files),
        *_network(config),
        *_storage(config, image, files),
    ]


def probe_command(image: Image, accelerator: str, console: Path) -> list[str]:
    """A command line that only boots the kernel, without any disk, its console in a file."""
    return [
        *_BARE,
        *_options(machine=_MACHINE, m="512", accel=accelerator, cpu=_cpu_model(accelerator, image)),
        *_options(kernel=str(image.kernel), initrd=str(image.initrd), append="console=ttyS0"),
        *_options(serial=f"file:{_escaped(console)}"),
    ]


def _cpu_model(accelerator: str, image: Image) -> str:
    if accelerator == "kvm":
        return "host"
    # Under TCG a newer model is slower: glibc then uses wide vectors, which TCG has to emulate. What somebody
    # else's image asks for is not known.
    return "Nehalem" if image.kernel else "max"


def _processor(config: Config, image: Image) -> list[str]:
    """CPUs and memory, split evenly over the NUMA nodes; distance 10 within a node, 21 between two."""
    arguments = _options(
        machine=_MACHINE,
        accel="kvm" if config.accel == "kvm" else "tcg,thread=multi",
        cpu=_cpu_model(config.accel, image),
        smp=f"{CPUS},sockets={NODES},cores={CPUS // NODES},threads=1",
        m=f"{config.memory}M",
    )
    each = CPUS // NODES
    for node in range(NODES):
        memory = {"qom-type": "memory-backend-ram", "id": f"memory{node}", "size": config.memory // NODES << 20}
        cpus = f"{node * each}-{node * each + each - 1}"
        arguments += _options(object=json.dumps(memory), numa=f"node,nodeid={node},memdev=memory{node},cpus={cpus}")
    for node in range(1, NODES):
        arguments += _options(numa=f"dist,src=0,dst={node},val=21")
    return arguments


def _boot(config: Config, image: Image, files: Files) -> list[str]:
    arguments = []
    for credential in files.credentials():
        arguments += _options(smbios=f"type=11,path={_escaped(credential)}")
    if image.kernel:
        words = f"root=LABEL={ROOT_LABEL} console=ttyS0 systemd.hostname={config.name} {_KERNEL_WORDS}"
        arguments += _options(kernel=str(image.kernel), initrd=str(image.initrd), append=words)
    return arguments


def _network(config: Config) -> list[str]:
    ports = {22: config.port, **config.forwards}
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:{port}-:{guest}" for guest, port in ports.items())
    return [
        *_options(netdev=f"user,id=net{forwards}"),
        *_device("virtio-net-pci", netdev="net", romfile=""),
    ]


def _storage(config: Config, image: Image, files: Files) -> list[str]:
    """The root disk, and every NVMe disk on a port of its own behind the host bridge of its NUMA node.

    The kernel meets the bridges in the order of their bus numbers and the ports in the order of their addresses.
    `order` is therefore kept exactly within a node; the node of its first disk comes first. (An image with its own
    boot loader lacks our initramfs, which brings the disks up one by one: there the kernel may mix the names.)
    """
    root: dict[str, object] = {"drive": "root", "serial": ROOT_SERIAL}
    if image.kernel is None:
        root["bootindex"] = 0
    arguments = _blockdev("root", files.root, "qcow2")
    if config.root == "virtio":
        arguments += _device("virtio-blk-pci", **root)
    for disk in config.disks:
        arguments += _blockdev(nvme_id(disk.serial), files.disk(disk.serial), "raw")

    ordered = _in_order(config)
    nodes = list(dict.fromkeys([*(disk.numa for disk in ordered), *range(NODES)]))
    chassis = 0
    for position, node in enumerate(nodes):
        bridge = f"node{node}"
        bus = _BUS_FIRST + position * _BUS_STEP
        arguments += _device("pxb-pcie", id=bridge, bus="pcie.0", bus_nr=bus, numa_node=node)
        serials = [disk.serial for disk in ordered if disk.numa == node]
        for index, port in enumerate([*(f"port-{serial}" for serial in serials), *spare_ports(node)]):
            chassis += 1
            # Several ports share a slot as its functions: a bridge has 32 slots, and no disk should run out of them.
            # I/O space is not reserved for ports: there are only 64 KiB of it for all.
            arguments += _device(
                "pcie-root-port",
                id=port,
                bus=bridge,
                chassis=chassis,
                slot=chassis,
                multifunction=True,
                addr=f"{index // 8:x}.{index % 8}",
                io__reserve=0,
            )
        for serial in serials:
            drive = root if serial == ROOT_SERIAL else {"drive": nvme_id(serial), "serial": serial}
            arguments += _device("nvme", id=nvme_id(serial), bus=f"port-{serial}", **drive)
    if image.kernel is None:
        arguments += _blockdev("seed", files.seed, "raw", read_only=True)
        arguments += _device("virtio-blk-pci", drive="seed")
    return arguments


def _in_order(config: Config) -> list[Disk]:
    disks = {disk.serial: disk for disk in config.disks}
    if config.root == "nvme":
        disks[ROOT_SERIAL] = Disk(ROOT_SERIAL, 0)
    return [disks[serial] for serial in config.order]


def blockdev(node: str, path: Path, image_format: str, read_only: bool = False) -> dict[str, object]:
    """The block device `node` of an image file, as -blockdev and blockdev-add take it."""
    file = {"driver": "file", "filename": str(path), "discard": "unmap"}
    return {"node-name": node, "driver": image_format, "file": file, "discard": "unmap", "read-only": read_only}


def _blockdev(node: str, path: Path, image_format: str, read_only: bool = False) -> list[str]:
    return _options(blockdev=json.dumps(blockdev(node, path, image_format, read_only)))


def _device(driver: str, **properties: object) -> list[str]:
    named = {name.replace("__", "-"): value for name, value in properties.items()}
    return _options(device=json.dumps({"driver": driver, **named}))


def _options(**values: str) -> list[str]:
    """Options with their values, in the given order: -name value …"""
    return [word for name, value in values.items() for word in (f"-{name}", value)]


def _escaped(path: Path) -> str:
    """A path as a value in a comma-separated QEMU option."""
    return str(path).replace(",", ",,")
