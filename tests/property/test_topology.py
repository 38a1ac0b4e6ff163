# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.virt.hostprep.plugins.module_utils.cpulist import parse_list, parse_mask
from ansible_collections.virt.hostprep.plugins.module_utils.isolation import isolation
from ansible_collections.virt.hostprep.plugins.module_utils.topology import read
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import (
    CPU,
    NODE,
    Files,
    build,
    cpu_folders,
    interface,
    node,
    pci_device,
    two_nodes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

id_sets = st.sets(st.integers(0, 300))


def as_list(ids: t.Iterable[int]) -> str:
    """As the kernel prints it: consecutive ids as ranges."""
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)


def as_mask(ids: t.Iterable[int]) -> str:
    bits = sum(1 << number for number in set(ids))
    words: list[str] = []
    while bits or not words:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


# --- the formats ------------------------------------------------------------------------------------------------


@given(id_sets)
def test_lists_and_masks_round_trip(ids: set[int]) -> None:
    assert parse_list(as_list(ids)) == parse_mask(as_mask(ids)) == sorted(ids)


@given(st.lists(st.integers(0, 300)), st.sampled_from([",", " ", "\n", ", ", ",,"]))
def test_order_repetition_and_separators_do_not_matter(ids: list[int], separator: str) -> None:
    assert parse_list(separator.join(map(str, ids))) == sorted(set(ids))


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 40), st.data())
def test_patterns(start: int, length: int, group: int, data: st.DataObject) -> None:
    used = data.draw(st.integers(0, group))
    expected = []
    for first in range(start, start + length + 1, group):
        expected += [number for number in range(first, first + used) if number <= start + length]
    assert parse_list(f"{start}-{start + length}:{used}/{group}") == expected


@given(st.text(alphabet="0123456789-,:/N al\n\0x") | st.text())
def test_any_text_is_a_list_or_a_value_error(text: str) -> None:
    for parse in (parse_list, parse_mask, lambda text: parse_list(text, size=40)):
        try:
            ids = parse(text)
        except ValueError:
            continue
        assert ids == sorted(set(ids))
        assert all(number >= 0 for number in ids)


@given(
    st.lists(
        st.sampled_from(["isolcpus=", "nohz_full=", "domain,", "nohz,", "managed_irq,", "x,", " ", '"', "--", "all"])
        | st.sampled_from(["0", "1-N", "2-3", "0-7:1/2", ",", "9"])
    ).map("".join)
)
def test_any_command_line_leaves_a_cpu_for_the_kernel(cmdline: str) -> None:
    for cpus in isolation(cmdline, possible=range(8), present=range(4)):
        assert cpus == sorted(set(cpus))
        assert set(cpus) <= set(range(8))
        assert set(range(4)) - set(cpus)


# --- whole machines ---------------------------------------------------------------------------------------------


@st.composite
def machines(draw: st.DrawFn) -> Files:
    """CPUs and nodes with any numbers; CPUs may be offline, belong to no node, to several, or not exist."""
    cpus = draw(st.sets(st.integers(0, 70), min_size=1, max_size=12))
    online = draw(st.sets(st.sampled_from(sorted(cpus)), min_size=1))
    claimed = st.sets(st.sampled_from(sorted(cpus)) | st.integers(0, 70))
    files: Files = cpu_folders(cpus)
    if draw(st.booleans()):
        files[f"{CPU}/online"] = as_list(online) + "\n"
    else:
        files.update({f"{CPU}/cpu{number}/online": "0\n" for number in cpus - online})
    for number in draw(st.sets(st.integers(0, 300), max_size=5)):
        files.update(node(number, as_list(draw(claimed)), draw(st.integers(0, 10**9)), draw(distance_rows)))
        if draw(st.booleans()):
            files[f"{NODE}/node{number}/cpumap"] = as_mask(draw(claimed)) + "\n"
            if draw(st.booleans()):
                del files[f"{NODE}/node{number}/cpulist"]
    if draw(st.booleans()):
        files[f"{NODE}/possible"] = as_list(draw(id_sets)) + "\n"
    for number in draw(st.sets(st.integers(0, 31), max_size=3)):
        path = f"pci0000:00/0000:00:{number:02x}.0"
        files.update(pci_device(path, "0x020000", numa_node=str(draw(st.integers(-1, 9)))))
        files.update(interface("net", f"eth{number}", path))
    return files


distance_rows = st.lists(st.integers(10, 254), max_size=6).map(lambda row: " ".join(map(str, row)))


def read_in_a_new_folder(files: Files) -> dict[str, t.Any]:
    with tempfile.TemporaryDirectory() as folder:
        reading = read(build(Path(folder), files))
    json.dumps(reading)
    return reading


@settings(deadline=None)
@given(machines())
def test_what_holds_for_every_machine(files: Files) -> None:
    reading = read_in_a_new_folder(files)
    cpus = [cpu["id"] for cpu in reading["cpus"]]
    online = [cpu["id"] for cpu in reading["cpus"] if cpu["online"]]

    assert cpus == sorted(set(cpus))
    assert (reading["cpus_total"], reading["cpus_online"]) == (len(cpus), len(online))
    assert sorted([*online, *reading["cpus_offline"]]) == cpus

    nodes = {node["id"]: node for node in reading["nodes"]}
    assert list(nodes) == [entry["node"] for entry in reading["memory"]] == sorted(nodes)
    assert reading["numa"] or list(nodes) == [0]
    for entry in nodes.values():
        assert entry["cpus"] == sorted(set(entry["cpus"]) & set(online))
        assert entry["has_cpu"] == bool(entry["cpus"])
        assert entry["has_memory"] == bool(entry["memory_kb"])
        assert set(entry["distances"]) <= set(map(str, nodes))
    for cpu in reading["cpus"]:
        claims = [number for number, entry in nodes.items() if cpu["id"] in entry["cpus"]]
        assert claims == [cpu["node"]] or (cpu["node"] is None and len(claims) != 1)

    places = [(device["address"], device["numa_node"]) for device in reading["devices"]]
    assert places == sorted((entry["pci"], entry["numa_node"]) for entry in reading["interfaces"])


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(sorted(two_nodes())), st.text() | st.binary(), max_size=8))
def test_no_content_stops_the_reading(damage: dict[str, t.Any]) -> None:
    reading = read_in_a_new_folder({**two_nodes(), **damage})
    online = {cpu["id"] for cpu in reading["cpus"] if cpu["online"]}
    assert all(set(node["cpus"]) <= online for node in reading["nodes"] if reading["cpus"])
