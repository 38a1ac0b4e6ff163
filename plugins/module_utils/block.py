# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block devices as the kernel, udev and util-linux see them. Reading only; verdict.py judges.

Sources: sysfs (structure, size, locality), lsblk (transport, partition labels), wipefs and blkid (signatures at
the start and the end), mountinfo, /proc/swaps, /dev/disk (stable names), and the device itself (O_EXCL, content).
"""

from __future__ import annotations

import errno
import json
import os
import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.host import Host

Device = dict[str, t.Any]

_SYS = "/sys/class/block"
_LINK_KINDS = ("by-id", "by-path", "by-uuid", "by-label", "by-partlabel", "by-partuuid")
_LSBLK_COLUMNS = "KNAME,TYPE,TRAN,MODEL,SERIAL,WWN,PTTYPE,PARTLABEL,PARTUUID"

# Content is sampled: this much at both ends, and single blocks evenly in between.
_EDGE = 1024 * 1024
_SAMPLE = 4096
_SAMPLES = 64


def observe(host: Host) -> dict[str, Device]:
    """Every block device of the host by kernel name. Sizes in bytes; see block_device_info for the keys."""
    host.require_root()
    # The hidden ones are the single paths below an NVMe multipath device: nobody can open them.
    names = [name for name in host.names(_SYS) if host.read(f"{_SYS}/{name}/hidden") != "1"]
    lsblk = _lsblk(host, names)
    links = _stable_names(host)
    mounts = _mounts(host)
    swaps = {kernel_name(host, swap["path"]): swap for swap in active_swaps(host)}
    devices = {name: _structure(host, name, lsblk.get(name, {})) for name in names}
    for name, device in devices.items():
        device["links"] = links.get(name, {kind.replace("-", "_"): [] for kind in _LINK_KINDS})
        device["mounts"] = sorted(mount["target"] for mount in mounts if _is_mounted_by(device, mount))
        device["swap"] = swaps.get(name)
        device["partitions"] = sorted(child for child in names if devices[child]["parent"] == name)
    _probe(host, devices)
    return devices


def active_swaps(host: Host) -> list[dict[str, t.Any]]:
    """The lines of /proc/swaps: path, type, priority, and size and used in bytes."""
    areas = []
    for line in (host.read("/proc/swaps") or "").splitlines()[1:]:
        path, kind, size, used, priority = line.split()
        areas.append(
            {
                "path": _unescape(path),
                "type": kind,
                "size": int(size) * 1024,
                "used": int(used) * 1024,
                "priority": int(priority),
            }
        )
    return areas


def ancestors(name: str, devices: dict[str, Device]) -> list[str]:
    """The devices that a device lies on: a partition's disk, the members below dm and md; nearest first."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        device = devices.get(waiting.pop(0))
        if device is None:
            continue
        for below in [device["parent"]] if device["parent"] else device["slaves"]:
            if below not in found:
                found.append(below)
                waiting.append(below)
    return found


def whole_disks(name: str, devices: dict[str, Device]) -> list[str]:
    """The physical disks under a device (itself, if it is one): where latency targets apply."""
    return sorted(
        below
        for below in [name, *ancestors(name, devices)]
        if below in devices and devices[below]["type"] == "disk" and not devices[below]["virtual"]
    )


def disks_of_path(path: str, host: Host, devices: dict[str, Device]) -> list[str]:
    """The physical disks behind a device, or behind the file system that a path is in; empty if there is no telling."""
    name = kernel_name(host, path)
    if name in devices:
        return whole_disks(name, devices)
    mounts = _mounts(host)
    there = host.exists(path) or any(mount["target"] == path for mount in mounts)
    return _disks_of_mount(path, mounts, devices) if there else []


def _disks_of_mount(path: str, mounts: list[dict[str, t.Any]], devices: dict[str, Device]) -> list[str]:
    """An overlay has no device of its own: it lies on the disks of its layers."""
    around = [mount for mount in mounts if os.path.commonpath([path, mount["target"]]) == mount["target"]]
    if not around:
        return []
    # Of mounts in one place the last one counts, and it hides what the others hold.
    nearest = max(around, key=lambda mount: len(mount["target"]))["target"]
    mount = [mount for mount in around if mount["target"] == nearest][-1]
    for name, device in devices.items():
        if _is_mounted_by(device, mount):
            return whole_disks(name, devices)
    others = [other for other in mounts if other is not mount]
    found = {disk for layer in mount["layers"] for disk in _disks_of_mount(layer, others, devices)}
    return sorted(found)


def _is_mounted_by(device: Device, mount: dict[str, t.Any]) -> bool:
    return bool(mount["number"] == device["number"] or mount["source"] == device["name"])


def stable_name(device: Device) -> str:
    """The name to write into files that outlive this boot; the kernel name only where udev has no other."""
    for kind in ("by_id", "by_path"):
        if device["links"][kind]:
            return f"/dev/disk/{kind.replace('_', '-')}/{_best(device['links'][kind])}"
    return str(device["path"])


