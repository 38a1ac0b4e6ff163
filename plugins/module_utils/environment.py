# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment files of systemd units (systemd.exec(5), EnvironmentFile=). Pure."""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)=(?P<value>.*?)\s*$")


def parse(text: str) -> dict[str, str]:
    """The variables of a file, quotes taken off; the last assignment of a name counts."""
    variables = {}
    for line in text.splitlines():
        match = _ASSIGNMENT.match(line)
        if match:
            variables[match.group("name")] = _unquoted(match.group("value"))
    return variables


def append_word(text: str, name: str, word: str) -> str:
    """The same file with `word` at the end of the variable; all other lines stay as they are."""
    lines = text.splitlines()
    for index in reversed(range(len(lines))):
        match = _ASSIGNMENT.match(lines[index])
        if match and match.group("name") == name:
            value = _unquoted(match.group("value"))
            lines[index] = f'{name}="{value} {word}"' if value else f'{name}="{word}"'
            return "\n".join([*lines, ""])
    return "\n".join([*lines, f'{name}="{word}"', ""])


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value
