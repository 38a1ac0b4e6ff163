# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts to test with: builders of complete observations, and a model of how a host reacts to the plans of swap.py.

The model keeps, beside what swap.observe returns, what a host holds and an observation does not show: the files of
systemd and which of them it has read, and the discard mode of active swap (key "below"). What the observation says
about units is read from those files by the code under test itself.
"""

from __future__ import annotations

import copy
import os
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import areas, block, selection, swap, units
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Action, Command, RemoveFile, WriteFile

GIB = 1024**3
Observed = dict[str, t.Any]
Device = dict[str, t.Any]

_KINDS = ("by_id", "by_path", "by_uuid", "by_label", "by_partlabel", "by_partuuid")
_SWAP_OFFSET = 0xFF6


# --- devices ------------------------------------------------------------------------------------------------------


def device(name: str = "nvme0n1", serial: str | None = "SWAP0001", **facts: t.Any) -> Device:
    """A blank local NVMe disk with all the keys of block.observe. `links` given by kind are added to its own."""
    links: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    if serial:
        links["by_id"] = [f"nvme-nvme.1b36-{serial}", f"nvme-QEMU_{serial}", f"nvme-QEMU_{serial}_1"]
    links["by_path"] = [f"pci-{name}-nvme-1"]
    links.update(facts.pop("links", {}))
    built: Device = {
        "name": name,
        "path": f"/dev/{name}",
        "number": f"259:{sum(name.encode())}",
        "type": "disk",
        "parent": None,
        "virtual": False,
        "size": GIB,
        "read_only": False,
        "removable": False,
        "rotational": False,
        "zoned": False,
        "state": "live",
        "transport": "nvme",
        "model": "QEMU NVMe Ctrl",
        "serial": serial,
        "wwid": f"nvme.1b36-{serial}" if serial else None,
        "numa_node": 0,
        "partition_table": None,
        "partlabel": None,
        "partuuid": None,
        "holders": [],
        "slaves": [],
        "links": links,
        "mounts": [],
        "swap": None,
        "partitions": [],
        "signatures": [],
        "held": False,
        "content": "zero",
    }
    unknown = set(facts) - set(built)
    if unknown:
        raise TypeError(f"block.observe returns no {unknown}")
    return {**built, **facts}


def partition(disk: Device, number: int, **facts: t.Any) -> Device:
    """A partition of a disk, which gets a GPT if it has none. Add both to the host."""
    name = f"{disk['name']}p{number}" if disk["name"][-1].isdigit() else f"{disk['name']}{number}"
    partlabel, partuuid = facts.pop("partlabel", f"label-{name}"), facts.pop("partuuid", f"uuid-{name}")
    if not disk["partition_table"]:
        disk.update(partition_table="gpt", signatures=[signature("gpt", 0x200), signature("PMBR", 0x1FE)], content=None)
    disk["partitions"] = sorted([*disk["partitions"], name])
    links = {
        "by_id": [f"{link}-part{number}" for link in disk["links"]["by_id"]],
        "by_path": [f"{link}-part{number}" for link in disk["links"]["by_path"]],
        "by_partlabel": [partlabel],
        "by_partuuid": [partuuid],
    }
    inherited = {key: disk[key] for key in ("serial", "wwid", "model", "transport", "numa_node", "state", "virtual")}
    return device(
        name,
        **{
            **inherited,
            "type": "part",
            "parent": disk["name"],
            "size": disk["size"] // 4,
            "links": links,
            "partlabel": partlabel,
            "partuuid": partuuid,
            **facts,
        },
    )


def signature(kind: str, offset: int | None = 0, uuid: str | None = None, label: str | None = None) -> Device:
    return {"type": kind, "offset": offset, "uuid": uuid, "label": label}


def holding(disk: Device, *signatures: Device) -> Device:
    """The device with these signatures on it; what carries a signature is not searched for other data."""
    disk.update(signatures=list(signatures), content=None)
    disk["links"]["by_uuid"] = [entry["uuid"] for entry in signatures if entry["uuid"]]
    disk["links"]["by_label"] = [entry["label"] for entry in signatures if entry["label"]]
    return disk


def swap_signature(uuid: str, label: str | None = "hostprep") -> Device:
    return signature("swap", _SWAP_OFFSET, uuid, label)


def formatted(disk: Device, label: str | None = "hostprep", uuid: str | None = None) -> Device:
    """The device as swap, with the UUID that is derived from it unless another one is given."""
    return holding(disk, swap_signature(uuid or areas.area_uuid(disk), label))


def active(disk: Device, priority: int = 100, used: int = 0) -> Device:
    """The device (formatted before) as swap that is turned on."""
    line = {"path": disk["path"], "type": "partition", "size": disk["size"], "used": used, "priority": priority}
    disk.update(swap=line, held=True, content=None)
    return disk


def uuid_of(disk: Device) -> str:
    """The UUID of the device's swap area, or the one that it would get."""
    return str(disk["signatures"][0]["uuid"]) if disk["signatures"] else areas.area_uuid(disk)