def _best(names: list[str]) -> str:
    """World-wide names before model and serial: the latter can be taken over by another device."""
    return min(names, key=lambda name: (not re.search(r"(nvme|wwn|scsi)-(eui|nvme|uuid|0x|3)[.0-9a-f]", name), name))


def _structure(host: Host, name: str, lsblk: dict[str, t.Any]) -> Device:
    directory = f"{_SYS}/{name}"
    location = _sys_location(host, name)
    is_partition = host.exists(f"{directory}/partition")
    parent = os.path.basename(os.path.dirname(location)) if is_partition else None
    disk = f"{_SYS}/{parent}" if parent else directory
    return {
        "name": name,
        "path": f"/dev/{name.replace('!', '/')}",
        "number": host.read(f"{directory}/dev") or "",
        "type": lsblk.get("type") or ("part" if is_partition else "disk"),
        "parent": parent,
        "virtual": not host.exists(f"{disk}/device"),
        "size": int(host.read(f"{directory}/size") or 0) * 512,
        "read_only": host.read(f"{directory}/ro") == "1",
        "removable": host.read(f"{disk}/removable") == "1",
        "rotational": host.read(f"{disk}/queue/rotational") == "1",
        "zoned": host.read(f"{disk}/queue/zoned") not in (None, "none"),
        "state": _state(host, disk),
        "transport": _transport(host, disk, lsblk.get("tran")),
        "model": _word(host.read(f"{disk}/device/model") or lsblk.get("model")),
        "serial": _word(host.read(f"{disk}/device/serial") or host.read(f"{disk}/serial") or lsblk.get("serial")),
        "wwid": _word(host.read(f"{disk}/wwid") or host.read(f"{disk}/device/wwid") or lsblk.get("wwn")),
        "numa_node": _numa_node(host, disk, os.path.dirname(location) if is_partition else location),
        "partition_table": lsblk.get("pttype") if not is_partition else None,
        "partlabel": lsblk.get("partlabel"),
        "partuuid": lsblk.get("partuuid"),
        "holders": host.names(f"{directory}/holders"),
        "slaves": host.names(f"{directory}/slaves"),
    }


def _word(text: str | None) -> str | None:
    return (text or "").strip() or None


def _sys_location(host: Host, name: str) -> str:
    """The device's own directory below /sys/devices, resolved textually so that a recording stays inside its root."""
    target = host.link(f"{_SYS}/{name}")
    return os.path.normpath(os.path.join(_SYS, target)) if target else f"{_SYS}/{name}"


def _controllers(host: Host, disk: str) -> list[str]:
    """The device behind a disk; with NVMe multipath that is a subsystem, and its controllers are below it."""
    device = f"{disk}/device"
    below = [f"{device}/{name}" for name in host.names(device) if re.fullmatch(r"nvme\d+", name)]
    return below or [device]


def _state(host: Host, disk: str) -> str | None:
    """One live path is enough."""
    states = [host.read(f"{controller}/state") for controller in _controllers(host, disk)]
    return "live" if "live" in states else states[0]


def _transport(host: Host, disk: str, lsblk: str | None) -> str | None:
    """lsblk says nvme for local and networked NVMe alike; the controllers know."""
    nvme = {host.read(f"{controller}/transport") or "" for controller in _controllers(host, disk)} - {""}
    if nvme:
        return next((f"nvme-{transport}" for transport in sorted(nvme) if transport != "pcie"), "nvme")
    name = os.path.basename(disk)
    return lsblk or ("virtio" if name.startswith("vd") else "rbd" if name.startswith("rbd") else None)


