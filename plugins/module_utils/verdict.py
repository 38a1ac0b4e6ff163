# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May this device become swap? Pure; the only place where that is decided (DESIGN section 4 in code)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils.block import Device, ancestors, stable_name
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import show_size

USABLE = "usable"
OURS = "ours"
REFUSED = "refused"

_SYSTEM_MOUNTS = ("/", "/boot", "/boot/efi", "/efi", "/usr", "/sysroot")
_NOT_LOCAL = ("fc", "fcoe", "iscsi", "rbd", "usb")
_MKSWAP_MINIMUM = 10 * 4096  # ten pages, see mkswap(8)


@dataclass(frozen=True)
class Reason:
    """Why not. What `wipe` gives consent to is content at rest; nothing else."""

    text: str
    wipeable: bool = False


@dataclass(frozen=True)
class Verdict:
    verdict: str
    reasons: tuple[Reason, ...] = ()

    @property
    def wipeable(self) -> bool:
        return self.verdict == REFUSED and all(reason.wipeable for reason in self.reasons)

    def __str__(self) -> str:
        return "; ".join(reason.text for reason in self.reasons) or self.verdict


def swap_area(device: Device) -> dict[str, t.Any] | None:
    """The device's swap signature, if it carries that and nothing else.

    An active area is full of other programs' memory, where a guest's page may look like any signature.
    """
    areas = [signature for signature in device["signatures"] if signature["type"] == "swap"]
    return areas[0] if areas and (device["swap"] or len(device["signatures"]) == 1) else None


def is_ours(device: Device, label: str, recorded: t.Collection[str]) -> bool:
    """Swap with our label, or with a UUID that one of our units names."""
    area = swap_area(device)
    return area is not None and (area["label"] == label or area["uuid"] in recorded)


def judge(name: str, devices: dict[str, Device], label: str, recorded: t.Collection[str]) -> Verdict:
    """The verdict on one device. Every reason is listed, not only the first."""
    device = devices[name]
    ours = is_ours(device, label, recorded)
    in_use = _in_use(name, devices, ours)
    for child in device["partitions"]:
        in_use += _in_use(child, devices, False) + _hibernation(devices[child])
    if device["held"] and not in_use and not device["swap"]:
        in_use.append(Reason(f"{name} is opened exclusively by another program"))
    reasons = _hardware(device) + in_use + ([] if ours else _content(device))
    if reasons:
        return Verdict(REFUSED, tuple(dict.fromkeys(reasons)))
    return Verdict(OURS if ours else USABLE)


def judge_all(devices: dict[str, Device], label: str, recorded: t.Collection[str]) -> list[dict[str, t.Any]]:
    """Every device with its verdict, the reasons in words and the name to use for it."""
    judged = []
    for name, device in sorted(devices.items()):
        verdict = judge(name, devices, label, recorded)
        judged.append(
            {
                **device,
                "stable_name": stable_name(device),
                "verdict": verdict.verdict,
                "reasons": [reason.text for reason in verdict.reasons],
                "wipeable": verdict.wipeable,
            }
        )
    return judged


def _hardware(device: Device) -> list[Reason]:
    reasons = []
    if device["type"] not in ("disk", "part"):
        reasons.append(Reason(f"is of type {device['type']}, not a whole disk or a partition"))
    if device["virtual"]:
        reasons.append(Reason("is a virtual device with no hardware of its own (zvol, network, RAM or stacked)"))
    if device["transport"] in _NOT_LOCAL or str(device["transport"]).startswith("nvme-"):
        reasons.append(Reason(f"is reached over {device['transport']}: swap needs a local disk"))
    if device["removable"]:
        reasons.append(Reason("is removable"))
    if device["read_only"]:
        reasons.append(Reason("is read-only"))
    if device["zoned"]:
        reasons.append(Reason("is a zoned device"))
    if device["state"] not in (None, "live", "running"):
        reasons.append(Reason(f"its controller is in state {device['state']}"))
    if device["size"] < _MKSWAP_MINIMUM:
        reasons.append(Reason(f"has a capacity of {show_size(device['size'])}"))
    return reasons


def _in_use(name: str, devices: dict[str, Device], ours: bool) -> list[Reason]:
    device = devices[name]
    reasons = [Reason(f"{name} is mounted at {target}") for target in device["mounts"]]
    system = sorted(_system_disks(devices) & {name, *ancestors(name, devices)})
    reasons += [Reason(f"{disk} holds this system ({', '.join(_SYSTEM_MOUNTS[:3])})") for disk in system]
    for below in ancestors(name, devices):
        reasons += [Reason(f"{below}, on which it lies, is mounted at {m}") for m in devices[below]["mounts"]]
        if devices[below]["swap"]:
            reasons.append(Reason(f"{below}, on which it lies, is active swap"))
        if device["parent"] == below and devices[below]["holders"]:
            reasons.append(Reason(f"{below}, on which it lies, is held by {', '.join(devices[below]['holders'])}"))
    if device["holders"]:
        reasons.append(Reason(f"{name} is held by {', '.join(device['holders'])}"))
    if device["swap"] and not ours:
        reasons.append(Reason(f"{name} is active swap of another owner"))
    if device["held"] is None and device["type"] in ("disk", "part") and not device["virtual"] and device["size"]:
        reasons.append(Reason(f"{name} cannot be opened"))
    return reasons


def _system_disks(devices: dict[str, Device]) -> set[str]:
    """The disks under /, /boot and the EFI partition, and every device in between."""
    found: set[str] = set()
    for name, device in devices.items():
        if any(target in _SYSTEM_MOUNTS for target in device["mounts"]):
            found |= {name, *ancestors(name, devices)}
    return found


def _hibernation(device: Device) -> list[Reason]:
    if all(signature["type"] != "swsuspend" for signature in device["signatures"]):
        return []
    return [Reason(f"{device['name']} holds a hibernation image (swsuspend): resume or discard it first")]


def _content(device: Device) -> list[Reason]:
    reasons = _hibernation(device)
    for signature in device["signatures"]:
        label = f" labelled {signature['label']!r}" if signature["label"] else ""
        if signature["type"] != "swsuspend":
            reasons.append(Reason(f"carries {signature['type']}{label}", wipeable=True))
    if device["partitions"]:
        reasons.append(Reason(f"has partitions: {', '.join(device['partitions'])}", wipeable=True))
    elif device["partition_table"] and not device["signatures"]:
        reasons.append(Reason(f"carries a partition table ({device['partition_table']})", wipeable=True))
    if device["content"] == "data":
        reasons.append(Reason("holds data that no known signature explains", wipeable=True))
    if device["content"] == "unreadable":
        reasons.append(Reason("cannot be read"))
    return reasons
