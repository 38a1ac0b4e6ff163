# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Laws of a change to a kubelet's files, whatever is in them."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_files
from ansible_collections.virt.hostprep.plugins.module_utils.kubelet import ConfigFile, Kubelet
from ansible_collections.virt.hostprep.plugins.module_utils.plan import RemoveFile, WriteFile
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_dump import dump
from hypothesis import given
from hypothesis import strategies as st

MAIN = "/etc/kubernetes/kubelet.yaml"
DIRECTORY = "/etc/kubelet.d"
HEAD = {"apiVersion": kubelet_files.API_VERSION, "kind": kubelet_files.KIND}

keys = st.sampled_from(["failSwapOn", "maxPods", "clusterDNS", "memorySwap", "kubeReserved", "cpu", "memory.available"])
values = st.one_of(st.booleans(), st.integers(0, 999), st.sampled_from(["1Gi", "10s", "true", ""]), st.just([1, "a"]))
configs = st.dictionaries(keys, st.one_of(values, st.dictionaries(keys, values, min_size=1, max_size=3)), max_size=5)
settings = configs.filter(bool)
drop_ins = st.dictionaries(st.sampled_from(["10-a", "50-b", "95-c"]), configs, max_size=3)


def node(main: dict[str, t.Any], more: dict[str, dict[str, t.Any]], flags: tuple[str, ...] = ()) -> Kubelet:
    argv = ("/usr/bin/kubelet", f"--config={MAIN}", f"--config-dir={DIRECTORY}", *flags)
    return Kubelet(
        distribution="bare",
        unit="kubelet.service",
        pid=1,
        started=1.0,
        argv=argv,
        next_argv=argv,
        version="v1.33.1",
        node_name="n",
        config=ConfigFile(MAIN, dump({**HEAD, **main}), 0.0),
        config_dir=DIRECTORY,
        drop_ins=tuple(
            ConfigFile(f"{DIRECTORY}/{name}.conf", dump({**HEAD, **data}), 0.0) for name, data in sorted(more.items())
        ),
        environment={},
        environment_files=(),
        exec_start=argv,
        drop_in_alpha=False,
        in_container=False,
    )


def applied(found: Kubelet, change: kubelet_files.Change) -> Kubelet:
    """The kubelet with the change in its files."""
    for write in change.writes:
        text = write.content if isinstance(write, WriteFile) else None
        if write.path == MAIN:
            found = dataclasses.replace(found, config=ConfigFile(MAIN, text, 0.0))
            continue
        others = [file for file in found.drop_ins if file.path != write.path]
        if not isinstance(write, RemoveFile):
            others.append(ConfigFile(write.path, text, 0.0))
        found = dataclasses.replace(found, drop_ins=tuple(sorted(others, key=lambda file: file.path)))
    return found


@given(configs, drop_ins, settings, st.booleans())
def test_a_change_is_what_it_says_and_is_made_once(
    main: dict[str, t.Any], more: dict[str, t.Any], wanted: dict[str, t.Any], directory: bool
) -> None:
    found = node(main, more if directory else {})
    change = kubelet_files.change(found, wanted, config_dir=directory, absent=False, order=90)
    after = applied(found, change)
    assert kubelet_files.effective(after, directory) == change.after
    again = kubelet_files.change(after, wanted, config_dir=directory, absent=False, order=90)
    assert again.writes == ()
    assert again.before == change.after


@given(configs, drop_ins, settings, st.booleans())
def test_what_is_not_overridden_is_in_force(
    main: dict[str, t.Any], more: dict[str, t.Any], wanted: dict[str, t.Any], directory: bool
) -> None:
    change = kubelet_files.change(node(main, more if directory else {}), wanted, directory, absent=False, order=90)
    if not change.overrides:
        for leaf, value in kubelet_files.leaves(wanted):
            assert kubelet_files.get(change.after, leaf) == value


@given(configs, drop_ins, settings, st.booleans())
def test_other_keys_stay(
    main: dict[str, t.Any], more: dict[str, t.Any], wanted: dict[str, t.Any], directory: bool
) -> None:
    change = kubelet_files.change(node(main, more if directory else {}), wanted, directory, absent=False, order=90)
    for key, value in change.before.items():
        if key not in wanted:
            assert change.after[key] == value


@given(configs, drop_ins, settings)
def test_absent_takes_the_drop_in_back(
    main: dict[str, t.Any], more: dict[str, t.Any], wanted: dict[str, t.Any]
) -> None:
    found = node(main, more)
    there = applied(found, kubelet_files.change(found, wanted, config_dir=True, absent=False, order=90))
    back = applied(there, kubelet_files.change(there, wanted, config_dir=True, absent=True, order=90))
    assert back == found


@given(configs, settings)
def test_absent_in_the_file_itself_leaves_nothing_of_ours(main: dict[str, t.Any], wanted: dict[str, t.Any]) -> None:
    found = node(main, {})
    there = applied(found, kubelet_files.change(found, wanted, config_dir=False, absent=False, order=90))
    back = applied(there, kubelet_files.change(there, wanted, config_dir=False, absent=True, order=90))
    left = kubelet_files.effective(back, False)
    for leaf, value in kubelet_files.leaves(wanted):
        found_value = kubelet_files.get(left, leaf)
        assert found_value is None or found_value != value
