# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML of nodes without PyYAML against PyYAML: what is read is read the same, and what is written, too."""

from __future__ import annotations

import itertools
import math
import typing as t

import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_dump import dump
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_merge import merge, merge_patch
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_text import BlockMapping, YamlError, parse, read
from hypothesis import assume, given
from hypothesis import strategies as st

Data = dict[str, t.Any]


class KubeletLoader(yaml.SafeLoader):
    """PyYAML, but base 60 and timestamps are text, as they are for the kubelet's reader."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> t.Any:
        return node.value if ":" in node.value else super().construct_yaml_int(node)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> t.Any:
        return node.value if ":" in node.value else super().construct_yaml_float(node)


KubeletLoader.add_constructor("tag:yaml.org,2002:int", KubeletLoader.construct_yaml_int)
KubeletLoader.add_constructor("tag:yaml.org,2002:float", KubeletLoader.construct_yaml_float)
KubeletLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


def pyyaml(text: str) -> t.Any:
    content = "".join(line.partition("#")[0] for line in text.strip("\ufeff").splitlines()).strip()
    value = None if content == "..." else yaml.load(text, Loader=KubeletLoader)
    return {} if value is None else value


def read_or_none(text: str) -> Data | None:
    try:
        return read(text)
    except YamlError as refused:
        error = refused
    assert 1 <= error.line <= text.count("\n") + 1
    assert error.found and error.wanted
    return None


# --- data ---------------------------------------------------------------------------------------------------------

TRICKY = [
    *["y", "n", "yes", "No", "on", "OFF", "true", "null", "~", "0", "-1", "+1", "1.5", "1.", ".5", "-.5", "1e3"],
    *["1E-3", "1.0e+3", "0x1F", "0o17", "0755", "089", "0b11", "1_000", "_1", "1:30", "190:20:30.15", "2026-01-31"],
    *["2026-01-31T10:00:00Z", ".inf", "-.INF", ".nan", "=", "<<", "-", "--", "---", "...", "?", ":", "::", "::1"],
    *["a:", ":a", "#a", "a#", "&a", "*a", "!a", "|", ">", "|-", "'", '"', "''", "[]", "{}", "[", "]", "{", "}", ","],
    *["@", "`", "%", "\\", "/", "10s", "4Gi", "100Mi", "15%", "a:b", "10.96.0.10", "infinity", "nan"],
]
characters = st.characters(exclude_categories=["Cs"])
simple_words = st.text("abcxyzMG0123456789-_./", min_size=1, max_size=8)
texts = st.sampled_from([*TRICKY, "", " ", "a b", "a: b", "a #b", " a", "a ", "a\nb", "a\n", "a\tb", "- a"]) | st.text(
    characters, max_size=12
)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)


def trees(words: st.SearchStrategy[str], leaves: st.SearchStrategy[t.Any]) -> st.SearchStrategy[Data]:
    nested = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(words, nested, max_size=5)


any_data = trees(texts, st.none() | st.booleans() | numbers | texts | simple_words)


@given(any_data)
def test_what_is_dumped_is_read_by_everybody(data: Data) -> None:
    text = dump(data)
    assert repr(read(text)) == repr(data) == repr(yaml.safe_load(text))


@given(any_data)
def test_dumped_data_needs_no_merge(data: Data) -> None:
    assume(data and not has_none(data))
    text = dump(data)
    assert merge(text, data) == text


def has_none(data: t.Any) -> bool:
    """None in a mapping, which as a patch would remove the key."""
    return isinstance(data, dict) and any(value is None or has_none(value) for value in data.values())


@given(st.floats() | st.integers() | st.dictionaries(st.integers(), st.none(), min_size=1) | st.text())
def test_a_dump_holds_what_it_was_given_or_there_is_none(value: t.Any) -> None:
    try:
        text = dump({"key": value})
    except (ValueError, TypeError):
        assert not isinstance(value, str) or any("\ud800" <= character <= "\udfff" for character in value)
        if isinstance(value, (int, float)):
            assert not math.isfinite(value) or abs(value) >= 2**63
    else:
        assert repr(read(text)) == repr({"key": value})


# --- what others write --------------------------------------------------------------------------------------------

styles = st.fixed_dictionaries(
    {"default_flow_style": st.sampled_from([None, True, False])},
    optional={
        "default_style": st.sampled_from([None, "'", '"', "|", ">"]),
        "width": st.sampled_from([5, 20, math.inf]),
        "indent": st.sampled_from([2, 4]),
        "allow_unicode": st.booleans(),
        "explicit_start": st.booleans(),
        "explicit_end": st.booleans(),
        "line_break": st.sampled_from(["\n", "\r\n"]),
    },
)


@given(any_data, styles)
def test_what_pyyaml_writes_is_read_the_same_or_refused(data: Data, style: Data) -> None:
    text = yaml.safe_dump(data, **style)
    found = read_or_none(text)
    assert found is None or repr(found) == repr(dict(sorted_keys(data)))


def sorted_keys(data: t.Any) -> t.Any:
    """The data with the keys in the order in which PyYAML writes them."""
    if isinstance(data, list):
        return [sorted_keys(item) for item in data]
    return {key: sorted_keys(data[key]) for key in sorted(data)} if isinstance(data, dict) else data


letters = st.text("abcdegh", min_size=2, max_size=6)  # no, on and off are not among them


@given(trees(letters, letters | st.integers(-999, 999) | st.booleans() | st.none()), styles)
def test_what_pyyaml_writes_of_simple_data_is_read(data: Data, style: Data) -> None:
    assume(data)
    style = {**style, "width": math.inf, "default_style": None}
    if style["default_flow_style"] is not False:
        style["explicit_start"] = False  # else PyYAML begins the mapping on the line of the ---
    assert repr(read(yaml.safe_dump(data, **style))) == repr(sorted_keys(data))


# --- any text -----------------------------------------------------------------------------------------------------

PIECES = [
    *["\n"] * 8,
    *[" ", "  ", "    "] * 3,
    *["a", "b", "c: ", "d:", "a: ", "b: 1", "- ", "-", ": ", ":", ", ", ","] * 2,
    *["[", "]", "{", "}", "[]", "{}", "'", '"', "''", '""', "'a'", '"b"', "\\", "\\n", "\\x41", "\\u20ac", "\\/"],
    *["#", " # x", "# y\n", "|\n", "|-\n", ">", "&a ", "*a", "!!str ", "? ", "?", "%", "@", "`", "<<: ", "=", "!"],
    *["\t", "\r\n", "\r", "---\n", "---", "...\n", "...", "\ufeff", "\x00", "\x85", "\u2028", "\xa0", "é", "\x7f"],
    *TRICKY,
]
any_text = st.lists(st.sampled_from(PIECES) | characters, max_size=30).map("".join) | st.lists(
    st.sampled_from(PIECES), min_size=1, max_size=12
).map(lambda pieces: "key: " + "".join(pieces))


@given(any_text)
def test_any_text_is_read_as_pyyaml_reads_it_or_refused(text: str) -> None:
    found = read_or_none(text)
    if found is not None:
        if text.lstrip(" \r\n\t\ufeff").startswith("{"):  # JSON may have tabs between its words
            text = text.replace("\t", " ")
            found = read(text)
        assert repr(found) == repr(pyyaml(text))


@given(st.sampled_from(["[", "{a: ", "- ", "a: ", "{", '{"a":', "- a: ", "a:\n ", "'", "# ", " ", "\n", "a ", ":"]))
def test_no_text_is_too_deep_or_takes_for_ever(piece: str) -> None:
    for text in (piece * 20_000, "key: " + piece * 20_000, "key:\n" + piece * 20_000):
        read_or_none(text)


@given(st.sampled_from(["\n".join(f"{'  ' * n}a:" for n in range(500)), "a: " + "[" * 63 + "]" * 63]))
def test_nesting_ends_at_a_level(text: str) -> None:
    assert (read_or_none(text) is None) == ("[" not in text)


# --- merge --------------------------------------------------------------------------------------------------------

KEYS = ["a", "b", "memorySwap", "failSwapOn", "x.y", "key d"]
scalars = st.none() | st.booleans() | st.integers(0, 99) | st.sampled_from(["", "on", "text", "10s", "a: b", "#", "1"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
documents = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)


class Writer:
    """A file as people write it. Every comment has a number, so that each can be looked for."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.numbers = itertools.count()
        self.step = draw(st.sampled_from([1, 2, 4]))

    def chance(self) -> bool:
        return self.draw(st.integers(0, 3)) == 0

    def comment(self) -> str:
        return f"# comment {next(self.numbers)}"

    def between(self, margin: str) -> list[str]:
        return [*([""] if self.chance() else []), *([margin + self.comment()] if self.chance() else [])]

    def scalar(self, value: t.Any) -> str:
        if isinstance(value, str) and self.draw(st.booleans()):
            return "'" + value.replace("'", "''") + "'"
        return (
            yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=math.inf)
            .removesuffix("...\n")
            .strip()
        )

    def entry(self, head: str, value: t.Any, margin: str, in_sequence: bool) -> list[str]:
        behind = "  " + self.comment() if self.chance() else ""
        if not isinstance(value, (dict, list)) or not value or self.chance():
            blanks = " " * self.draw(st.integers(1, 3))
            return [head + ("" if value is None and self.chance() else blanks + self.scalar(value)) + behind]
        if in_sequence and self.chance():
            first, *others = self.lines(value, margin + "  ", compact=True)
            return [head + first[len(margin) + 1 :], *others]
        same_column = isinstance(value, list) and not in_sequence and self.chance()
        return [head + behind, *self.lines(value, margin if same_column else margin + " " * self.step)]

    def lines(self, value: t.Any, margin: str, compact: bool = False) -> list[str]:
        lines = []
        pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
        for key, item in pairs:
            if not compact or lines:
                lines += self.between(margin)
            head = margin + ("-" if key is None else (f'"{key}":' if self.chance() else f"{key}:"))
            lines += self.entry(head, item, margin, in_sequence=key is None)
        return lines


