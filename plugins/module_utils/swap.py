# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dedicated swap on whole devices or partitions: the subject behind swap_device.

An area's UUID is derived from the identity of its device. So check mode can name every file beforehand, a run cut
off after mkswap is recognised by the next, and a local disk that comes back blank gets its old area again.
"""

from __future__ import annotations

import typing as t
import uuid as uuids
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import block, selection, units
from ansible_collections.virt.hostprep.plugins.module_utils.block import Device
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Command,
    Plan,
    Problem,
    RemoveFile,
    WriteFile,
    refusal,
)
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import show_size
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import (
    OURS,
    REFUSED,
    Verdict,
    is_ours,
    judge,
    swap_area,
)

LABEL_BYTES = 15  # the header has 16, mkswap(8) keeps the last one for the terminating NUL
PRIORITIES = range(32768)  # swapon(2); what is below zero is the kernel's own

ARGUMENT_SPEC: dict[str, t.Any] = {
    "select": {"type": "dict", "default": {}, "options": selection.SELECT_SPEC},
    "count": {"type": "int"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "priority": {"type": "int", "default": 100},
    "discard": {"type": "str", "choices": ["none", "once", "pages"], "default": "none"},
    "label": {"type": "str", "default": "hostprep"},
    "wipe": {"type": "bool", "default": False},
}

_NAMESPACE = uuids.UUID("6f1d3c1a-7d0b-4d53-9c5e-2a7f64f6b0aa")
_SYSTEMD_PROPERTIES = ("Id", "LoadState", "ActiveState", "NeedDaemonReload")

# Of the memory that has to take what a swap holds, this part stays free.
_MEMORY_RESERVE = 20


@dataclass(frozen=True)
class Area:
    """A swap area that is, or is to be, on a device."""

    device: Device
    verdict: Verdict
    uuid: str
    formatted: bool
    declared: dict[str, t.Any] | None  # by another owner
    unit: dict[str, t.Any] | None  # ours

    @property
    def active(self) -> bool:
        return self.formatted and self.device["swap"] is not None

    @property
    def title(self) -> str:
        return str(self.device["serial"] or self.device["name"])

    @property
    def name(self) -> str:
        return f"{self.title} ({block.stable_name(self.device)})"


def observe(host: Host, _wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """Read-only. Sizes in bytes. Raises HostprepError without root or without util-linux."""
    host.require_root()
    own = units.read_own_swap_units(host)
    foreign = units.read_foreign_swaps(host)
    for entry in foreign:
        entry["device"] = block.kernel_name(host, entry["path"])
    return {
        "devices": host.once("block", block.observe),
        "units": own,
        "systemd": _systemd_state(host, [unit["name"] for unit in own.values()]),
        "foreign": foreign,
        "masked": units.read_masked_units(host),
        "active": block.active_swaps(host),
        "memory": _meminfo(host),
        "kernel_has_swap": host.exists("/proc/swaps"),
    }


def plan(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    problems = _input_problems(wanted) + _host_problems(observed)
    if problems:
        return refusal(*problems)
    return _plan_absent(observed, wanted) if wanted["state"] == "absent" else _plan_present(observed, wanted)


def state(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """What swap_device returns as `swap`: our areas, and what belongs to others."""
    devices, own = observed["devices"], observed["units"]
    ours = [device for device in devices.values() if is_ours(device, wanted["label"], own)]
    paths = {device["path"] for device in ours}
    return {
        "swap": {
            "areas": [_describe_area(device, own) for device in ours],
            "other_active": [area for area in observed["active"] if area["path"] not in paths],
            "declared_elsewhere": [
                {key: entry[key] for key in ("where", "what", "device", "priority", "discard")}
                for entry in observed["foreign"]
            ],
        }
    }


def _describe_area(device: Device, own: dict[str, t.Any]) -> dict[str, t.Any]:
    area = swap_area(device) or {}
    active = device["swap"] or {}
    return {
        "device": device["path"],
        "stable_name": block.stable_name(device),
        "serial": device["serial"],
        "numa_node": device["numa_node"],
        "size": device["size"],
        "uuid": area.get("uuid"),
        "label": area.get("label"),
        "unit": own.get(area.get("uuid", ""), {}).get("name"),
        "active": bool(active),
        "priority": active.get("priority"),
        "used": active.get("used"),
    }


# --- what may not be -----------------------------------------------------------------------------


def _input_problems(wanted: dict[str, t.Any]) -> list[Problem]:
    problems = []
    if wanted["priority"] not in PRIORITIES:
        problems.append(
            Problem(
                found=f"priority {wanted['priority']}",
                wanted=f"{PRIORITIES.start} to {PRIORITIES.stop - 1}; higher is used first",
                remedy="choose a priority in that range",
            )
        )
    length = len(wanted["label"].encode())
    if not 1 <= length <= LABEL_BYTES:
        problems.append(
            Problem(
                found=f"label {wanted['label']!r} of {length} bytes",
                wanted=f"1 to {LABEL_BYTES} bytes: a swap header has no room for more",
                remedy="choose a shorter label" if length else "choose a label: it marks the area as ours",
            )
        )
    elif not all("!" <= letter <= "~" for letter in wanted["label"]):
        # blkid takes blanks off the end and shows other characters escaped: such a label would never be found again.
        problems.append(
            Problem(
                found=f"label {wanted['label']!r}",
                wanted="letters, digits and punctuation of ASCII, no blanks",
                remedy="choose a label without the other characters",
            )
        )
    if wanted["count"] is not None and wanted["count"] < 1:
        problems.append(
            Problem(
                found=f"count {wanted['count']}",
                wanted="1 or more devices",
                remedy="to remove swap set state to absent",
            )
        )
    select = selection.given(wanted["select"])
    problems += selection.value_problems(select)
    if wanted["state"] == "present" and not select:
        problems.append(
            Problem(
                found="an empty select",
                wanted="at least one criterion that says which devices become swap",
                remedy="name the devices, best by serial; block_device_info lists them",
            )
        )
    if wanted["wipe"] and not any(key in selection.IDENTIFYING for key in select):
        problems.append(
            Problem(
                found=f"wipe together with a selector that names no device ({', '.join(select) or 'empty'})",
                wanted="the device named by serial, wwid or by_id: a pattern cannot consent to data loss",
                remedy="name the device, or leave wipe out",
            )
        )
    return problems


def _host_problems(observed: dict[str, t.Any]) -> list[Problem]:
    problems = []
    if not observed["kernel_has_swap"]:
        problems.append(
            Problem(
                found="no /proc/swaps: this kernel was built without swap",
                wanted="a kernel with CONFIG_SWAP",
                remedy="boot the distribution's standard kernel",
            )
        )
    if "swap.target" in observed["masked"]:
        problems.append(
            Problem(
                found="swap.target is masked, so that no swap comes up at boot",
                wanted="an unmasked swap.target",
                remedy="find out who masked it (kubespray does, unless kubelet_fail_swap_on is false), "
                "then 'systemctl unmask swap.target'",
            )
        )
    return problems


def _memory_problems(going: list[Area], observed: dict[str, t.Any]) -> list[Problem]:
    """Swap turned off needs room for what it holds: free memory, and free swap that stays."""
    paths = {area.device["path"] for area in going}
    used = sum(area["used"] for area in observed["active"] if area["path"] in paths)
    elsewhere = sum(area["size"] - area["used"] for area in observed["active"] if area["path"] not in paths)
    memory = observed["memory"]
    room = max(0, memory["MemAvailable"] - memory["MemTotal"] // _MEMORY_RESERVE) + elsewhere
    if used <= room:
        return []
    return [
        Problem(
            found=f"{show_size(used)} swapped out on {', '.join(area.title for area in going)}, and room for "
            f"{show_size(room)} (memory {show_size(memory['MemAvailable'])} less 1/{_MEMORY_RESERVE} of "
            f"{show_size(memory['MemTotal'])}, other swap {show_size(elsewhere)})",
            wanted="room for all that is swapped out: it has to go somewhere when the swap is turned off",
            remedy="stop or migrate virtual machines first, or add memory or another swap device",
        )
    ]


# --- which devices -------------------------------------------------------------------------------


def _choose(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> tuple[list[Area], list[Problem]]:
    select, devices = wanted["select"], observed["devices"]
    problems = selection.name_problems(select, devices)
    if problems:
        return [], problems
    verdicts = {
        name: judge(name, devices, wanted["label"], observed["units"]) for name in selection.matching(select, devices)
    }
    count = selection.wanted_count(select, wanted["count"])
    if selection.names_devices(select):
        chosen = list(verdicts)
        problems = [
            _refused_problem(devices[name], verdict, wanted)
            for name, verdict in verdicts.items()
            if verdict.verdict == REFUSED and not (wanted["wipe"] and verdict.wipeable)
        ]
    else:
        # Patterns pass over what is refused; areas that are ours already fill the count before new devices.
        accepted = [name for name, verdict in verdicts.items() if verdict.verdict != REFUSED]
        ours = [name for name in accepted if verdicts[name].verdict == OURS]
        chosen = ours if len(ours) >= count else accepted
    if len(chosen) != count and not problems:
        problems = [_count_problem(chosen, count, verdicts, observed, wanted)]
    areas = [_area(name, verdicts[name], observed) for name in chosen]
    return areas, problems or _identity_problems(areas, devices)


def _area(name: str, verdict: Verdict, observed: dict[str, t.Any]) -> Area:
    device = observed["devices"][name]
    signature = swap_area(device) if verdict.verdict == OURS else None
    uuid = signature["uuid"] if signature else area_uuid(device)
    return Area(
        device=device,
        verdict=verdict,
        uuid=uuid,
        formatted=signature is not None,
        declared=next(
            (
                entry
                for entry in observed["foreign"]
                if entry["device"] == name or entry["path"] == units.area_path(uuid)
            ),
            None,
        ),
        unit=observed["units"].get(uuid),
    )


def area_uuid(device: Device) -> str:
    """The same device always gets the same UUID."""
    identity = (device["wwid"], device["serial"], device["partuuid"] if device["type"] == "part" else None)
    if not any(identity):
        identity = (*device["links"]["by_path"], device["name"])
    return str(uuids.uuid5(_NAMESPACE, "|".join(part or "" for part in identity)))


def _refused_problem(device: Device, verdict: Verdict, wanted: dict[str, t.Any]) -> Problem:
    if not verdict.wipeable:
        remedy = "choose another device; this one cannot become swap as it is, and wipe does not change that"
    elif any(key in selection.IDENTIFYING for key in selection.given(wanted["select"])):
        remedy = "choose another device, or set wipe: true to destroy what is on it"
    else:
        remedy = (
            "choose another device, or name it by serial, wwid or by_id and set wipe: true to destroy what is on it"
        )
    return Problem(
        found=f"{selection.describe(device)} {verdict}",
        wanted="a device that is provably empty, or swap of ours",
        remedy=remedy,
    )


def _count_problem(
    chosen: list[str],
    count: int,
    verdicts: dict[str, Verdict],
    observed: dict[str, t.Any],
    wanted: dict[str, t.Any],
) -> Problem:
    devices = observed["devices"]
    criteria = ", ".join(f"{key}: {value}" for key, value in selection.given(wanted["select"]).items())
    if len(chosen) > count:
        listed = ", ".join(selection.describe(devices[name]) for name in chosen)
        return Problem(
            found=f"{len(chosen)} devices match ({criteria}): {listed}",
            wanted=f"exactly {count}",
            remedy=f"name the ones that are meant, best by serial, or set count: {len(chosen)}",
        )
    others = {
        name: verdicts.get(name) or judge(name, devices, wanted["label"], observed["units"])
        for name, device in devices.items()
        if device["type"] == "disk" and not device["virtual"]
    }
    listed = ", ".join(
        f"{selection.describe(devices[name])} {verdict if name in verdicts else 'does not match'}"
        for name, verdict in sorted(others.items())
    )
    return Problem(
        found=f"{len(chosen) or 'no'} matching device{'s' if len(chosen) != 1 else ''} ({criteria}); "
        f"this host has {listed or 'no disks'}",
        wanted=f"exactly {count} that {'is' if count == 1 else 'are'} empty or ours",
        remedy="correct the selector, or add an empty device",
    )


def _identity_problems(areas: list[Area], devices: dict[str, Device]) -> list[Problem]:
    """Cheap drives can share their ids: then two areas would share a UUID, and the boot could take either."""
    problems = []
    for area in areas:
        if area.device["parent"] in [other.device["name"] for other in areas]:
            problems.append(
                Problem(
                    found=f"{selection.describe(area.device)} and its disk {area.device['parent']}, both selected",
                    wanted="either the disk or its partitions",
                    remedy="take one of them out of select",
                )
            )
        twins = [other.device["name"] for other in areas if other.uuid == area.uuid and other is not area]
        twins += [
            name
            for name, device in devices.items()
            if name != area.device["name"] and any(sig["uuid"] == area.uuid for sig in device["signatures"])
        ]
        if twins:
            problems.append(
                Problem(
                    found=f"{selection.describe(area.device)} shares its identity with {', '.join(sorted(set(twins)))}",
                    wanted="devices that can be told apart",
                    remedy="take out one of them, or use a partition with its own partlabel",
                )
            )
    return problems


# --- present -------------------------------------------------------------------------------------


def _plan_present(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    areas, problems = _choose(observed, wanted)
    problems += _declaration_problems(areas, observed, wanted)
    going = [area for area in areas if _must_go_off(area, wanted)]
    problems += _memory_problems(going, observed)
    if problems:
        return refusal(*problems)

    files = [action for area in areas if not area.declared for action in _unit_files(area, wanted)]
    enable = [
        units.swap_unit_name(area.uuid)
        for area in areas
        if not area.declared and not (area.unit and area.unit["enabled"])
    ]
    actions: list[Action] = [_swapoff(area, "change it") for area in going]
    for area in areas:
        actions += _format(area, wanted)
    actions += files
    if enable:
        actions.append(Command(("systemctl", "--no-reload", "enable", *enable), "bring the swap up at every boot"))
    if files or enable or any(_is_stale(area.unit, observed) for area in areas):
        actions.append(Command(("systemctl", "daemon-reload"), "let systemd read the units"))
    for area in areas:
        if not area.active or area in going:
            actions.append(_start(area, wanted))

    return Plan(
        actions=tuple(actions),
        warnings=tuple(
            f"{area.title} stays declared at {area.declared['where']}, which is not changed"
            for area in areas
            if area.declared
        ),
        checks=tuple(check for area in areas for check in _checks(area, observed, wanted)),
        before=tuple(_before(area) for area in areas),
        after=tuple(_after(area, wanted) for area in areas),
    )


def _declaration_problems(areas: list[Area], observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> list[Problem]:
    problems = []
    for area in areas:
        name = units.swap_unit_name(area.uuid)
        if name in observed["masked"]:
            problems.append(
                Problem(
                    found=f"{name} is masked: somebody switched this swap off for good",
                    wanted="a unit that may be started",
                    remedy=f"'systemctl unmask {name}' if that is no longer meant",
                )
            )
        entry = area.declared
        if entry is None:
            continue
        asked = (wanted["priority"], wanted["discard"])
        about_to_go = area.verdict.verdict == REFUSED  # it names what wipe would destroy
        if area.unit or about_to_go or (entry["priority"], entry["discard"]) != asked:
            problems.append(
                Problem(
                    found=f"{area.title} is declared as swap at {entry['where']} (priority {entry['priority']}, "
                    f"discard {entry['discard']}){', and by our unit' if area.unit else ''}",
                    wanted=f"one owner of this area, with priority {asked[0]} and discard {asked[1]}",
                    remedy=f"remove {entry['where']}, or ask for what stands there",
                )
            )
    return problems


def _must_go_off(area: Area, wanted: dict[str, t.Any]) -> bool:
    """Priority and discard are given to swapon(2), and the label of a running area cannot be written."""
    if not area.active:
        return False
    if area.device["swap"]["priority"] != wanted["priority"] or _label(area) != wanted["label"]:
        return True
    if area.declared:
        return False
    have = area.unit["values"].get("Options", "") if area.unit else ""
    want = units.parse_unit(_unit_text(area, wanted)).get("Options", "")
    return bool(have != want)


def _format(area: Area, wanted: dict[str, t.Any]) -> list[Action]:
    path, label = area.device["path"], wanted["label"]
    if area.formatted:
        if _label(area) == label:
            return []
        return [Command(("swaplabel", "--label", label, path), f"label the swap on {area.title}")]
    actions: list[Action] = []
    if area.verdict.verdict == REFUSED:
        actions = _wipe(area)
    return [
        *actions,
        Command(("mkswap", "--label", label, "--uuid", area.uuid, path), f"format {area.title}"),
    ]


def _wipe(area: Area) -> list[Action]:
    """Signatures of the partitions go first, so that nothing comes back inside a later partition."""
    settle = Command(("udevadm", "settle"), "let udev see what was wiped")
    actions: list[Action] = []
    partitions = [f"/dev/{name}" for name in area.device["partitions"]]
    if partitions:
        actions += [Command(("wipefs", "--all", *partitions), f"wipe the partitions of {area.title}"), settle]
    return [
        *actions,
        Command(("wipefs", "--all", area.device["path"]), f"wipe {area.title}, as asked"),
        settle,
    ]


def _unit_text(area: Area, wanted: dict[str, t.Any]) -> str:
    return units.swap_unit(area.uuid, area.device["serial"], area.device["wwid"], wanted["priority"], wanted["discard"])


def _unit_files(area: Area, wanted: dict[str, t.Any]) -> list[Action]:
    have = area.unit or {"text": "", "drop_in": ""}
    # The unit is what we know an area's files by: the first to come and the last to go.
    files = (
        (units.swap_unit_path(area.uuid), have["text"], _unit_text(area, wanted), "make the swap persistent"),
        (
            units.device_drop_in_path(area.uuid),
            have["drop_in"],
            units.device_drop_in(),
            "keep the boot short",
        ),
    )
    return [WriteFile(path, new, old, f"{why} ({area.title})") for path, old, new, why in files if old != new]


def _start(area: Area, wanted: dict[str, t.Any]) -> Action:
    reason = f"turn on the swap on {area.title}"
    if not area.declared:
        return Command(("systemctl", "start", units.swap_unit_name(area.uuid)), reason)
    discard = [] if wanted["discard"] == "none" else [f"--discard={wanted['discard']}"]
    return Command(("swapon", "--priority", str(wanted["priority"]), *discard, area.device["path"]), reason)


def _swapoff(area: Area, purpose: str) -> Action:
    return Command(("swapoff", area.device["path"]), f"turn off the swap on {area.title} to {purpose}")


def _is_stale(unit: dict[str, t.Any] | None, observed: dict[str, t.Any]) -> bool:
    """systemd has not read the unit as it is on disk: a run was cut off before the reload."""
    loaded = observed["systemd"].get(unit["name"], {}) if unit else {}
    return unit is not None and (loaded.get("LoadState") != "loaded" or loaded.get("NeedDaemonReload") == "yes")


def _checks(area: Area, observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> list[Check]:
    active = f"active, priority {area.device['swap']['priority']}" if area.active else "not active"
    want = f"active, priority {wanted['priority']}"
    checks = [Check(f"swap on {area.title}", want, active, "/proc/swaps", active == want)]
    if area.declared:
        checks.append(Check(f"swap on {area.title} at boot", "declared", "declared", area.declared["where"], ok=True))
        return checks
    if area.unit is None:
        found = "no unit"
    elif area.unit["text"] != _unit_text(area, wanted) or area.unit["drop_in"] != units.device_drop_in():
        found = "another unit text"
    elif not area.unit["enabled"]:
        found = "not enabled"
    elif _is_stale(area.unit, observed):
        found = "not loaded by systemd"
    else:
        found = "enabled"
    path = units.swap_unit_path(area.uuid)
    checks.append(Check(f"swap on {area.title} at boot", "enabled", found, path, found == "enabled"))
    return checks


def _before(area: Area) -> str:
    if not area.formatted:
        return f"{area.name}: {area.verdict if area.verdict.reasons else 'empty'}"
    active = f"active with priority {area.device['swap']['priority']}" if area.active else "not active"
    options = (area.unit or {"values": {}})["values"].get("Options", "")
    discard = options[len("discard=") :] if options.startswith("discard=") else "none"
    if area.declared:
        discard = area.declared["discard"]
    at_boot = bool(area.declared or (area.unit and area.unit["enabled"]))
    return _in_words(area, _label(area), discard, active, at_boot)


def _after(area: Area, wanted: dict[str, t.Any]) -> str:
    active = f"active with priority {wanted['priority']}"
    return _in_words(area, wanted["label"], wanted["discard"], active, at_boot=True)


def _in_words(area: Area, label: str | None, discard: str, active: str, at_boot: bool) -> str:
    boot = "at boot" if at_boot else "not at boot"
    return f"{area.name}: swap {area.uuid}, label {label}, discard {discard}, {active}, {boot}"


def _label(area: Area) -> str | None:
    return t.cast("str | None", (swap_area(area.device) or {}).get("label"))


# --- absent --------------------------------------------------------------------------------------


def _plan_absent(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    devices, own = observed["devices"], observed["units"]
    select = selection.given(wanted["select"])
    names = selection.matching(select, devices) if select else list(devices)
    ours = [name for name in names if is_ours(devices[name], wanted["label"], own)]
    areas = [_area(name, Verdict(OURS), observed) for name in ours]
    orphans = {
        uuid: unit
        for uuid, unit in own.items()
        if not any(sig["uuid"] == uuid for device in devices.values() for sig in device["signatures"])
        and (not select or _orphan_selected(unit, select, [devices[name] for name in names]))
    }
    active = [area for area in areas if area.active]
    problems = selection.name_problems(select, devices, must_exist=False)
    problems += _absent_problems(names if selection.names_devices(select) else [], ours, areas, devices)
    problems += _memory_problems(active, observed)
    if problems:
        return refusal(*problems)

    actions: list[Action] = [_swapoff(area, "remove it") for area in active]
    if wanted["wipe"]:  # before the units go: an area may be known as ours by its unit alone
        actions += [action for area in areas for action in _wipe(area)]
    gone = {area.uuid: area.unit for area in areas if area.unit} | orphans
    if gone:
        names_of_units = sorted(unit["name"] for unit in gone.values())
        actions.append(Command(("systemctl", "--no-reload", "disable", *names_of_units), "keep it off at boot"))
        for uuid, unit in gone.items():
            if unit["drop_in"]:
                actions.append(RemoveFile(units.device_drop_in_path(uuid), unit["drop_in"], "remove its drop-in"))
            actions.append(RemoveFile(units.swap_unit_path(uuid), unit["text"], "remove our unit"))
        actions.append(Command(("systemctl", "daemon-reload"), "let systemd forget the units"))
    stays = [area for area in areas if not wanted["wipe"]]
    return Plan(
        actions=tuple(actions),
        checks=tuple(
            Check(
                f"swap on {area.title}",
                "not active, not at boot",
                f"{'active' if area.active else 'not active'}, {'at boot' if area.unit else 'not at boot'}",
                "/proc/swaps",
                not area.active and not area.unit,
            )
            for area in areas
        ),
        before=tuple(_before(area) for area in areas) + tuple(unit["name"] for unit in orphans.values()),
        after=tuple(_in_words(area, _label(area), "none", "not active", at_boot=False) for area in stays),
    )


def _orphan_selected(unit: dict[str, t.Any], select: dict[str, t.Any], matching: list[Device]) -> bool:
    """A unit whose area is gone is known by what it says of its device, which may be gone, too."""
    meant = {value for key in ("serial", "wwid") for value in select.get(key, [])}
    meant |= {device[key] for device in matching for key in ("serial", "wwid") if device[key]}
    return not meant.isdisjoint((unit["values"].get("X-HostprepSerial"), unit["values"].get("X-HostprepWwid")))


def _absent_problems(names: list[str], ours: list[str], areas: list[Area], devices: dict[str, Device]) -> list[Problem]:
    problems = [
        Problem(
            found=f"{selection.describe(devices[name])} is active swap of another owner",
            wanted="swap of ours: other swap is left alone",
            remedy="remove it where it was declared, or take the device out of select",
        )
        for name in names
        if name not in ours and devices[name]["swap"]
    ]
    problems += [
        Problem(
            found=f"{area.title} is declared as swap at {area.declared['where']}",
            wanted="an area that does not come back at the next boot",
            remedy=f"remove {area.declared['where']} first: we change only what is ours",
        )
        for area in areas
        if area.declared
    ]
    return problems


# --- reading -------------------------------------------------------------------------------------


def _systemd_state(host: Host, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    text = host.command(["systemctl", "show", f"--property={','.join(_SYSTEMD_PROPERTIES)}", "--", *names])
    states = [
        dict(line.split("=", 1) for line in paragraph.splitlines() if "=" in line) for paragraph in text.split("\n\n")
    ]
    return {values["Id"]: values for values in states if "Id" in values}


def _meminfo(host: Host) -> dict[str, int]:
    values = {"MemTotal": 0, "MemAvailable": 0}
    for line in (host.read("/proc/meminfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key in values:
            values[key] = int(value.split()[0]) * 1024
    return values