def _numa_node(host: Host, disk: str, location: str) -> int | None:
    """The node of the nearest device above that has one. -1 means unknown, except where there is only one node."""
    near = {host.read(f"{controller}/numa_node") or "-1" for controller in _controllers(host, disk)} - {"-1"}
    if len(near) == 1:
        return int(near.pop())
    while location not in ("/", "/sys", ""):
        text = host.read(f"{location}/numa_node")
        if text is not None and int(text) >= 0:
            return int(text)
        location = os.path.dirname(location)
    nodes = [name for name in host.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
    return int(nodes[0][4:]) if len(nodes) == 1 else None


def _lsblk(host: Host, names: list[str]) -> dict[str, dict[str, t.Any]]:
    if not names:
        return {}
    text = host.command(["lsblk", "--json", "--bytes", "--all", "--list", "--output", _LSBLK_COLUMNS])
    return {entry["kname"]: entry for entry in json.loads(text or "{}").get("blockdevices", [])}


def _stable_names(host: Host) -> dict[str, dict[str, list[str]]]:
    """The names of /dev/disk by kernel name and kind, e.g. {"nvme0n1": {"by_id": [...], ...}}."""
    found: dict[str, dict[str, list[str]]] = {}
    for kind in _LINK_KINDS:
        for link in host.names(f"/dev/disk/{kind}"):
            target = host.link(f"/dev/disk/{kind}/{link}")
            if target is None:
                continue
            kinds = found.setdefault(os.path.basename(target), {kind.replace("-", "_"): [] for kind in _LINK_KINDS})
            kinds[kind.replace("-", "_")].append(link)
    return found


def kernel_name(host: Host, path: str) -> str:
    """nvme0n1 for /dev/nvme0n1, /dev/disk/by-id/... or /dev/mapper/...; "" for what is no device path."""
    if not path.startswith("/dev/"):
        return ""
    seen = 0
    while (target := host.link(path)) is not None and seen < 8:
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        seen += 1
    return path[len("/dev/") :].replace("/", "!")


def _mounts(host: Host) -> list[dict[str, t.Any]]:
    """The mount table: device number, target, source (a kernel name or ""), and the layers of an overlay."""
    mounts = []
    for line in (host.read("/proc/self/mountinfo") or "").splitlines():
        left, _dummy, right = line.partition(" - ")
        fields, rest = left.split(), right.split()
        if len(fields) > 4 and len(rest) > 1:
            mounts.append(
                {
                    "number": fields[2],
                    "target": _unescape(fields[4]),
                    "source": kernel_name(host, _unescape(rest[1])),
                    "layers": _layers(rest[-1]) if rest[0] == "overlay" else [],
                }
            )
    return mounts


def _layers(options: str) -> list[str]:
    """The directories that an overlay is made of."""
    layers: list[str] = []
    for option in options.split(","):
        key, _dummy, value = option.partition("=")
        if key == "upperdir" or key.startswith(("lowerdir", "datadir")):
            layers += [_unescape(path) for path in value.split(":") if path.startswith("/")]
    return layers


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def _probe(host: Host, devices: dict[str, Device]) -> None:
    """Add what only the device itself can tell: signatures, whether it is held, whether it holds anything."""
    probed = [
        device
        for device in devices.values()
        if device["type"] in ("disk", "part") and not device["virtual"] and device["size"] > 0
    ]
    recorded = json.loads(host.read("/commands/probe") or "{}") if host.recorded else {}
    for device in devices.values():
        device["signatures"] = []
        device["held"] = None
        device["content"] = None
    for device in probed:
        device["signatures"] = _signatures(host, device)
        if host.recorded:
            device.update(recorded.get(device["name"], {}))
            continue
        device["held"] = _is_held(device["path"])
        if not device["held"] and not device["signatures"]:
            device["content"] = _content(device["path"], device["size"])


def _signatures(host: Host, device: Device) -> list[dict[str, t.Any]]:
    """What wipefs lists, and what blkid adds to it: type, offset in bytes (None: blkid alone), uuid, label.

    One device at a time: both stop at the first that is blank or broken. A broken one (status 1) shows nothing here;
    that it cannot be read is seen when its content is looked at.
    """
    command = ["wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,UUID,LABEL", device["path"]]
    found = [
        {
            "type": entry["type"],
            "offset": int(entry["offset"], 16),
            "uuid": entry.get("uuid"),
            "label": entry.get("label"),
        }
        for entry in json.loads(host.command(command, accept=(0, 1)) or "{}").get("signatures", [])
        if entry["device"] == os.path.basename(device["path"])  # a recording holds all of them
    ]
    # Status 2: nothing that blkid knows; 8: more than one thing. wipefs lists them all.
    for values in _blkid_blocks(host.command(["blkid", "-p", "-o", "export", device["path"]], accept=(0, 2, 8))):
        kind = values.get("TYPE") or values.get("PTTYPE")
        if values.get("DEVNAME") == device["path"] and kind and all(entry["type"] != kind for entry in found):
            found.append({"type": kind, "offset": None, "uuid": values.get("UUID"), "label": values.get("LABEL")})
    return found


def _blkid_blocks(text: str) -> t.Iterator[dict[str, str]]:
    block: dict[str, str] = {}
    for line in [*text.splitlines(), ""]:
        key, equals, value = line.partition("=")
        if equals:
            if key == "DEVNAME" and block:
                yield block
                block = {}
            block[key] = value
    if block:
        yield block


def _is_held(path: str) -> bool | None:
    """Whether somebody has it exclusively (a mount, md, dm, swap, a program). None: it cannot be opened."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        return True if error.errno == errno.EBUSY else None
    return False


def _content(path: str, size: int) -> str:
    """ "zero" if both ends and the samples in between hold nothing, else "data"; "unreadable" on an I/O error."""
    try:
        with open(path, "rb", buffering=0) as stream:
            for offset, length in sample_places(size):
                stream.seek(offset)
                content = stream.read(length)
                if len(content) < length:
                    return "unreadable"
                if content.strip(b"\0"):
                    return "data"
    except OSError:
        return "unreadable"
    return "zero"


def sample_places(size: int) -> list[tuple[int, int]]:
    """(offset, length) of what is read: both ends whole, then blocks spread evenly over the rest."""
    if size <= 2 * _EDGE:
        return [(0, size)]
    places = [(0, _EDGE), (size - _EDGE, _EDGE)]
    step = (size - 2 * _EDGE) // (_SAMPLES + 1)
    if step >= _SAMPLE:
        places += [((_EDGE + step * (n + 1)) // _SAMPLE * _SAMPLE, _SAMPLE) for n in range(_SAMPLES)]
    return places
