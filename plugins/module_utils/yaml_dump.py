# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data as YAML that every reader takes for the same: block style, and quotes wherever there could be a doubt."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.yaml_text import read

# Words, paths, the durations and quantities of Kubernetes (10s, 4Gi), IPv4 addresses. All else is quoted.
_PLAIN = re.compile(
    r"[A-Za-z/][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*|[0-9]+(?:ms|[hms]|[KMGT]i?)|[0-9]+(?:\.[0-9]+){3}"
)
_NOT_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
_UNREADABLE = re.compile(r"[^\x20-\x7E\xA0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD\U00010000-\U0010FFFF]")


def dump(data: dict[str, t.Any]) -> str:
    """A document with the keys in the given order. Raises ValueError for what does not read back as the same data."""
    text = "".join(f"{line}\n" for line in block_lines(data)) or "{}\n"
    if read(text) != data:
        raise ValueError("found data that YAML does not keep (a key that is not text?), wanted what JSON can hold")
    return text


def block_lines(data: t.Any) -> list[str]:
    """The lines of a mapping or list that is not empty. Lists are in the column of their key, as kubeadm has them."""
    lines: list[str] = []
    if isinstance(data, dict):
        for key, value in data.items():
            short = inline(value)
            lines.append(f"{_quoted(key)}:" if short is None else f"{_quoted(key)}: {short}")
            if short is None:
                margin = "" if isinstance(value, list) else "  "
                lines += [margin + line for line in block_lines(value)]
    else:
        for value in data:
            short = inline(value)
            first, *others = block_lines(value) if short is None else [short]
            lines += [f"- {first}", *(f"  {line}" for line in others)]
    return lines


def inline(value: t.Any) -> str | None:
    """A value for the line of its key. None: it needs lines of its own."""
    if isinstance(value, (dict, list)):
        return None if value else ("{}" if isinstance(value, dict) else "[]")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):  # YAML 1.1 wants a point before the exponent
        return re.sub(r"^(-?[0-9]+)e", r"\1.0e", repr(value))
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    raise TypeError(f"found {type(value).__name__}, wanted what JSON can hold")


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return _UNREADABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(character: re.Match[str]) -> str:
    code = ord(character[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