@st.composite
def files(draw: st.DrawFn) -> tuple[str, Data]:
    data = draw(documents)
    writer = Writer(draw)
    lines = [*(["---"] if writer.chance() else []), *writer.lines(data, ""), *writer.between("")]
    line_end = "\r\n" if writer.chance() else "\n"
    return line_end.join(lines) + ("" if writer.chance() or not lines else line_end), data


@given(files())
def test_the_writer_writes_what_it_is_given(file: tuple[str, Data]) -> None:
    text, data = file
    assert repr(read(text)) == repr(data) == repr(pyyaml(text))


@given(files(), documents)
def test_merge_is_a_merge_patch_of_the_file(file: tuple[str, Data], patch: Data) -> None:
    text, data = file
    merged = merge(text, patch)
    assert repr_sorted(read(merged)) == repr_sorted(merge_patch(data, patch)) == repr_sorted(pyyaml(merged))
    assert merge(merged, patch) == merged
    assert merged.count("\n") == merged.count("\r\n") or "\r" not in merged


def repr_sorted(data: t.Any) -> str:
    return repr(sorted_keys(data))


@given(files(), documents)
def test_merge_leaves_other_lines_and_comments_alone(file: tuple[str, Data], patch: Data) -> None:
    text, data = file
    merged = merge(text, patch)
    lines = merged.splitlines()
    untouched = [key for key in data if key not in patch]
    position = 0
    for key, entry in entries(text):
        if key is None or key in untouched:
            for line in entry:
                assert line in lines[position:], f"{line} is gone or has moved"
                position = lines.index(line, position) + 1


