# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment files of systemd units (systemd.exec(5), EnvironmentFile=). Pure."""

from __future__ import annotations

import re

# A value goes on in the next line inside quotes, and behind a backslash.
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?P<name>[A-Za-z_]\w*)=[ \t]*(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|(?:\\.|[^\n\\])*)[ \t]*$""",
    re.MULTILINE | re.DOTALL,
)


def parse(text: str) -> dict[str, str]:
    """The variables of a file, quotes taken off; the last assignment of a name counts."""
    return {match.group("name"): _plain(match.group("value")) for match in _ASSIGNMENT.finditer(text)}


def append_word(text: str, name: str, word: str, inherited: str = "") -> str:
    """The same file with `word` at the end of the variable; everything else stays as it is.

    inherited: the value that the variable has without this file. It is kept where the file does not assign it yet.
    """
    found = [match for match in _ASSIGNMENT.finditer(text) if match.group("name") == name]
    if not found:
        start = text if not text or text.endswith("\n") else f"{text}\n"
        return f'{start}{name}="{f"{inherited} {word}".strip()}"\n'
    first, last = found[-1].span("value")
    value = text[first:last].strip()
    quote = value[0] if value[:1] in ('"', "'") else ""
    inner = re.sub(r"(?:\s|\\\n)+\Z", "", value[1:-1] if quote else value)
    quote = quote or ("" if re.search(r"[\"'\\]", value) else '"')
    return f"{text[:first]}{quote}{inner}{' ' if inner else ''}{word}{quote}{text[last:]}"


def _plain(value: str) -> str:
    joined = value.replace("\\\n", "").strip()
    return joined[1:-1] if len(joined) >= 2 and joined[0] == joined[-1] and joined[0] in "\"'" else joined
