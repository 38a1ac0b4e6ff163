# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import selection
from hypothesis import given
from hypothesis import strategies as st
from support import GIB, Device, device, host, partition, wanted


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Device]:
    devices: list[Device] = []
    for number in range(draw(st.integers(0, 4))):
        disk = device(
            f"nvme{number}n1",
            draw(st.sampled_from(["A", "B", "C", None])),
            size=draw(st.sampled_from([GIB - 512, GIB, 2 * GIB])),
            numa_node=draw(st.sampled_from([None, 0, 1])),
            model=draw(st.sampled_from(["QEMU", "Other", None])),
        )
        devices += [disk, *(partition(disk, n + 1) for n in range(draw(st.integers(0, 2))))]
    found: dict[str, Device] = host(*devices)["devices"]
    return found


criteria = st.fixed_dictionaries(
    {},
    optional={
        "serial": st.lists(st.sampled_from(["A", "B", "X"]), max_size=2),
        "by_id": st.lists(st.sampled_from(["nvme-QEMU_A", "nvme-QEMU_A-part1", "x"]), max_size=2),
        "partlabel": st.lists(st.sampled_from(["label-nvme0n1p1", "x"]), max_size=1),
        "min_size": st.sampled_from(["1G", "1025M", ""]),
        "max_size": st.sampled_from(["1G", "3T"]),
        "model": st.sampled_from(["QEMU", "*", "O*"]),
        "numa_node": st.sampled_from([-1, 0, 1]),
        "transport": st.sampled_from(["nvme", "sata"]),
    },
)


@given(hosts(), criteria)
def test_more_criteria_never_match_more(devices: dict[str, Device], select: dict[str, t.Any]) -> None:
    found = selection.matching(wanted(select)["select"], devices)
    assert found == sorted(set(found))
    assert set(found) <= set(devices)
    for key in selection.given(select):
        fewer = {name: value for name, value in select.items() if name != key}
        if selection.given(fewer):
            disks = {name for name in found if devices[name]["type"] == "disk"}  # partitions go with their names
            assert disks <= set(selection.matching(fewer, devices))


@given(hosts(), criteria)
def test_partitions_are_meant_only_by_their_own_names(devices: dict[str, Device], select: dict[str, t.Any]) -> None:
    names = {*(select.get("by_id") or []), *(select.get("partlabel") or [])}
    for name in selection.matching(select, devices):
        entry = devices[name]
        if entry["type"] == "part":
            assert names & {entry["partlabel"], *entry["links"]["by_id"]}


@given(hosts(), criteria)
def test_each_name_is_there_or_reported(devices: dict[str, Device], select: dict[str, t.Any]) -> None:
    missing = [problem.found for problem in selection.name_problems(select, devices)]
    for serial in select.get("serial") or []:
        there = any(entry["serial"] == serial for entry in devices.values())
        assert there != any(found.startswith(f"no device with serial {serial!r}") for found in missing)


@given(st.text())
def test_any_text_may_be_a_name(text: str) -> None:
    devices = host(device())["devices"]
    for key in selection.NAMING:
        select = {key: [text]}
        assert len(selection.name_problems(select, devices)) + len(selection.matching(select, devices)) == 1