def entries(text: str) -> list[tuple[str | None, list[str]]]:
    """The file by its top-level keys; what stands between two of them has no key."""
    found: list[tuple[str | None, list[str]]] = []
    between: list[str] = []
    for line in text.splitlines():
        if not line or line.startswith(("#", "---")):
            between.append(line)
        elif line[0] in " -":
            found[-1][1].extend([*between, line])
            between = []
        else:
            found += [(None, between), (line.partition(":")[0].strip('"'), [line])]
            between = []
    return [*found, (None, between)]


@given(files(), st.data())
def test_a_changed_value_is_the_only_changed_line_and_keeps_its_comment(
    file: tuple[str, Data], data: st.DataObject
) -> None:
    text, tree = file
    paths = list(inline_leaves(tree, ()))
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    patch: t.Any = "new value"
    for key in reversed(path):
        patch = {key: patch}
    before, after = text.splitlines(keepends=True), merge(text, patch).splitlines(keepends=True)
    assume(len(before) == len(after))  # not where a mapping in flow style became a block
    ((old, new),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert new.count("new value") == 1 or "{" in old
    assert new.partition("  # comment")[1:] == old.partition("  # comment")[1:]


def inline_leaves(tree: Data, above: tuple[str, ...]) -> t.Iterator[tuple[str, ...]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from inline_leaves(value, (*above, key))
        elif not isinstance(value, list):
            yield (*above, key)


@given(any_text, documents)
def test_merge_into_any_text_holds_the_law_or_is_refused(text: str, patch: Data) -> None:
    before = read_or_none(text)
    if before is None or not isinstance(parse(text), BlockMapping):
        with pytest.raises(YamlError, match=None if before is None else "found JSON, wanted YAML"):
            merge(text, patch)
    else:
        assert repr_sorted(read(merge(text, patch))) == repr_sorted(merge_patch(before, patch))


json_like = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)


@given(json_like, json_like)
def test_merge_patch_is_rfc_7386(target: t.Any, patch: t.Any) -> None:
    merged = merge_patch(target, patch)
    assert merge_patch(merged, patch) == merged
    if not isinstance(patch, dict):
        assert merged == patch
        return
    before = target if isinstance(target, dict) else {}
    assert set(merged) == {
        key for key in {*before, *patch} if patch.get(key, before.get(key)) is not None or key not in patch
    }
    for key, value in merged.items():
        assert value == (merge_patch(before.get(key), patch[key]) if key in patch else before[key])
