# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd units as text: names, the swap unit that we write, and what other owners declare. Pure, but for read_*."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.host import Host

UNIT_DIRECTORY = "/etc/systemd/system"
MARK = "# Managed by virt.hostprep."

# How long the boot waits for a swap device that is not there before it goes on without it.
_DEVICE_TIMEOUT = "15s"

_OTHER_DIRECTORIES = (
    "/run/systemd/system",
    "/run/systemd/generator.early",
    "/run/systemd/generator",
    "/run/systemd/generator.late",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)


def escape_path(path: str) -> str:
    """A path as systemd-escape --path writes it: /dev/disk/by-uuid/1-2 becomes dev-disk-by\\x2duuid-1\\x2d2."""
    parts = [part for part in path.split("/") if part]
    escaped = "-".join(re.sub(r"[^a-zA-Z0-9:_.]", _hex, part) for part in parts)
    return f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped or "-"


def _hex(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match.group().encode())


def area_path(uuid: str) -> str:
    return f"/dev/disk/by-uuid/{uuid}"


def swap_unit_name(uuid: str) -> str:
    return f"{escape_path(area_path(uuid))}.swap"


def device_unit_name(uuid: str) -> str:
    return f"{escape_path(area_path(uuid))}.device"


def swap_unit_path(uuid: str) -> str:
    return f"{UNIT_DIRECTORY}/{swap_unit_name(uuid)}"


def device_drop_in_path(uuid: str) -> str:
    return f"{UNIT_DIRECTORY}/{device_unit_name(uuid)}.d/90-hostprep.conf"


def swap_unit(uuid: str, serial: str | None, wwid: str | None, priority: int, discard: str) -> str:
    """The unit that brings one swap area up at boot.

    WantedBy, not RequiredBy: a failing area never blocks the boot. The link from the device brings up an
    area whose device appears late.
    """
    options = f"Options=discard={discard}\n" if discard != "none" else ""
    return (
        f"{MARK} Changes are overwritten.\n"
        "[Unit]\n"
        f"Description=Dedicated swap on {serial or 'a device without serial'}\n"
        f"X-HostprepSerial={serial or ''}\n"
        f"X-HostprepWwid={wwid or ''}\n"
        "\n"
        "[Swap]\n"
        f"What={area_path(uuid)}\n"
        f"Priority={priority}\n"
        f"{options}"
        "\n"
        "[Install]\n"
        f"WantedBy=swap.target {device_unit_name(uuid)}\n"
    )


def device_drop_in() -> str:
    return (
        f"{MARK} Changes are overwritten.\n"
        "# A missing swap device must not hold the boot up for the default 90 seconds.\n"
        "[Unit]\n"
        f"JobRunningTimeoutSec={_DEVICE_TIMEOUT}\n"
    )


def parse_unit(text: str) -> dict[str, str]:
    """The last value of each key of a unit file, whatever its section. Enough for swap units."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            values[key.strip()] = value.strip()
    return values


def read_own_swap_units(host: Host) -> dict[str, dict[str, t.Any]]:
    """Our swap units by the UUID that they name: text, device drop-in, and whether both links are there."""
    units = {}
    for name in host.names(UNIT_DIRECTORY):
        text = host.read_raw(f"{UNIT_DIRECTORY}/{name}") if name.endswith(".swap") else None
        if text is None or not text.startswith(MARK):
            continue
        uuid = os.path.basename(parse_unit(text).get("What", ""))
        wants = ("swap.target", device_unit_name(uuid))
        units[uuid] = {
            "name": name,
            "text": text,
            "values": parse_unit(text),
            "drop_in": host.read_raw(device_drop_in_path(uuid)) or "",
            "enabled": all(host.exists(f"{UNIT_DIRECTORY}/{target}.wants/{name}") for target in wants),
        }
    return units


def read_foreign_swaps(host: Host) -> list[dict[str, t.Any]]:
    """Swap that others declared for the boot: fstab lines, GPT auto-discovery, other units.

    Each has where (file and line, or file), what (as written), path (a device path or "") and priority.
    """
    declared = []
    for number, line in enumerate((host.read("/etc/fstab") or "").splitlines(), start=1):
        fields = line.split()
        if len(fields) >= 3 and fields[2] == "swap" and not fields[0].startswith("#"):
            options = fields[3] if len(fields) > 3 else ""
            declared.append(_declaration(f"/etc/fstab:{number}", fields[0], options))
    for directory in (UNIT_DIRECTORY, *_OTHER_DIRECTORIES):
        for name in host.names(directory):
            text = host.read_raw(f"{directory}/{name}") if name.endswith(".swap") else None
            if text is None or text.startswith(MARK):
                continue
            values = parse_unit(text)
            # The generator's copy of an fstab line is that line, not a second owner.
            if values.get("What") and values.get("SourcePath") != "/etc/fstab":
                options = values.get("Options", "")
                if "pri=" not in options and "Priority" in values:
                    options = f"{options},pri={values['Priority']}"
                declared.append(_declaration(f"{directory}/{name}", values["What"], options))
    return declared


def read_masked_units(host: Host) -> list[str]:
    """Units that an administrator switched off for good, by the link to /dev/null."""
    return [
        name
        for directory in (UNIT_DIRECTORY, "/run/systemd/system")
        for name in host.names(directory)
        if host.link(f"{directory}/{name}") == "/dev/null"
    ]


def _declaration(where: str, what: str, options: str) -> dict[str, t.Any]:
    priority = re.search(r"(?:^|,)pri=(-?\d+)", options)
    discard = re.search(r"(?:^|,)discard(?:=(\w+))?(?:,|$)", options)
    return {
        "where": where,
        "what": what,
        "path": _device_path(what),
        "priority": int(priority.group(1)) if priority else None,
        "discard": "none" if discard is None else discard.group(1) or "both",
    }


def _device_path(what: str) -> str:
    key, equals, value = what.partition("=")
    if equals and key in ("UUID", "LABEL", "PARTUUID", "PARTLABEL"):
        return f"/dev/disk/by-{key.lower()}/{value.strip(chr(34))}"
    return what if what.startswith("/dev/") else ""
