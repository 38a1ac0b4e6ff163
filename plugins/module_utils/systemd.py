# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd says about its units, as `systemctl show` prints it."""

from __future__ import annotations

import typing as t
from datetime import datetime, timezone

from ansible_collections.virt.hostprep.plugins.module_utils.host import Host

UNIT_DIRECTORIES = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)

# Microseconds: what was written and started within the same second has to be told apart.
_TIMESTAMP = "%Y-%m-%d %H:%M:%S.%f UTC"


def show(host: Host, unit: str, properties: t.Sequence[str]) -> dict[str, str]:
    """Properties of one unit, empty if systemd does not know it. What is printed several times is several lines."""
    for block in show_all(host, [unit], properties):
        if block["Id"] == unit:
            return block
    return {}


def show_all(host: Host, patterns: t.Sequence[str], properties: t.Sequence[str]) -> list[dict[str, str]]:
    """Properties of the loaded units that match, one dictionary a unit."""
    names = ",".join(["Id", *properties])
    text = host.command(["systemctl", "show", "--timestamp=us+utc", f"--property={names}", "--", *patterns])
    blocks = []
    for paragraph in text.split("\n\n"):
        block: dict[str, str] = {}
        for line in paragraph.splitlines():
            key, equals, value = line.partition("=")
            if equals:
                block[key] = f"{block[key]}\n{value}" if key in block else value
        if "Id" in block:
            blocks.append(block)
    return blocks


def timestamp(text: str) -> float | None:
    """Seconds since the epoch of a timestamp of systemctl show; None for 'n/a' and nothing."""
    try:
        # Without the weekday: Python would look for its name in the language of the user.
        return datetime.strptime(text.partition(" ")[2], _TIMESTAMP).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
