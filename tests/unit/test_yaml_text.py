# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML without PyYAML: files as kubeadm and others leave them, and what a careless edit of them would break."""

from __future__ import annotations

import difflib
import typing as t

import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_dump import dump
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_merge import merge, merge_patch
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_text import YamlError, read

KUBEADM = """\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
evictionPressureTransitionPeriod: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
"""

# By hand and by a template: comments, other indentations, quotes of both kinds, flow style, and an empty last line.
TEMPLATE = """\
---
# Managed by the cluster's playbook
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: "10s"
failSwapOn: True   # there is no swap on our nodes
authorization:
    mode: Webhook
    webhook:
        # how long a yes is believed
        cacheAuthorizedTTL: 5m0s

enforceNodeAllocatable: [pods, 'kube-reserved']
systemReserved:
  cpu: 500m
  memory: '512Mi'
  # ephemeral-storage: 1Gi
evictionHard: {memory.available: "100Mi", nodefs.available: 10%}
maxPods: 110
clusterDNS:
    - 169.254.25.10
    - "fd00::a"
address: ::1
reservedMemory:
  - numaNode: 0
    limits:
      memory: 1Gi   # the first node
  -
    numaNode: 1
    limits: {memory: 1Gi, hugepages-2Mi: 64Mi}
featureGates: {}
# the end
"""

