# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML of configuration files, read without PyYAML, which nodes do not have.

Read are block mappings and sequences, flow collections (so JSON, too), plain and quoted text on one line, literal
blocks (|) and comments. Everything else is refused with its line, never guessed: duplicate keys, several documents,
anchors, aliases, tags, merge keys, directives, complex keys, folded blocks (>), text that goes on in the next line,
tabs where YAML wants spaces, and keys that are not text.

What a word stands for is told in yaml_scalars.py, with the differences to PyYAML's SafeLoader. Two more of these:
a file without any content is an empty mapping, also where "..." ends it, and a file that begins with "{" may have tabs
between its words, as JSON may.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.virt.hostprep.plugins.module_utils.yaml_scalars import (
    FLOW_PLAIN,
    PLAIN,
    QUOTED,
    NotClear,
    value_of,
)

_MAX_DEPTH = 64  # far from Python's recursion limit
_MAX_KEY = 1024  # YAML: a key that is longer needs a question mark

# YAML 1.1 and 1.2 disagree whether U+0085, U+2028 and U+2029 end a line, so these are let in as escapes only.
_FORBIDDEN = re.compile(
    r"\r(?!\n)|[\u2028\u2029]|[^\t\r\n\x20-\x7E\xA0-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD\U00010000-\U0010FFFF]"
)
_REST_OF_LINE = re.compile(r" *(?:(?<= )#[^\r\n]*)?(?:\r?\n|\Z)")
_BLANK_LINES = re.compile(r"(?: *(?:#[^\r\n]*)?\r?\n)*(?: *(?:#[^\r\n]*)?\Z)?")
_BETWEEN_FLOW = re.compile(r"(?: |\r?\n|(?<=[ \n])#[^\r\n]*)*")
_BETWEEN_JSON = re.compile(r"(?:[ \t]|\r?\n|(?<=[ \t\n])#[^\r\n]*)*")
_MARKER = re.compile(r"(?<![^\n\ufeff])(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")  # at the beginning of a line
_DASH = re.compile(r"-(?=[ \r\n]|\Z)")
_LITERAL = re.compile(r"\|(-?) *(?:(?<= )#[^\r\n]*)?\r?\n")
_LINE = re.compile(r"( *)([^\r\n]*)(\r?\n|\Z)")

_PLAIN = re.compile(PLAIN)
_FLOW_PLAIN = re.compile(FLOW_PLAIN)
_QUOTED = re.compile(QUOTED)
_KEY = re.compile(rf"({QUOTED}|{PLAIN}) *:(?=[ \r\n]|\Z)")
_FLOW_KEY = re.compile(rf"({QUOTED}|{FLOW_PLAIN}(?= *:[ \t\r\n])) *:")  # JSON has "key":value

_INDICATORS = {
    "\t": "a tab",
    "%": "a directive (%)",
    "&": "an anchor (&)",
    "*": "an alias (*)",
    "!": "a tag (!)",
    "?": "a complex key (?)",
    "-": "a list item (-)",
    ">": "a folded block (>)",
    "|": "a literal block with options (only | and |- are read)",
    "'": "a quoted text that does not end on its line",
    '"': "a quoted text that does not end on its line",
}


class YamlError(ValueError):
    """Text that is not read: the line (from 1), what was found there, and what was wanted instead."""

    def __init__(self, line: int, found: str, wanted: str) -> None:
        super().__init__(f"line {line}: found {found}, wanted {wanted}")
        self.line = line
        self.found = found
        self.wanted = wanted


@dataclass
class Node:
    """A value, and where it stands: the offsets of its first character and of the one after its last."""

    value: t.Any
    start: int
    end: int


@dataclass
class Entry:
    """One key of a block mapping: the offsets of its line and of what follows its colon, and its value."""

    line: int
    after_colon: int
    node: Node


@dataclass
class BlockMapping(Node):
    indent: int
    entries: dict[str, Entry] = field(default_factory=dict)


def read(text: str) -> dict[str, t.Any]:
    """The mapping that a file holds. Raises YamlError for everything that is not understood for certain."""
    mapping: dict[str, t.Any] = parse(text).value
    return mapping


def parse(text: str) -> Node:
    """The same with the places in the text: a BlockMapping, or a Node where the file is JSON or in flow style."""
    return _Reader(text).document()


