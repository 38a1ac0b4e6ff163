# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of YAML: how plain and quoted texts are written on one line, and what they stand for.

Plain words become what both PyYAML's SafeLoader and the kubelet's reader (sigs.k8s.io/yaml, which is go-yaml v2)
take them for. Where these two differ, or YAML 1.2 takes a number for another one:

- text for the kubelet is text here: 1:30 (no base 60) and 2026-01-31 (no timestamp);
- refused, because decimal numbers and quoted text are never misread: 0755, 0o17, 0x1F, 1_000, 1e3, -.5, y, n, .inf.
"""

from __future__ import annotations

import math
import re
import typing as t

# A plain text consists of words: a colon with a blank behind it ends it, and so does a blank with a # behind it.
_NO_INDICATOR = r"""(?![-?:,\[\]{}#&*!|>'"%@`])"""
_WORD = r"(?:[^ \t\r\n:]|:(?=[^ \t\r\n]))+"
_FLOW_WORD = r"(?:[^ \t\r\n:,?\[\]{}]|:(?=[^ \t\r\n,\[\]{}]))+"
PLAIN = rf"(?:{_NO_INDICATOR}|(?=[-?:][^ \t\r\n])){_WORD}(?: +(?!#){_WORD})*"
FLOW_PLAIN = rf"(?:{_NO_INDICATOR}|(?=-[^ \t\r\n,\[\]{{}}])){_FLOW_WORD}(?: +(?!#){_FLOW_WORD})*"
QUOTED = r"""'(?:[^'\r\n]|'')*'|"(?:[^"\\\r\n]|\\[^\r\n])*\""""

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPES = dict(zip('0abtnvfre "/\\N_LP', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029'))

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(["~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"], True),
    **dict.fromkeys(["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"], False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,19})")
_INTEGERS = range(-(2**63), 2**64)  # beyond it the kubelet's reader makes a float
_FLOAT = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_NUMBER = re.compile(  # in any notation of any reader, without its underscores
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][-+]?[01]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_UNCLEAR = re.compile(r"[yYnN]|=|<<|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class NotClear(ValueError):
    """A word without one certain meaning. Its arguments: what was found, and what was wanted."""


def value_of(word: str) -> t.Any:
    """The text, number, bool or None that a plain or quoted word stands for. Raises NotClear."""
    if word.startswith("'"):
        return word[1:-1].replace("''", "'")
    if word.startswith('"'):
        return _ESCAPE.sub(_unescaped, word[1:-1])
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word) and int(word) in _INTEGERS:
        return int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    if _UNCLEAR.fullmatch(word) or _NUMBER.fullmatch(word.replace("_", "")):
        raise NotClear(
            f"{word[:60]}, which readers of YAML take for different values",
            "a decimal number, true, false, or a text in quotes",
        )
    return word


def _unescaped(escape: re.Match[str]) -> str:
    name = escape[1]
    if name in _ESCAPES:
        return _ESCAPES[name]
    code = int(name[1:], 16) if len(name) > 1 else -1
    if not 0 <= code < 0x110000 or 0xD800 <= code < 0xE000:
        raise NotClear(f"the escape {escape[0]}", "one of YAML's, or the character itself")
    return chr(code)