WANTED = {"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}


def difference(before: str, after: str) -> list[str]:
    """The changed lines."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=0)
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def merged(text: str, patch: dict[str, t.Any]) -> str:
    """merge, which has to be what RFC 7386 says, to be read so by PyYAML, and to be done once."""
    after = merge(text, patch)
    assert read(after) == merge_patch(read(text), patch) == (yaml.safe_load(after) or {})
    assert merge(after, patch) == after
    return after


# --- files of the field -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [KUBEADM, TEMPLATE])
def test_files_of_the_field_are_read_as_pyyaml_does(text: str) -> None:
    assert read(text) == yaml.safe_load(text)
    assert read(text.replace("\n", "\r\n")) == yaml.safe_load(text)
    assert read("\ufeff" + text) == yaml.safe_load(text)
    assert yaml.safe_load(dump(read(text))) == yaml.safe_load(text)


def test_dump_writes_what_kubeadm_writes() -> None:
    assert dump(read(KUBEADM)) == KUBEADM


def test_a_kubeadm_node_accepts_swap() -> None:
    assert difference(KUBEADM, merged(KUBEADM, WANTED)) == [
        "-memorySwap: {}\n",
        "+memorySwap:\n",
        "+  swapBehavior: LimitedSwap\n",
        "+failSwapOn: false\n",
    ]


def test_a_file_with_comments_accepts_swap() -> None:
    assert difference(TEMPLATE, merged(TEMPLATE, WANTED)) == [
        "-failSwapOn: True   # there is no swap on our nodes\n",
        "+failSwapOn: false   # there is no swap on our nodes\n",
        "+memorySwap:\n",
        "+  swapBehavior: LimitedSwap\n",
    ]


def test_all_kinds_of_changes_at_once() -> None:
    patch = {
        "authorization": {"webhook": {"cacheUnauthorizedTTL": "30s"}},
        "systemReserved": {"cpu": None, "memory": "1Gi"},
        "evictionHard": {"memory.available": "500Mi"},
        "featureGates": {"NodeSwap": True},
        "clusterDNS": None,
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "2Gi"}}],
    }
    assert difference(TEMPLATE, merged(TEMPLATE, patch)) == [
        "+        cacheUnauthorizedTTL: 30s\n",
        "-  cpu: 500m\n",
        "-  memory: '512Mi'\n",
        "+  memory: 1Gi\n",
        '-evictionHard: {memory.available: "100Mi", nodefs.available: 10%}\n',
        "+evictionHard:\n",
        "+  memory.available: 500Mi\n",
        '+  nodefs.available: "10%"\n',
        "-clusterDNS:\n",
        "-    - 169.254.25.10\n",
        '-    - "fd00::a"\n',
        "-  - numaNode: 0\n",
        "-    limits:\n",
        "-      memory: 1Gi   # the first node\n",
        "-  -\n",
        "-    numaNode: 1\n",
        "-    limits: {memory: 1Gi, hugepages-2Mi: 64Mi}\n",
        "-featureGates: {}\n",
        "+- numaNode: 0\n",
        "+  limits:\n",
        "+    memory: 2Gi\n",
        "+featureGates:\n",
        "+  NodeSwap: true\n",
    ]


# --- what text edits of the kubelet's file got wrong ---------------------------------------------------------------

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param("", "failSwapOn: false\n", id="missing"),
        pytest.param("failSwapOn: true\n", "failSwapOn: false\n", id="true"),
        pytest.param("# failSwapOn: true\n", "failSwapOn: false\n# failSwapOn: true\n", id="comment"),
        pytest.param('failSwapOn: "false"\n', "failSwapOn: false\n", id="text"),
        pytest.param("failSwapOn: 0\n", "failSwapOn: false\n", id="number"),
        pytest.param("failSwapOn: off\n", "failSwapOn: off\n", id="in-other-words"),
        pytest.param("'failSwapOn': true\n", "'failSwapOn': false\n", id="quoted-key"),
        pytest.param("failSwapOn : true\n", "failSwapOn : false\n", id="blank-before-the-colon"),
        pytest.param("FailSwapOn: true\n", "FailSwapOn: true\nfailSwapOn: false\n", id="another-case"),
        pytest.param("x:\n  failSwapOn: true\n", "x:\n  failSwapOn: true\nfailSwapOn: false\n", id="another-mapping"),
    ],
)
def test_fail_swap_on(text: str, after: str) -> None:
    assert merged(HEAD + text, {"failSwapOn": False}) == HEAD + after


@pytest.mark.parametrize(
    "old", ["memorySwap: {}", "memorySwap:", "memorySwap: null", "memorySwap: ~", "memorySwap: { }", "memorySwap: []"]
)
@pytest.mark.parametrize("behind", ["", "  # see the wiki"])
def test_an_empty_mapping_gets_a_line(old: str, behind: str) -> None:
    text = f"{HEAD}{old}{behind}\nmaxPods: 5\n"
    assert (
        merged(text, WANTED | {"failSwapOn": None})
        == f"{HEAD}memorySwap:{behind}\n  swapBehavior: LimitedSwap\nmaxPods: 5\n"
    )


def test_a_key_that_is_there_twice() -> None:
    with pytest.raises(YamlError) as refused:
        merge(HEAD + "failSwapOn: true\nmaxPods: 5\nfailSwapOn: false\n", WANTED)
    assert (refused.value.line, refused.value.found) == (5, "the key failSwapOn for the second time")


def test_a_json_file_is_read_and_not_merged() -> None:
    text = '{\n\t"kind": "KubeletConfiguration",\n\t"failSwapOn":true, "memorySwap": {}\n}\n'
    assert read(text) == {"kind": "KubeletConfiguration", "failSwapOn": True, "memorySwap": {}}
    with pytest.raises(YamlError) as refused:
        merge(text, WANTED)
    assert (refused.value.line, refused.value.found, refused.value.wanted) == (1, "JSON", "YAML")


@pytest.mark.parametrize("text", ["", "\n", "# empty\n", "# empty", "---\n", "---\n# empty\n...\n"])
def test_a_file_without_content(text: str) -> None:
    assert read(text) == {}
    assert set(merged(text, WANTED).splitlines()) >= {*text.splitlines(), "failSwapOn: false"}


def test_a_missing_file_is_merged_as_an_empty_one() -> None:
    assert merged("", WANTED) == "failSwapOn: false\nmemorySwap:\n  swapBehavior: LimitedSwap\n" == dump(WANTED)


def test_crlf_line_ends_stay() -> None:
    text = TEMPLATE.replace("\n", "\r\n")
    after = merged(text, WANTED)
    assert after == merge(TEMPLATE, WANTED).replace("\n", "\r\n")


def test_two_documents() -> None:
    with pytest.raises(YamlError) as refused:
        merge(f"{HEAD}---\n{HEAD}", WANTED)
    assert (refused.value.line, refused.value.found) == (3, "a second document")


# --- merge --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "patch", "after"),
    [
        pytest.param("a: 1", {"a": 2}, "a: 2", id="no-line-end"),
        pytest.param("a: 1", {"b": {"c": 2}}, "a: 1\nb:\n  c: 2", id="no-line-end-new-key"),
        pytest.param("a: 1\nb: 2", {"b": None, "c": 3}, "a: 1\nc: 3", id="no-line-end-other-key"),
        pytest.param("a:\n  b: 1", {"a": {"c": 2}, "d": 3}, "a:\n  b: 1\n  c: 2\nd: 3", id="no-line-end-two-levels"),
        pytest.param("a: 1\nb: 2", {"b": None}, "a: 1\n", id="no-line-end-removed"),
        pytest.param("a: 1\n...\n", {"b": 2}, "a: 1\nb: 2\n...\n", id="before-the-end-marker"),
        pytest.param("  a: 1\n", {"b": 2}, "  a: 1\n  b: 2\n", id="all-indented"),
        pytest.param("a: 1\n\n# end\n", {"b": 2}, "a: 1\nb: 2\n\n# end\n", id="before-what-follows"),
        pytest.param("a:\n  b: 1\n", {"a": {"b": None}}, "a: {}\n", id="nothing-left"),
        pytest.param("a:\n  b: 1\n", {"a": {"b": None, "c": 2}}, "a:\n  c: 2\n", id="all-keys-replaced"),
        pytest.param("a:  # x\n  b: 1\nc: 2\n", {"a": 5}, "a: 5  # x\nc: 2\n", id="block-to-scalar"),
        pytest.param("a:\n- 1\n# x\n- 2\nb: 1\n", {"a": [3, [4]]}, "a:\n- 3\n- - 4\nb: 1\n", id="list"),
        pytest.param("a: [1,\n  2]  # x\nb: 1\n", {"a": [3]}, "a:  # x\n- 3\nb: 1\n", id="flow-list"),
        pytest.param("a: [1]\n", {"a": []}, "a: []\n", id="empty-list"),
        pytest.param("a: |\n  x\n   y\nb: 1\n", {"a": "z"}, "a: z\nb: 1\n", id="literal"),
        pytest.param("a: |\n  x\n\n  y\n\nb: 1\n", {"a": "z"}, "a: z\n\nb: 1\n", id="literal-and-blank-lines"),
        pytest.param("a: 1\nb: 2\nc: 3\n", {"b": None, "a": {"x": 1}}, "a:\n  x: 1\nc: 3\n", id="two-at-one-place"),
        pytest.param("a:\n  'x'\nb: 1\n", {"a": "z"}, "a: z\nb: 1\n", id="value-on-its-own-line"),
        pytest.param("a: {b: {c: 1}}\n", {"a": {"b": {"d": 2}}}, "a:\n  b:\n    c: 1\n    d: 2\n", id="flow-mapping"),
        pytest.param("a: 1\n", {"a": {"b": None}}, "a: {}\n", id="none-in-a-new-mapping"),
        pytest.param("a: 1\n", {"b": None}, "a: 1\n", id="remove-what-is-not-there"),
        pytest.param("a: 1.0\n", {"a": 1}, "a: 1\n", id="float-to-integer"),
        pytest.param("a: 'x'  # c\n", {"a": "x"}, "a: 'x'  # c\n", id="in-force"),
    ],
)
def test_merge(text: str, patch: dict[str, t.Any], after: str) -> None:
    assert merged(text, patch) == after


def test_a_removed_key_takes_its_own_comments_only() -> None:
    text = "a: 1\n# about b\nb:  # b\n  # inside b\n  c: 1\n  # more inside b\n# about d\nd: 1\n"
    assert merged(text, {"b": None}) == "a: 1\n# about b\n# about d\nd: 1\n"


def test_a_new_key_stands_behind_the_comments_of_the_last_one() -> None:
    text = "a:\n  b: 1\n  # c: 2\n# end\n"
    assert merged(text, {"x": 1}) == "a:\n  b: 1\n  # c: 2\nx: 1\n# end\n"


@pytest.mark.parametrize("patch", [{"a": {1: 2}}, {"a": 2**64}, {"a": float("nan")}, {"a": "\ud800"}])
def test_a_patch_that_yaml_does_not_hold(patch: dict[str, t.Any]) -> None:
    for write in (dump, lambda data: merge("b: 1\n", data)):
        with pytest.raises((ValueError, TypeError)):
            write(patch)


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: t.Any, patch: t.Any, result: t.Any) -> None:
    before = repr(target)
    assert merge_patch(target, patch) == result
    assert repr(target) == before


# --- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *[(word, True) for word in ("true", "True", "TRUE", "yes", "on", "ON")],
        *[(word, False) for word in ("false", "False", "no", "No", "off", "OFF")],
        *[(word, None) for word in ("", "~", "null", "Null", "NULL", " # null")],
        *[("0", 0), ("-0", 0), ("+7", 7), ("-12", -12), ("9223372036854775807", 2**63 - 1)],
        *[("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("-1.0e+3", -1000.0), ("089.5", 89.5)],
        *[(word, word) for word in ("10s", "4Gi", "15%", "a:b", "::1", "10.96.0.10", "a#b", "-x", "tRUE", "0x", "1e")],
        # PyYAML has 90, a date and a datetime; the kubelet's reader has text
        *[(word, word) for word in ("1:30", "2026-01-31", "2026-01-31T10:00:00Z", "2026-01-31 10:00:00")],
        *[("'it''s'", "it's"), ('"a\\tb\\u20AC\\x41\\/\\""', 'a\tb€A/"'), ("'a\\n'", "a\\n"), ('"# no"', "# no")],
        *[("a b  c # d", "a b  c"), ("a #", "a"), ("'a' # b", "a"), ("é\u3000ü", "é\u3000ü")],
        *[("[]", []), ("{}", {}), ("[a, 'b', [1], {c: d,},]", ["a", "b", [1], {"c": "d"}]), ("{a: , b: 1}", None)],
        ("[1, # one\n 2,\n\n{a:\n 3}\n]", [1, 2, {"a": 3}]),
        *[("|\n a\n  b\n\n c\n\n", "a\n b\n\nc\n"), ("|-\n a\n", "a"), ("|- # c\n   # a", "# a")],
        *[
            ("\n- a\n- b: c\n  d: e\n-\n  - f", ["a", {"b": "c", "d": "e"}, ["f"]]),
            ("\n-\n- a", [None, "a"]),
            ("\n  a", "a"),
            ("\n\n - -  - 1", 0),
        ],
    ],
)
def test_words(word: str, value: t.Any) -> None:
    expected = {"{a: , b: 1}": {"a": None, "b": 1}, "\n\n - -  - 1": [[[1]]]}.get(word, value)
    found = read(f"key: {word}")["key"]
    assert found == expected
    assert type(found) is type(expected)


def test_many_lists_and_mappings_beside_each_other() -> None:
    data = {f"key{number}": {"a": [[{}], [1]]} for number in range(200)}
    assert read(dump(data)) == data == read(yaml.safe_dump(data, default_flow_style=True))


@pytest.mark.parametrize(
    "word",
    [
        *["y", "n", "Y", "N", "0755", "089", "0o17", "0x1F", "0b11", "1_000", "1e3", "1E-3", "-.5", ".inf", "-.INF"],
        *["1.5e3", ".nan", "=", "<<", "18446744073709551616", "9" * 900, "1.0e+999"],
    ],
)
def test_words_that_readers_take_for_different_values(word: str) -> None:
    for text in (f"\nkey: {word}\n", f"\n{word}: value\n", f"\nkey: [{word}]\n"):
        with pytest.raises(YamlError) as refused:
            read(text)
        assert refused.value.line == 2
        assert f"{word[:60]}, which readers" in refused.value.found
        assert "quotes" in refused.value.wanted
    assert read(f"'{word[:9]}': '{word}'\n") == {word[:9]: word}


@pytest.mark.parametrize(
    "text", ["y", "No", "~", "", " a", "a ", "1", "1.5", "0o7", "1_0", "1e3", "1:30", "2026-01-31"]
)
@pytest.mark.parametrize("around", ["{}", "{}: ", "-{}", "{} #", "{}\n", "\ufeff{}", "{}\x85", "{}\u2028", "{}\x7f"])
def test_text_that_could_be_something_else_is_quoted(text: str, around: str) -> None:
    text = around.format(text)
    assert dump({text: [text]}).count('"') == 4
    assert read(dump({text: [text]})) == yaml.safe_load(dump({text: [text]})) == {text: [text]}


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key a for the second time"),
        ("a:\n  b: 1\n  'b': 2\n", 3, "the key b for the second time"),
        ("a: {b: 1,\n b: 2}\n", 2, "the key b for the second time"),
        ("a: 1\n---\nb: 1\n", 2, "a second document"),
        ("---\n---\n", 2, "a second document"),
        ("a: 1\n...\nb: 1\n", 3, "a second document"),
        ("a: &x 1\n", 1, "an anchor (&)"),
        ("a: 1\nb: *x\n", 2, "an alias (*)"),
        ("a: !!str 1\n", 1, "a tag (!)"),
        ("a:\n  <<: {}\n", 2, "<<, which readers of YAML take for different values"),
        ("? a\n: b\n", 1, "a complex key (?)"),
        ("a: 1\n? b\n", 2, "a complex key (?)"),
        ("%YAML 1.2\n---\na: 1\n", 1, "a directive (%)"),
        ("a:\n\tb: 1\n", 2, "a tab in the indentation"),
        ("a: 1\n\t# b\n", 2, "a tab in the indentation"),
        ("a: 1\t# b\n", 1, "a tab"),
        ("a:\t1\n", 1, "'a:\t1'"),
        ("-a\n", 1, "a list item (-)"),
        ("text\n", 1, "'text'"),
        ("'text'\n", 1, "''text''"),
        ("a: 1\ntext\n", 2, "'text'"),
        ("a: b\n  c\n", 2, "'c' with more indentation than what stands before"),
        ("a: 1\n  b: 2\n", 2, "'b: 2' with more indentation than what stands before"),
        ("a:\n- b\n  c: d\n", 3, "'c: d' with more indentation than what stands before"),
        ("a:\n    b: 1\n  c: 1\n", 3, "'c: 1' with more indentation than what stands before"),
        ("  a: 1\nb: 1\n", 2, "'b: 1' with an indentation of its own"),
        ("a: 1\n- b\n", 2, "a list item (-)"),
        ("a: - b\n", 1, "a list item (-)"),
        ("a: b: c\n", 1, "': c'"),
        ("a: 'b\n  c'\n", 1, "a quoted text that does not end on its line"),
        ('a: "b\n', 1, "a quoted text that does not end on its line"),
        ("a: 'b' c\n", 1, "'c'"),
        ("a: 'b'#c\n", 1, "'#c'"),
        ('a: "\\q"\n', 1, "the escape \\q"),
        ('{"a": "\\ud83d\\ude00"}', 1, "the escape \\ud83d"),
        ("a: [b\n", 2, "the end of the line"),
        ("a: [b\n---\n", 2, "--- in a list or mapping"),
        ("a: [b, , c]\n", 1, "', c]'"),
        ("a: [b: c]\n", 1, "': c]'"),
        ("a: {b}\n", 1, "'b}'"),
        ("a: {b:c}\n", 1, "'b:c}'"),
        ("a: [b] c\n", 1, "'c'"),
        ("a: [\tb]\n", 1, "a tab"),
        ("a: ]\n", 1, "']'"),
        ("a: @b\n", 1, "'@b'"),
        ("a: >\n  b\n", 1, "a folded block (>)"),
        ("a: |2\n  b\n", 1, "a literal block with options (only | and |- are read)"),
        ("a: |\nb: 1\n", 1, "a literal block (|) without an indented first line"),
        ("a: |\n\n  b\n", 1, "a literal block (|) without an indented first line"),
        ("a: |\n  b", 2, "a literal block (|) without a line end after it"),
        ("1: a\n", 1, "the key 1, which is not text"),
        ("a:\n  true: b\n", 2, "the key true, which is not text"),
        ("~: b\n", 1, "the key ~, which is not text"),
        (f"{'k' * 1024}: b\n", 1, "a very long key"),
        (f"a: {'9' * 5000}\n", 1, f"{'9' * 60}, which readers of YAML take for different values"),
        ("a: 1\rb: 1\n", 1, "the character U+000D"),
        ("a: 1\nb: \x00\n", 2, "the character U+0000"),
        ("a: 1\nb: 1 # \u2028\n", 2, "the character U+2028"),
        ("a: \ufeff\n", 1, "the character U+FEFF"),
        ("a: \ud800\n", 1, "the character U+D800"),
        ("a: " + "[" * 65 + "]" * 65, 1, "a list or mapping in many others"),
    ],
)
def test_refused(text: str, line: int, found: str) -> None:
    for variant in (text, text.replace("\n", "\r\n")):
        with pytest.raises(YamlError) as refused:
            read(variant)
        assert (refused.value.line, refused.value.found) == (line, found)
        assert str(refused.value) == f"line {line}: found {found}, wanted {refused.value.wanted}"
        with pytest.raises(YamlError):
            merge(variant, {"a": 1})
