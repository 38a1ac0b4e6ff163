# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change some keys of a YAML file and leave all other lines as their owner wrote them."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.yaml_dump import block_lines, inline
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_text import BlockMapping, Entry, YamlError, parse, read

_STEP = 2  # the indentation of a mapping below a key that had none


def merge_patch(target: t.Any, patch: t.Any) -> t.Any:
    """JSON merge patch (RFC 7386): mappings are merged, None removes a key, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def merge(text: str, patch: dict[str, t.Any]) -> str:
    """The text with the patch merged in, or the same text if it is in force already. Raises YamlError for a text that
    is not read, and for JSON (found "JSON"); ValueError for a patch that YAML does not hold.

    New keys stand at the end of their mapping. A value keeps the comment behind it; a key is removed with the lines
    that are indented below it, comments included. A mapping in flow style that changes gets block style.
    """
    root = parse(text)
    if not isinstance(root, BlockMapping):
        raise YamlError(text.count("\n", 0, root.start) + 1, "JSON", "YAML")
    wanted = merge_patch(root.value, patch)
    edits = _Edits(text)
    edits.change(root, patch)
    merged = edits.apply()
    if not _same(read(merged), wanted):
        raise ValueError("found a change that YAML does not keep (a key that is not text?), wanted what JSON can hold")
    return merged


def _same(one: t.Any, other: t.Any) -> bool:
    """Equal, also for a reader who tells true from 1 and 1 from 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    kinds = [(isinstance(value, bool), isinstance(value, float)) for value in (one, other)]
    return kinds[0] == kinds[1] and bool(one == other)


class _Edits:
    """Replacements in one text: (start, end, new text), by offsets of the original. New lines end with a line end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
        self.edits: list[tuple[int, int, str]] = []

    def change(self, mapping: BlockMapping, patch: dict[str, t.Any]) -> None:
        new: dict[str, t.Any] = {}
        for key, value in patch.items():
            entry = mapping.entries.get(key)
            if entry is None:
                if value is not None:
                    new[key] = merge_patch(None, value)
            elif value is None:
                self.edit(entry.line, self.end_of(entry, mapping))
            else:
                self.change_entry(entry, mapping, value)
        if new:
            last = list(mapping.entries.values())[-1:]
            self.insert(self.end_of(last[0], mapping) if last else mapping.end, mapping.indent, new)

    def change_entry(self, entry: Entry, mapping: BlockMapping, patch: t.Any) -> None:
        value = merge_patch(entry.node.value, patch)
        if _same(value, entry.node.value):
            return
        if isinstance(entry.node, BlockMapping) and isinstance(patch, dict) and value:
            self.change(entry.node, patch)
        else:
            self.replace(entry, mapping, value)

    def replace(self, entry: Entry, mapping: BlockMapping, value: t.Any) -> None:
        short = inline(value)
        node, after_colon, end = entry.node, entry.after_colon, self.end_of(entry, mapping)
        if "\n" in self.text[after_colon : node.start]:  # the old value has lines of its own
            self.edit(after_colon, after_colon, "" if short is None else f" {short}")
            self.edit(self.end_of_line(after_colon), end)
        elif short is None or node.start == after_colon:
            self.edit(after_colon, node.end, "" if short is None else f" {short}")
        else:
            self.edit(node.start, node.end, short)
        if short is None:
            self.insert(end, mapping.indent + (0 if isinstance(value, list) else _STEP), value)

    def insert(self, pos: int, indent: int, value: t.Any) -> None:
        self.edit(pos, pos, "".join(f"{' ' * indent}{line}{self.line_end}" for line in block_lines(value)))

    def edit(self, start: int, end: int, new: str = "") -> None:
        self.edits.append((start, end, new))

    def end_of(self, entry: Entry, mapping: BlockMapping) -> int:
        """The end of an entry's last line, or of the comments right below it that are indented more than its key."""
        comments = re.compile(rf"(?: {{{mapping.indent + 1},}}#[^\n]*(?:\n|\Z))*")
        end = self.end_of_line(entry.node.end)
        found = comments.match(self.text, end)
        return found.end() if found else end

    def end_of_line(self, pos: int) -> int:
        return self.text.find("\n", pos) + 1 or len(self.text)

    def apply(self) -> str:
        merged, pos, new = "", 0, ""
        for start, end, new in sorted(self.edits, key=lambda edit: edit[0]):
            merged += self.text[pos:start]
            if new.endswith("\n") and merged and not merged.endswith("\n"):
                merged += self.line_end  # the last line of the file has no end
            merged += new
            pos = max(pos, end)
        if self.text[-1:] not in ("", "\n") and pos == len(self.text) and new.endswith("\n"):
            return merged[: -len(self.line_end)]  # nor has its new last line
        return merged + self.text[pos:]
