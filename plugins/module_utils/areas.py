# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Swap areas: what is on a device or is to be, and which devices a selector chooses. Pure."""

from __future__ import annotations

import typing as t
import uuid as uuids
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import block, selection, units
from ansible_collections.virt.hostprep.plugins.module_utils.block import Device
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Action, Command, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import show_size
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import (
    OURS,
    REFUSED,
    Verdict,
    is_ours,
    judge,
    swap_area,
)

_NAMESPACE = uuids.UUID("6f1d3c1a-7d0b-4d53-9c5e-2a7f64f6b0aa")

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


def choose(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> tuple[list[Area], list[Problem]]:
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
        # Patterns pass over what is refused, but not over an area of ours that has failed: another device in its place
        # would be one more than asked for. Areas that are ours fill the count before new devices.
        problems = [
            _refused_problem(devices[name], verdict, wanted)
            for name, verdict in verdicts.items()
            if verdict.verdict == REFUSED and is_ours(devices[name], wanted["label"], observed["units"])
        ]
        accepted = [name for name, verdict in verdicts.items() if verdict.verdict != REFUSED]
        ours = [name for name in accepted if verdicts[name].verdict == OURS]
        chosen = ours if len(ours) >= count else accepted
    if len(chosen) != count and not problems:
        problems = [_count_problem(chosen, count, verdicts, observed, wanted)]
    areas = [area_on(name, verdicts[name], observed) for name in chosen]
    return areas, problems or _identity_problems(areas, devices)


def area_on(name: str, verdict: Verdict, observed: dict[str, t.Any]) -> Area:
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


def memory_problems(going: list[Area], observed: dict[str, t.Any]) -> list[Problem]:
    """Swap turned off needs room for what it holds: free memory, and free swap that stays."""
    paths = {area.device["path"] for area in going}
    used = sum(area["used"] for area in observed["active"] if area["path"] in paths)
    others = [area for area in observed["active"] if area["path"] not in paths]
    # zram is memory itself: what moves there makes no room.
    elsewhere = sum(area["size"] - area["used"] for area in others if not area["path"].startswith("/dev/zram"))
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


def swapoff(area: Area, purpose: str) -> Action:
    return Command(("swapoff", area.device["path"]), f"turn off the swap on {area.title} to {purpose}")


def wipe(area: Area) -> list[Action]:
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


def in_words_before(area: Area) -> str:
    if not area.formatted:
        return f"{area.name}: {area.verdict if area.verdict.reasons else 'empty'}"
    active = f"active with priority {area.device['swap']['priority']}" if area.active else "not active"
    options = (area.unit or {"values": {}})["values"].get("Options", "")
    discard = options[len("discard=") :] if options.startswith("discard=") else "none"
    if area.declared:
        discard = area.declared["discard"]
    at_boot = bool(area.declared or (area.unit and area.unit["enabled"]))
    return in_words(area, label_of(area), discard, active, at_boot)


def in_words_after(area: Area, wanted: dict[str, t.Any]) -> str:
    active = f"active with priority {wanted['priority']}"
    return in_words(area, wanted["label"], wanted["discard"], active, at_boot=True)


def in_words(area: Area, label: str | None, discard: str, active: str, at_boot: bool) -> str:
    boot = "at boot" if at_boot else "not at boot"
    return f"{area.name}: swap {area.uuid}, label {label}, discard {discard}, {active}, {boot}"


def label_of(area: Area) -> str | None:
    return t.cast("str | None", (swap_area(area.device) or {}).get("label"))
