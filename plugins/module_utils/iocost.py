# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""I/O weights by io.cost: what can stand in for latency targets on kernels without io.latency. Pure.

io.weight means something only where io.cost is enabled for the disk, in the root cgroup, by device number. Numbers
change between boots, so a small unit enables it at each boot for disks by their stable names.
"""

from __future__ import annotations

import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import units
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Action, Check, Command, RemoveFile, WriteFile

QOS = "/sys/fs/cgroup/io.cost.qos"

# Against the 100 of everyone else.
DEFAULT_WEIGHT = "800"

_SCRIPT = 'for disk; do echo $(lsblk --nodeps --noheadings --output MAJ:MIN "$disk") enable=1 ctrl=auto >QOS; done'


def unit_name(slice_name: str) -> str:
    """One unit a slice, so that slices with other disks do not disturb each other."""
    return f"hostprep-iocost-{slice_name[: -len('.slice')]}.service"


def unit_path(slice_name: str) -> str:
    return f"{units.UNIT_DIRECTORY}/{unit_name(slice_name)}"


def boot_link(slice_name: str) -> str:
    return f"{units.UNIT_DIRECTORY}/multi-user.target.wants/{unit_name(slice_name)}"


def unit_text(disks: t.Iterable[str]) -> str:
    script = _SCRIPT.replace("QOS", QOS).replace("$", "$$")
    return (
        f"{units.MARK} Changes are overwritten.\n"
        "[Unit]\n"
        "Description=I/O cost control, without which I/O weights mean nothing\n"
        f"ConditionPathExists={QOS}\n"
        "\n"
        "[Service]\n"
        "Type=oneshot\n"
        "RemainAfterExit=yes\n"
        f"ExecStart=/bin/sh -c '{script}' iocost {' '.join(disks)}\n"
        "\n"
        "[Install]\n"
        "WantedBy=multi-user.target\n"
    )


def checks(qos: str, disks: dict[str, str]) -> list[Check]:
    """One for each disk: its line in io.cost.qos says enable=1. disks: stable name to MAJ:MIN."""
    lines = {line.split()[0]: line.split()[1:] for line in qos.splitlines() if line.split()}
    found = {name: "enabled" if "enable=1" in lines.get(number, []) else "off" for name, number in disks.items()}
    return [
        Check(f"I/O cost control on {name}", "enabled", value, QOS, value == "enabled") for name, value in found.items()
    ]


def enable(slice_name: str, have: str | None, enabled: bool, qos: str, disks: dict[str, str]) -> list[Action]:
    """Write the unit and start it, as far as that is missing."""
    actions: list[Action] = []
    unit, text = unit_name(slice_name), unit_text(disks)
    if have != text:
        actions.append(WriteFile(unit_path(slice_name), text, have or "", "enable I/O cost control at every boot"))
    if actions or not enabled or not all(check.ok for check in checks(qos, disks)):
        # This also lets systemd read the unit, which a run that was cut off may have left unread.
        actions.append(Command(("systemctl", "enable", unit), "start it at every boot"))
        actions.append(Command(("systemctl", "restart", unit), "enable I/O cost control now"))
    return actions


def disable(slice_name: str, have: str | None) -> list[Action]:
    """Forget the unit. io.cost itself stays on until the next boot: without weights it changes nothing."""
    if have is None:
        return []
    return [
        Command(("systemctl", "disable", "--now", unit_name(slice_name)), "leave I/O cost control off at boot"),
        RemoveFile(unit_path(slice_name), have, "forget I/O cost control"),
    ]
