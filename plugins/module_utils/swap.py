# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dedicated swap on whole devices or partitions: the subject behind swap_device.

An area's UUID is derived from the identity of its device. So check mode can name every file beforehand, a run cut
off after mkswap is recognised by the next, and a local disk that comes back blank gets its old area again.
"""

from __future__ import annotations

import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import block, selection, swap_gate, units
from ansible_collections.virt.hostprep.plugins.module_utils.areas import (
    Area,
    choose,
    in_words_after,
    in_words_before,
    label_of,
    memory_problems,
    swapoff,
    wipe,
)
from ansible_collections.virt.hostprep.plugins.module_utils.block import Device
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Command,
    Plan,
    Problem,
    WriteFile,
    refusal,
)
from ansible_collections.virt.hostprep.plugins.module_utils.swap_removal import plan_absent
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import (
    REFUSED,
    is_ours,
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
    "kubelet_config": {"type": "dict"},
}

_SYSTEMD_PROPERTIES = ("Id", "LoadState", "NeedDaemonReload")


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
        "memory": {name: host.meminfo().get(name, 0) for name in ("MemTotal", "MemAvailable")},
        "kernel_has_swap": host.exists("/proc/swaps"),
        "gate": swap_gate.observe(host),
    }


def plan(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    problems = _input_problems(wanted) + _host_problems(observed)
    if problems:
        return refusal(*problems)
    return plan_absent(observed, wanted) if wanted["state"] == "absent" else _plan_present(observed, wanted)


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


def _plan_present(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    areas, problems = choose(observed, wanted)
    problems += _declaration_problems(areas, observed, wanted)
    going = [area for area in areas if _must_go_off(area, wanted)]
    problems += memory_problems(going, observed)
    if problems:
        return refusal(*problems)

    files = [action for area in areas if not area.declared for action in _unit_files(area, wanted)]
    enable = [
        units.swap_unit_name(area.uuid)
        for area in areas
        if not area.declared and not (area.unit and area.unit["enabled"])
    ]
    actions: list[Action] = [swapoff(area, "change it") for area in going]
    for area in areas:
        actions += _format(area, wanted)
    actions += files
    if enable:
        actions.append(Command(("systemctl", "--no-reload", "enable", *enable), "bring the swap up at every boot"))
    if files or enable or any(_is_stale(area.unit, observed) for area in areas):
        actions.append(Command(("systemctl", "daemon-reload"), "let systemd read the units"))
    starting = [area for area in areas if not area.active or area in going]
    actions += [_start(area, wanted) for area in starting]

    return Plan(
        actions=tuple(actions),
        gates=tuple(swap_gate.gates(observed["gate"], wanted["kubelet_config"])) if starting else (),
        warnings=tuple(
            f"{area.title} stays declared at {area.declared['where']}, which is not changed"
            for area in areas
            if area.declared
        ),
        checks=tuple(check for area in areas for check in _checks(area, observed, wanted)),
        before=tuple(in_words_before(area) for area in areas),
        after=tuple(in_words_after(area, wanted) for area in areas),
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
    if area.device["swap"]["priority"] != wanted["priority"] or label_of(area) != wanted["label"]:
        return True
    if area.declared:
        return False
    have = area.unit["values"].get("Options", "") if area.unit else ""
    want = units.parse_unit(_unit_text(area, wanted)).get("Options", "")
    return bool(have != want)


def _format(area: Area, wanted: dict[str, t.Any]) -> list[Action]:
    path, label = area.device["path"], wanted["label"]
    if area.formatted:
        if label_of(area) == label:
            return []
        return [Command(("swaplabel", "--label", label, path), f"label the swap on {area.title}")]
    actions: list[Action] = []
    if area.verdict.verdict == REFUSED:
        actions = wipe(area)
    return [
        *actions,
        Command(("mkswap", "--label", label, "--uuid", area.uuid, path), f"format {area.title}"),
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


def _systemd_state(host: Host, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    text = host.command(["systemctl", "show", f"--property={','.join(_SYSTEMD_PROPERTIES)}", "--", *names])
    states = [
        dict(line.split("=", 1) for line in paragraph.splitlines() if "=" in line) for paragraph in text.split("\n\n")
    ]
    return {values["Id"]: values for values in states if "Id" in values}
