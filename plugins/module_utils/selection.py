# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices a selector means. Pure: it never picks "the first", and a name that is not stable is refused."""

from __future__ import annotations

import fnmatch
import os
import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.block import Device, stable_name
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import parse_size, show_size

# Criteria that name single devices; all others are patterns that may match any number.
NAMING = ("by_id", "wwid", "serial", "by_path", "partlabel")
# The names that identify the hardware itself: only these carry the consent to wipe.
IDENTIFYING = ("by_id", "wwid", "serial")

SELECT_SPEC: dict[str, t.Any] = {
    "by_id": {"type": "list", "elements": "str"},
    "wwid": {"type": "list", "elements": "str"},
    "serial": {"type": "list", "elements": "str"},
    "by_path": {"type": "list", "elements": "str"},
    "partlabel": {"type": "list", "elements": "str"},
    "model": {"type": "str"},
    "min_size": {"type": "str"},
    "max_size": {"type": "str"},
    "numa_node": {"type": "int"},
    "transport": {"type": "str", "choices": ["nvme", "sata", "sas", "virtio"]},
}

_KERNEL_NAME = re.compile(
    r"^(/dev/|/dev/disk/)?(nvme\d+(c\d+)?n\d+(p\d+)?|[svh]d[a-z]+\d*|xvd[a-z]+\d*|(dm-|md|loop|zram|mmcblk)\d+(p\d+)?)$"
)


def given(select: dict[str, t.Any]) -> dict[str, t.Any]:
    """The criteria that were really given."""
    return {key: value for key, value in select.items() if value not in (None, [], "")}


def names_devices(select: dict[str, t.Any]) -> bool:
    return any(key in NAMING for key in given(select))


def wanted_count(select: dict[str, t.Any], count: int | None) -> int:
    """How many devices: as said, else as many as are named, else one."""
    return count or max((len(select[key]) for key in NAMING if select.get(key)), default=1)


def value_problems(select: dict[str, t.Any]) -> list[Problem]:
    """Sizes that are none. Raised by quantity, collected here so that all are reported at once."""
    problems: list[Problem] = []
    for key in ("min_size", "max_size"):
        if select.get(key):
            try:
                parse_size(select[key], f"select.{key}")
            except HostprepError as error:
                problems += error.problems
    return problems


def name_problems(select: dict[str, t.Any], devices: dict[str, Device], must_exist: bool = True) -> list[Problem]:
    """Names in the selector that are not stable, or that no device has."""
    problems = []
    for key in NAMING:
        for value in select.get(key) or []:
            if _KERNEL_NAME.match(value):
                problems.append(_kernel_name_problem(key, value, devices))
            elif must_exist and not any(_named(device, key, value) for device in devices.values()):
                problems.append(
                    Problem(
                        found=f"no device with {key} {value!r}; this host has {_inventory(devices)}",
                        wanted=f"one device with {key} {value!r}",
                        remedy="correct the name, or look whether the device is still there",
                    )
                )
    return problems


def matching(select: dict[str, t.Any], devices: dict[str, Device]) -> list[str]:
    """Kernel names of the devices that fulfil every given criterion, sorted."""
    criteria = given(select)
    return sorted(name for name, device in devices.items() if _matches(device, criteria))


def describe(device: Device) -> str:
    """A device in words: its stable name first, so that it can be copied into the variables."""
    facts = [f"serial {device['serial']}"] if device["serial"] else []
    facts.append(show_size(device["size"]))
    return f"{stable_name(device)} ({device['name']}, {', '.join(facts)})"


def _matches(device: Device, criteria: dict[str, t.Any]) -> bool:
    # Partitions, and what is stacked on disks, are meant only where a name says so.
    if not criteria or (device["type"] != "disk" and not any(_links_to(device, key, criteria) for key in criteria)):
        return False
    for key, value in criteria.items():
        if key in NAMING:
            if not any(_named(device, key, name) for name in value):
                return False
        elif not _fits(device, key, value):
            return False
    return True


def _links_to(device: Device, key: str, criteria: dict[str, t.Any]) -> bool:
    """Serial and wwid are those of the whole disk: only links and partition labels mean less than that."""
    return key in ("by_id", "by_path", "partlabel") and any(_named(device, key, name) for name in criteria[key])


def _named(device: Device, key: str, value: str) -> bool:
    if key in ("by_id", "by_path"):
        return bool(_plain_link(value, key) in device["links"][key])
    if key == "partlabel":
        return bool(_plain_link(value, "by_partlabel") == device["partlabel"])
    return bool(device[key] == value) and device["type"] == "disk"


def _plain_link(value: str, key: str) -> str:
    """Links may be given with or without their directory."""
    prefix = f"/dev/disk/{key.replace('_', '-')}/"
    return value[len(prefix) :] if value.startswith(prefix) else value


def _fits(device: Device, key: str, value: t.Any) -> bool:
    if key == "model":
        return fnmatch.fnmatchcase(device["model"] or "", value)
    if key == "min_size":
        return bool(device["size"] >= parse_size(value, "select.min_size"))
    if key == "max_size":
        return bool(device["size"] <= parse_size(value, "select.max_size"))
    return bool(device[key] == value)


def _kernel_name_problem(key: str, value: str, devices: dict[str, Device]) -> Problem:
    device = devices.get(os.path.basename(value))
    if device is None:
        remedy = f"name it by serial, wwid or by_id; this host has {_inventory(devices)}"
    else:
        stable = [f"by_id: {name}" for name in device["links"]["by_id"]]
        stable += [f"serial: {device['serial']}"] if device["serial"] else []
        stable += [f"by_path: {name}" for name in device["links"]["by_path"]]
        remedy = f"use one of its stable names: {', '.join(stable) or 'udev knows none, choose another device'}"
    return Problem(
        found=f"{key} {value!r}, a kernel name, which can belong to another device after the next boot",
        wanted="a stable name",
        remedy=remedy,
    )


def _inventory(devices: dict[str, Device]) -> str:
    disks = [describe(device) for device in devices.values() if device["type"] == "disk" and not device["virtual"]]
    return ", ".join(disks) or "no disks"
