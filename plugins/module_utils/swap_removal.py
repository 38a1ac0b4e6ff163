# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking swap away: exactly what is ours, and nothing else. Pure; a part of the subject in swap.py."""

from __future__ import annotations

import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import selection, units
from ansible_collections.virt.hostprep.plugins.module_utils.areas import (
    Area,
    area_on,
    in_words,
    in_words_before,
    label_of,
    memory_problems,
    swapoff,
    wipe,
)
from ansible_collections.virt.hostprep.plugins.module_utils.block import Device
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Command,
    Plan,
    Problem,
    RemoveFile,
    refusal,
)
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import OURS, Verdict, is_ours


def plan_absent(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    devices, own = observed["devices"], observed["units"]
    select = selection.given(wanted["select"])
    names = selection.matching(select, devices) if select else list(devices)
    ours = [name for name in names if is_ours(devices[name], wanted["label"], own)]
    areas = [area_on(name, Verdict(OURS), observed) for name in ours]
    orphans = {
        uuid: unit
        for uuid, unit in own.items()
        if not any(sig["uuid"] == uuid for device in devices.values() for sig in device["signatures"])
        and (not select or _orphan_selected(unit, select, [devices[name] for name in names]))
    }
    active = [area for area in areas if area.active]
    problems = selection.name_problems(select, devices, must_exist=False)
    problems += _absent_problems(names if selection.names_devices(select) else [], ours, areas, devices)
    problems += memory_problems(active, observed)
    if problems:
        return refusal(*problems)

    actions: list[Action] = [swapoff(area, "remove it") for area in active]
    if wanted["wipe"]:  # before the units go: an area may be known as ours by its unit alone
        actions += [action for area in areas for action in wipe(area)]
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
        before=tuple(in_words_before(area) for area in areas) + tuple(unit["name"] for unit in orphans.values()),
        after=tuple(in_words(area, label_of(area), "none", "not active", at_boot=False) for area in stays),
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
