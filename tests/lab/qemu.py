"""QEMU's command line for a lab: a pure function of its configuration."""

from __future__ import annotations

import json
from pathlib import Path

from lab.config import Config
from lab.disks import NODES, ROOT_SERIAL, Disk
from lab.image import ROOT_LABEL, Image

BINARY = "qemu-system-x86_64"
CPUS = 4
SPARE_PORTS = 4  # free hot-plug ports a NUMA node
_BUS_FIRST, _BUS_STEP = 32, 96  # PCI bus numbers of the host bridges; a port takes one number
# Nothing here is needed in the guest, and each driver costs boot time under TCG.
_MACHINE = "q35,sata=off,smbus=off,vmport=off"


class Files:
    """The files of one lab."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.json"
        self.console = folder / "console.log"
        self.control = folder / "control.sock"
        self.disks = folder / "disks"
        self.host_key = folder / "host_key"
        self.key = folder / "id_ed25519"
        self.known_hosts = folder / "known_hosts"
        self.pid = folder / "qemu.pid"
        self.qmp = folder / "qmp.sock"
        self.root = folder / "root.qcow2"
        self.seed = folder / "seed.iso"
        self.snapshots = folder / "snapshots"

    def disk(self, serial: str) -> Path:
        """The raw file of a data disk."""
        return self.disks / f"{serial}.raw"

    def credential(self, name: str) -> Path:
        """The file with one SMBIOS string that carries the systemd credential `name`."""
        return self.folder / f"{name}.credential"


CREDENTIALS = ("ssh.authorized_keys.root", "lab.ssh_host_key")


def nvme_id(serial: str) -> str:
    """QEMU's id of a disk's NVMe controller."""
    return f"nvme-{serial}"


def spare_ports(numa: int) -> list[str]:
    """The ids of the free hot-plug ports of a NUMA node."""
    return [f"spare{numa}.{number}" for number in range(SPARE_PORTS)]


def command(config: Config, image: Image, files: Files) -> list[str]:
    """The whole command line. QEMU puts itself into the background once the machine is set up."""
    return [
        BINARY, "-name", f"lab-{config.name}", "-uuid", config.uuid,
        "-nodefaults", "-no-user-config", "-display", "none", "-daemonize",
        "-pidfile", str(files.pid),
        "-qmp", f"unix:{_escaped(files.qmp)},server=on,wait=off",
        "-chardev", f"file,id=console,path={_escaped(files.console)},append=on", "-serial", "chardev:console",
        *_processor(config),
        *_boot(config, image, files),
        *_network(config),
        *_storage(config, image, files),
    ]


def probe_command(image: Image, accelerator: str, console: Path) -> list[str]:
    """A command line that only boots the kernel, without any disk, its console in a file."""
    return [
        BINARY, "-nodefaults", "-no-user-config", "-display", "none", "-machine", _MACHINE, "-m", "512",
        "-accel", accelerator, "-cpu", _cpu_model(accelerator), "-serial", f"file:{_escaped(console)}",
        "-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", "console=ttyS0",
    ]


def _cpu_model(accelerator: str) -> str:
    return "host" if accelerator == "kvm" else "max"


def _processor(config: Config) -> list[str]:
    """CPUs and memory, split evenly over the NUMA nodes; distance 10 within a node, 21 between two."""
    accelerator = "kvm" if config.accel == "kvm" else "tcg,thread=multi"
    arguments = [
        "-machine", _MACHINE, "-accel", accelerator, "-cpu", _cpu_model(config.accel),
        "-smp", f"{CPUS},sockets={NODES},cores={CPUS // NODES},threads=1", "-m", f"{config.memory}M",
    ]
    each = CPUS // NODES
    for node in range(NODES):
        memory = {"qom-type": "memory-backend-ram", "id": f"memory{node}", "size": config.memory // NODES << 20}
        arguments += ["-object", json.dumps(memory)]
        arguments += ["-numa", f"node,nodeid={node},memdev=memory{node},cpus={node * each}-{node * each + each - 1}"]
    for node in range(1, NODES):
        arguments += ["-numa", f"dist,src=0,dst={node},val=21"]
    return arguments


def _boot(config: Config, image: Image, files: Files) -> list[str]:
    arguments = []
    for name in CREDENTIALS:
        arguments += ["-smbios", f"type=11,path={_escaped(files.credential(name))}"]
    if image.kernel:
        words = f"root=LABEL={ROOT_LABEL} console=ttyS0 systemd.hostname={config.name} mitigations=off"
        arguments += ["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", words]
    else:
        arguments += _blockdev("seed", files.seed, "raw", read_only=True)
        arguments += _device("virtio-blk-pci", drive="seed")
    return arguments


def _network(config: Config) -> list[str]:
    return [
        "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{config.port}-:22",
        *_device("virtio-net-pci", netdev="net", romfile=""),
    ]


def _storage(config: Config, image: Image, files: Files) -> list[str]:
    """The root disk, and every NVMe disk on a port of its own behind the host bridge of its NUMA node.

    The kernel meets the bridges in the order of their bus numbers and the ports in the order of their addresses.
    `order` is therefore kept exactly within a node; the node of its first disk comes first.
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
            arguments += _device("pcie-root-port", id=port, bus=bridge, chassis=chassis, slot=chassis, multifunction=True,
                                 addr=f"{index // 8:x}.{index % 8}", io__reserve=0)
        for serial in serials:
            drive = root if serial == ROOT_SERIAL else {"drive": nvme_id(serial), "serial": serial}
            arguments += _device("nvme", id=nvme_id(serial), bus=f"port-{serial}", **drive)
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
    return ["-blockdev", json.dumps(blockdev(node, path, image_format, read_only))]


def _device(driver: str, **properties: object) -> list[str]:
    named = {name.replace("__", "-"): value for name, value in properties.items()}
    return ["-device", json.dumps({"driver": driver, **named})]


def _escaped(path: Path) -> str:
    """A path as a value in a comma-separated QEMU option."""
    return str(path).replace(",", ",,")