class _Reader:
    """Recursive descent. Between two values, pos is at the first word of the next line, which is in column indent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.indent = -1  # -1: this document has no more lines
        self.depth = 0
        self.between_flow = _BETWEEN_FLOW

    # --- the text ---

    def peek(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.pos)

    def error(self, found: str, wanted: str, pos: int | None = None) -> YamlError:
        return YamlError(self.text.count("\n", 0, self.pos if pos is None else pos) + 1, found, wanted)

    def not_understood(self, wanted: str) -> YamlError:
        rest = self.rest_of_line()
        return self.error(rest if self.match(_QUOTED) else _INDICATORS.get(self.peek(), rest), wanted)

    def rest_of_line(self) -> str:
        rest = self.text[self.pos :].split("\n", 1)[0].strip()
        return f"'{rest[:60]}'" if rest else "the end of the line"

    # --- documents and lines ---

    def document(self) -> Node:
        self.pos = int(self.text.startswith("\ufeff"))
        forbidden = _FORBIDDEN.search(self.text, self.pos)
        if forbidden:
            raise self.error(f"the character U+{ord(forbidden[0]):04X}", "text without it", forbidden.start())
        self.next_line()
        if self.marker() == "---":
            self.pos += 3
            self.end_line("the document in the lines after ---")
        root = self.root()
        if self.marker() == "...":
            self.pos += 3
            self.end_line("the end of the line after ...")
        if self.pos < len(self.text):
            raise self.error("a second document", "one document in a file")
        return root

    def marker(self) -> str:
        found = self.match(_MARKER)
        return found[0] if found else ""

    def root(self) -> Node:
        if self.indent < 0:
            return BlockMapping({}, self.pos, self.pos, indent=0)
        if self.peek() == "{":
            self.between_flow = _BETWEEN_JSON
            root = self.inline(-1)
        elif self.match(_KEY):
            root = self.mapping(self.indent)
        else:
            raise self.not_understood("a mapping (key: value)")
        if self.indent >= 0:
            raise self.error(f"{self.rest_of_line()} with an indentation of its own", "one mapping")
        return root

    def next_line(self) -> None:
        """From the beginning of a line to the next word that is not in a comment."""
        blank = self.match(_BLANK_LINES)
        start = self.pos = blank.end() if blank else self.pos
        if start == len(self.text) or self.marker():
            self.indent = -1
            return
        while self.peek() == " ":
            self.pos += 1
        self.indent = self.pos - start
        if self.peek() == "\t":
            raise self.error("a tab in the indentation", "spaces")

    def end_line(self, wanted: str) -> None:
        rest = self.match(_REST_OF_LINE)
        if not rest:
            raise self.not_understood(wanted)
        self.pos = rest.end()
        self.next_line()

    # --- block style ---

    def block(self) -> Node:
        """The sequence, mapping or value that begins here, in column indent."""
        self.descend()
        if self.match(_DASH):
            node = self.sequence(self.indent)
        elif self.match(_KEY):
            node = self.mapping(self.indent)
        else:
            node = self.inline(self.indent)
        self.depth -= 1
        return node

    def descend(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error("a list or mapping in many others", f"{_MAX_DEPTH} levels at the most")

    def sequence(self, indent: int) -> Node:
        sequence = Node([], self.pos, self.pos)
        while self.indent == indent and self.match(_DASH):
            self.pos += 1
            item = self.value(indent, in_sequence=True)
            sequence.value.append(item.value)
            sequence.end = item.end
        return sequence

    def mapping(self, indent: int) -> BlockMapping:
        mapping = BlockMapping({}, self.pos, self.pos, indent)
        while self.indent == indent:
            line = self.pos - indent
            key = self.key(_KEY, mapping.value)
            after_colon = self.pos
            node = self.value(indent, in_sequence=False)
            mapping.value[key] = node.value
            mapping.entries[key] = Entry(line, after_colon, node)
            mapping.end = node.end
        return mapping

    def key(self, pattern: re.Pattern[str], others: dict[str, t.Any]) -> str:
        found = self.match(pattern)
        if not found:
            raise self.not_understood("a key and its value (key: value)")
        if len(found[0]) > _MAX_KEY:
            raise self.error("a very long key", f"{_MAX_KEY} characters at the most")
        key = self.value_of(found[1])
        if not isinstance(key, str):
            raise self.error(f"the key {found[1]}, which is not text", "text, or the key in quotes")
        if key in others:
            raise self.error(f"the key {key} for the second time", "every key once")
        self.pos = found.end()
        return key

    def value(self, indent: int, in_sequence: bool) -> Node:
        """What follows the colon or dash of an entry in column indent: on its line, or else on the next ones."""
        before = self.pos
        if self.match(_REST_OF_LINE):
            self.end_line("")
            # the items of a key's sequence may be in the column of the key
            in_key_column = not in_sequence and self.indent == indent and self.match(_DASH)
            node = self.block() if self.indent > indent or in_key_column else Node(None, before, before)
        else:
            while self.peek() == " ":
                self.pos += 1
            if in_sequence and (self.match(_DASH) or self.match(_KEY)):
                self.indent = indent + 1 + self.pos - before
                node = self.block()
            else:
                node = self.inline(indent)
        if self.indent > indent:
            raise self.error(
                f"{self.rest_of_line()} with more indentation than what stands before",
                "the next key or item below the one before, and a text on one line",
            )
        return node

    def inline(self, indent: int) -> Node:
        """A value that begins on this line and ends with a line."""
        start = self.pos
        if self.match(_LITERAL):
            return self.literal(indent)
        value = self.flow_value() if self.peek() in ("[", "{") else self.scalar(_PLAIN)
        end = self.pos
        self.end_line("the end of the line after a value")
        return Node(value, start, end)

    def literal(self, indent: int) -> Node:
        """The lines below a |, which are indented as the first one is, or more."""
        header = t.cast("re.Match[str]", self.match(_LITERAL))
        node = Node("", self.pos, header.end())
        self.pos = header.end()
        margin = len(self.line()[1])
        lines: list[str] = []
        while self.pos < len(self.text):
            line = self.line()
            if len(line[1]) < margin and line[2]:
                break
            lines.append(line[0][margin:].rstrip("\r\n"))
            if lines[-1]:
                node.end = line.end(2)
            self.pos = line.end()
        if margin <= indent or not lines or not lines[0]:
            raise self.error("a literal block (|) without an indented first line", "its text there", node.start)
        if not header[1] and node.end == len(self.text):
            raise self.error("a literal block (|) without a line end after it", "a line end, or |-")
        node.value = "\n".join(lines).rstrip("\n") + ("" if header[1] else "\n")
        self.next_line()
        return node

    def line(self) -> re.Match[str]:
        return t.cast("re.Match[str]", self.match(_LINE))

    # --- flow style ---

    def flow_value(self) -> t.Any:
        """What stands here between commas, as data: flow style is replaced as a whole."""
        self.descend()
        if self.peek() == "[":
            value: t.Any = self.flow_sequence()
        elif self.peek() == "{":
            value = self.flow_mapping()
        else:
            value = self.scalar(_FLOW_PLAIN)
        self.depth -= 1
        return value

    def flow_sequence(self) -> list[t.Any]:
        items: list[t.Any] = []
        self.skip_indicator()
        while self.peek() != "]":
            items.append(self.flow_value())
            self.skip_comma("]")
        self.pos += 1
        return items

    def flow_mapping(self) -> dict[str, t.Any]:
        mapping: dict[str, t.Any] = {}
        self.skip_indicator()
        while self.peek() != "}":
            key = self.key(_FLOW_KEY, mapping)
            self.skip_blanks()
            mapping[key] = None if self.peek() in (",", "}") else self.flow_value()
            self.skip_comma("}")
        self.pos += 1
        return mapping

    def skip_comma(self, end: str) -> None:
        self.skip_blanks()
        if self.peek() == ",":
            self.skip_indicator()
        elif self.peek() != end:
            raise self.not_understood(f"a comma or {end}")

    def skip_indicator(self) -> None:
        self.pos += 1
        self.skip_blanks()

    def skip_blanks(self) -> None:
        self.pos = t.cast("re.Match[str]", self.match(self.between_flow)).end()
        if self.marker():
            raise self.error(f"{self.marker()} in a list or mapping", "its end before the end of the document")

    # --- scalars ---

    def scalar(self, plain: re.Pattern[str]) -> t.Any:
        found = self.match(_QUOTED) or self.match(plain)
        if not found:
            raise self.not_understood("a value")
        value = self.value_of(found[0])
        self.pos = found.end()
        return value

    def value_of(self, word: str) -> t.Any:
        try:
            return value_of(word)
        except NotClear as unclear:
            raise self.error(*unclear.args) from unclear