def unit_files(disk: Device, priority: int = 100, discard: str = "none", enabled: bool = True) -> dict[str, str]:
    """The files of a device's swap unit as a finished run leaves them."""
    uuid = uuid_of(disk)
    text = units.swap_unit(uuid, disk["serial"], disk["wwid"], priority, discard)
    files = {units.swap_unit_path(uuid): text, units.device_drop_in_path(uuid): units.device_drop_in()}
    if enabled:
        files.update(dict.fromkeys(_wants_links(units.swap_unit_name(uuid), text), ""))
    return files


def wanted(select: dict[str, t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    """The options of swap_device with their defaults, as AnsibleModule hands them over."""
    defaults = {name: spec.get("default") for name, spec in swap.ARGUMENT_SPEC.items()}
    criteria = dict.fromkeys(selection.SELECT_SPEC)
    return {**defaults, **options, "select": {**criteria, **({"serial": ["SWAP0001"]} if select is None else select)}}


# --- a host -------------------------------------------------------------------------------------------------------


class FileHost(Host):
    """A Host whose files are a dictionary. The content "-> TARGET" is a symbolic link."""

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__()
        self.files = files

    def read_raw(self, path: str) -> str | None:
        content = self.files.get(path)
        return "" if content is not None and content.startswith("-> ") else content

    def read(self, path: str) -> str | None:
        content = self.read_raw(path)
        return None if content is None else content.rstrip("\x00\n")

    def names(self, path: str) -> list[str]:
        below = f"{path.rstrip('/')}/"
        return sorted({file[len(below) :].split("/")[0] for file in self.files if file.startswith(below)})

    def exists(self, path: str) -> bool:
        return path in self.files or bool(self.names(path))

    def link(self, path: str) -> str | None:
        content = self.files.get(path, "")
        return content[3:] if content.startswith("-> ") else None


def host(
    *devices: Device, files: dict[str, str] | None = None, loads_on_demand: bool = True, **facts: t.Any
) -> Observed:
    """What swap.observe returns for a host with these devices and files (systemd has read them all).

    loads_on_demand: systemd looks again for a unit that it has not read yet. Old ones remember that it was missing.
    """
    observed: Observed = {
        "devices": {entry["name"]: entry for entry in devices},
        "memory": {"MemTotal": 4 * GIB, "MemAvailable": 3 * GIB},
        "kernel_has_swap": True,
        "gate": {"kubelet": None, "on_disk": None},
        **facts,
        "below": {"files": dict(files or {}), "loaded": {}, "discard": {}, "on_demand": loads_on_demand},
    }
    _daemon_reload(observed)
    for entry in devices:
        if entry["swap"]:
            observed["below"]["discard"][entry["name"]] = _discard_of(observed, uuid_of(entry))
    return _look(observed)


def _look(observed: Observed) -> Observed:
    """Bring what the observation shows in line with what the host holds."""
    files = FileHost(observed["below"]["files"])
    observed["units"] = units.read_own_swap_units(files)
    observed["foreign"] = units.read_foreign_swaps(files)
    for entry in observed["foreign"]:
        entry["device"] = _resolve(observed, entry["path"])
    observed["masked"] = units.read_masked_units(files)
    observed["systemd"] = {
        unit["name"]: _unit_state(observed, unit["name"], unit["text"]) for unit in observed["units"].values()
    }
    observed["active"] = [entry["swap"] for entry in observed["devices"].values() if entry["swap"]]
    return observed


def _unit_state(observed: Observed, name: str, text: str) -> dict[str, str]:
    loaded = _loaded(observed, name)
    return {
        "Id": name,
        "LoadState": "not-found" if loaded is None else "loaded",
        "NeedDaemonReload": "no" if loaded in (None, text) else "yes",
    }


def _loaded(observed: Observed, name: str) -> str | None:
    """The unit as systemd has it in memory."""
    below = observed["below"]
    loaded: str | None = below["loaded"].get(name)
    if loaded is None and below["on_demand"]:
        loaded = below["files"].get(f"{units.UNIT_DIRECTORY}/{name}")
    return loaded


def _resolve(observed: Observed, path: str) -> str:
    for entry in observed["devices"].values():
        if path == entry["path"]:
            return str(entry["name"])
        for kind, links in entry["links"].items():
            if path in [f"/dev/disk/{kind.replace('_', '-')}/{link}" for link in links]:
                return str(entry["name"])
    return path[len("/dev/") :].replace("/", "!") if path.startswith("/dev/") else ""


# --- how it reacts ------------------------------------------------------------------------------------------------


def simulate(action: Action, observed: Observed) -> Observed:
    """The host after an action. Raises AssertionError where a real host would refuse it, or do harm."""
    after = copy.deepcopy(observed)
    if isinstance(action, Command):
        program, *arguments = action.argv
        assert program in _PROGRAMS, f"no swap plan has a reason to run {program}"
        _PROGRAMS[program](after, arguments)
    elif isinstance(action, WriteFile):
        assert action.before == after["below"]["files"].get(action.path, ""), f"{action.path} was planned from else"
        after["below"]["files"][action.path] = action.content
    elif isinstance(action, RemoveFile):
        assert action.path in after["below"]["files"], f"cannot remove {action.path}: not there"
        assert action.before == after["below"]["files"].pop(action.path)
    else:
        raise AssertionError(f"no swap plan has a reason for {action}")
    return _look(after)


def simulate_all(actions: t.Iterable[Action], observed: Observed) -> Observed:
    for action in actions:
        observed = simulate(action, observed)
    return observed


def tear(action: Action, observed: Observed) -> Observed:
    """The host after an action that was cut off in its middle, where it has one; else it has not begun."""
    after = copy.deepcopy(observed)
    if isinstance(action, Command) and action.argv[0] == "wipefs":
        for path in action.argv[2:]:
            entry = _device(after, path)
            holding(entry, *entry["signatures"][1:])
            if not entry["signatures"]:
                entry["content"] = "data"
    elif isinstance(action, Command) and action.argv[:3] == ("systemctl", "--no-reload", "enable"):
        _enable(after, list(action.argv[3:]), links=1)
    elif isinstance(action, Command) and action.argv[:3] == ("systemctl", "--no-reload", "disable"):
        _disable(after, list(action.argv[3:]), links=1)
    elif isinstance(action, WriteFile):
        directory, name = os.path.split(action.path)
        after["below"]["files"][f"{directory}/.{name}.hostprep-new"] = action.content[:20]
    return _look(after)


def power_cut(observed: Observed) -> Observed:
    """The host after it lost power and booted again: systemd has read all units and started what is enabled."""
    after = copy.deepcopy(observed)
    for entry in after["devices"].values():
        if entry["swap"]:
            entry.update(swap=None, held=False)
    after["below"]["discard"] = {}
    _daemon_reload(after)
    for uuid, unit in after["units"].items():
        if after["below"]["files"].get(f"{units.UNIT_DIRECTORY}/swap.target.wants/{unit['name']}") is not None:
            entry = _by_uuid(after, uuid)
            if entry and unit["name"] not in after["masked"]:
                _turn_on(after, entry, int(unit["values"]["Priority"]), _discard_of(after, uuid))
    for declared in after["foreign"]:
        entry = after["devices"].get(declared["device"])
        if entry and any(found["type"] == "swap" for found in entry["signatures"]):
            _turn_on(after, entry, -2 if declared["priority"] is None else declared["priority"], declared["discard"])
    return _look(after)


def shown(observed: Observed) -> Observed:
    """What counts when two hosts are compared: all of it but what systemd has in memory and half-written files."""
    files = {path: text for path, text in observed["below"]["files"].items() if not path.endswith(".hostprep-new")}
    result = {key: value for key, value in observed.items() if key != "below"}
    return {**result, "files": files, "discard": observed["below"]["discard"]}


def _mkswap(observed: Observed, arguments: list[str]) -> None:
    label_option, label, uuid_option, uuid, path = arguments
    assert (label_option, uuid_option) == ("--label", "--uuid")
    entry = _idle(observed, path)
    assert not entry["signatures"], f"mkswap over {entry['signatures']}: it warns and destroys"
    assert not entry["partitions"]
    holding(entry, swap_signature(uuid, label))


def _swaplabel(observed: Observed, arguments: list[str]) -> None:
    option, label, path = arguments
    assert option == "--label"
    area = _area(_device(observed, path))
    area["label"] = label
    _device(observed, path)["links"]["by_label"] = [label]


def _wipefs(observed: Observed, arguments: list[str]) -> None:
    option, *paths = arguments
    assert option == "--all"
    for path in paths:
        entry = _idle(observed, path)
        for name in entry["partitions"]:
            _idle(observed, f"/dev/{name}")
            del observed["devices"][name]
        holding(entry)
        entry.update(partitions=[], partition_table=None, content="data")  # only the magic bytes are gone


def _swapoff(observed: Observed, arguments: list[str]) -> None:
    (path,) = arguments
    entry = _device(observed, path)
    assert entry["swap"], f"swapoff: {path} is not active"
    entry.update(swap=None, held=False)
    del observed["below"]["discard"][entry["name"]]


def _swapon(observed: Observed, arguments: list[str]) -> None:
    option, priority, *rest, path = arguments
    assert option == "--priority"
    discard = rest[0].partition("=")[2] if rest else "none"
    entry = _idle(observed, path)
    _area(entry)
    _turn_on(observed, entry, int(priority), discard)


def _systemctl(observed: Observed, arguments: list[str]) -> None:
    if arguments == ["daemon-reload"]:
        _daemon_reload(observed)
    elif arguments[:2] == ["--no-reload", "enable"]:
        _enable(observed, arguments[2:])
    elif arguments[:2] == ["--no-reload", "disable"]:
        _disable(observed, arguments[2:])
    else:
        command, name = arguments
        assert command == "start"
        _start(observed, name)


def _udevadm(_observed: Observed, arguments: list[str]) -> None:
    assert arguments == ["settle"]


_PROGRAMS: dict[str, t.Callable[[Observed, list[str]], None]] = {
    "mkswap": _mkswap,
    "swaplabel": _swaplabel,
    "wipefs": _wipefs,
    "swapoff": _swapoff,
    "swapon": _swapon,
    "systemctl": _systemctl,
    "udevadm": _udevadm,
}


def _start(observed: Observed, name: str) -> None:
    text = _loaded(observed, name)
    assert text is not None, f"systemctl start: no unit {name}"
    assert text == observed["below"]["files"].get(f"{units.UNIT_DIRECTORY}/{name}"), f"{name} would start as it was"
    assert name not in observed["masked"]
    values = units.parse_unit(text)
    uuid = os.path.basename(values["What"])
    entry = _by_uuid(observed, uuid)
    assert entry is not None, f"systemctl start: {name} waits in vain for its device"
    if not entry["swap"]:
        assert not entry["held"]
        _turn_on(observed, entry, int(values["Priority"]), _discard_of(observed, uuid))


def _enable(observed: Observed, names: list[str], links: int | None = None) -> None:
    files = observed["below"]["files"]
    wants = [
        link for name in names for link in _wants_links(name, files[f"{units.UNIT_DIRECTORY}/{name}"])
    ]  # KeyError: no such unit file
    files.update(dict.fromkeys(wants[:links], ""))


def _disable(observed: Observed, names: list[str], links: int | None = None) -> None:
    files = observed["below"]["files"]
    wants = [path for path in sorted(files) if ".wants/" in path and os.path.basename(path) in names]
    for path in wants[:links]:
        del files[path]


def _wants_links(name: str, text: str) -> list[str]:
    return [f"{units.UNIT_DIRECTORY}/{target}.wants/{name}" for target in units.parse_unit(text)["WantedBy"].split()]


def _daemon_reload(observed: Observed) -> None:
    files = observed["below"]["files"]
    below = f"{units.UNIT_DIRECTORY}/"
    observed["below"]["loaded"] = {
        path[len(below) :]: text
        for path, text in files.items()
        if path.startswith(below) and path.endswith(".swap") and "/" not in path[len(below) :]
    }


def _discard_of(observed: Observed, uuid: str) -> str:
    """The discard mode that an area gets from the unit that systemd has in memory, or from who declared it."""
    text = _loaded(observed, units.swap_unit_name(uuid))
    options = units.parse_unit(text).get("Options", "") if text else ""
    return options.partition("=")[2] or "none"


def _turn_on(observed: Observed, entry: Device, priority: int, discard: str) -> None:
    active(entry, priority)
    observed["below"]["discard"][entry["name"]] = discard


def _device(observed: Observed, path: str) -> Device:
    found: Device = next(entry for entry in observed["devices"].values() if entry["path"] == path)
    return found


def _idle(observed: Observed, path: str) -> Device:
    """The device, which nobody may be using: neither it nor what lies on or below it."""
    entry = _device(observed, path)
    family = [entry["name"], *entry["partitions"], *block.ancestors(entry["name"], observed["devices"])]
    for name in family:
        relative = observed["devices"][name]
        if relative["type"] == "disk" and entry["parent"] == name:
            continue  # its disk is in use as far as other partitions of it are
        users = [relative["mounts"], relative["holders"], relative["swap"], relative["held"]]
        assert not any(users), f"{name} is in use: {users}"
    assert not entry["read_only"]
    return entry


def _area(entry: Device) -> Device:
    areas: list[Device] = [found for found in entry["signatures"] if found["type"] == "swap"]
    (area,) = areas
    return area


def _by_uuid(observed: Observed, uuid: str) -> Device | None:
    """What /dev/disk/by-uuid/UUID leads to: udev makes it where blkid finds one thing only."""
    for entry in observed["devices"].values():
        if len(entry["signatures"]) == 1 and entry["signatures"][0]["uuid"] == uuid:
            found: Device = entry
            return found
    return None
