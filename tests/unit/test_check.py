# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.filter.report import plan_lines
from ansible_collections.virt.hostprep.plugins.module_utils import check
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import kubelets, recorded
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, Link, build

Data = dict[str, t.Any]


def files(**more: t.Any) -> Files:
    cgroup = "sys/fs/cgroup/system.slice"
    return {
        **recorded.lab_host(),
        "etc/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
        "proc/sys/kernel/osrelease": "6.12.1-amd64\n",
        "proc/sys/vm/swappiness": "60\n",
        "sys/fs/cgroup/cgroup.controllers": "memory\n",
        "sys/fs/cgroup/cgroup.subtree_control": "memory\n",
        f"{cgroup}/memory.swap.max": "max\n",
        "commands/systemctl": "FragmentPath=/usr/lib/systemd/system/system.slice\nDropInPaths=\nNeedDaemonReload=no\n",
        **more,
    }


def run(tmp_path: Path, host: Files | None = None, **wanted: t.Any) -> Data:
    options = {"platform": "auto", "kubelet": None, "swap": None, "sysctl": None, "slices": [], **wanted}
    return check.check(Host(build(tmp_path / "host", files() if host is None else host)), options)


ALL: Data = {
    "swap": {"select": {"serial": ["SWAP0001"]}},
    "sysctl": {"file": "90-x.conf", "settings": {"vm.swappiness": 10}},
    "slices": [{"name": "system.slice", "properties": {"MemorySwapMax": 0}}],
}


def test_everything_at_once(tmp_path: Path) -> None:
    result = run(tmp_path, **ALL)
    assert result["problems"] == []
    assert result["platform"] == "libvirt"
    assert result["system"] == {"os": "Debian GNU/Linux 13 (trixie)", "kernel": "6.12.1-amd64"}
    subjects = [action["subject"] for action in result["actions"]]
    assert list(dict.fromkeys(subjects)) == ["sysctl", "swap", "system.slice"]
    assert [change["subject"] for change in result["changes"]] == ["sysctl", "swap", "system.slice"]
    assert {entry["subject"] for entry in result["checks"]} == {"swap", "sysctl", "system.slice"}
    assert [entry["name"] for entry in result["devices"]][:2] == ["nvme0n1", "nvme1n1"]
    assert [node["id"] for node in result["numa"]["nodes"]] == [0, 1]
    assert result["swap"]["areas"] == []


def test_nothing_asked_for_still_shows_the_machine(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert (result["actions"], result["checks"], result["problems"]) == ([], [], [])
    assert len(result["devices"]) == 9
    assert "swap" not in result


def test_problems_of_all_subjects_are_collected(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        swap={"select": {"serial": ["DATA0001"]}, "priority": 5},
        sysctl={"file": "x", "settings": {}},
        slices=[{"name": "a.slice"}, {"name": "b.slice"}],
    )
    assert [problem["subject"] for problem in result["problems"]] == ["sysctl", "swap", "a.slice", "b.slice"]
    assert set(result["problems"][1]) == {"subject", "found", "wanted", "remedy"}
    assert result["actions"] == []


def test_options_are_checked_as_in_the_modules(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        swap={"select": {"serial": "SWAP0001"}, "priority": "7", "wipes": True},
        slices=[{"properties": {}}, {"name": "system.slice", "latency_targets": [{"path": "/"}]}],
    )
    found = [(problem["subject"], problem["found"]) for problem in result["problems"]]
    assert [subject for subject, dummy in found] == ["swap", "slice", "system.slice"]
    assert "wipes" in found[0][1]
    assert "name" in found[1][1]
    assert "target" in found[2][1]


def test_options_are_converted_and_filled_in_without_changing_what_was_given(tmp_path: Path) -> None:
    options = {"select": {"serial": "SWAP0001"}, "priority": "7"}
    result = run(tmp_path, swap=options)
    assert result["problems"] == []
    assert any("Priority" in str(entry) or "priority 7" in str(entry) for entry in result["checks"])
    assert options == {"select": {"serial": "SWAP0001"}, "priority": "7"}


def test_the_devices_are_judged_by_the_label_that_is_wanted(tmp_path: Path) -> None:
    wipefs = '{"signatures": [{"device": "nvme0n1", "offset": "0xff6", "type": "swap", "uuid": "1", "label": "mine"}]}'
    host = files(**{"commands/wipefs": wipefs})
    for label, verdict in (("mine", "ours"), ("hostprep", "refused")):
        folder = tmp_path / label
        folder.mkdir()
        result = run(folder, host, swap={"select": {"serial": ["SWAP0001"]}, "label": label})
        assert result["devices"][0]["verdict"] == verdict


def test_one_cause_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = check.check(Host("/"), {"platform": "auto", "kubelet": None, **ALL})
    (problem,) = [problem for problem in result["problems"] if problem["subject"] != "platform"]
    assert problem["found"] == "this runs as user id 1000"
    assert "devices" not in result


def test_an_unknown_system(tmp_path: Path) -> None:
    assert run(tmp_path, {})["system"]["os"] == "unknown"


# --- platforms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "usr/lib/systemd/system/kubelet.service",
        "lib/systemd/system/kubelet.service",
        "etc/systemd/system/k3s.service",
        "etc/systemd/system/k3s-agent.service",
        "usr/local/lib/systemd/system/rke2-agent.service",
        "etc/systemd/system/k0sworker.service",
        "etc/systemd/system/snap.microk8s.daemon-kubelite.service",
        "usr/local/lib/systemd/system/rke2-server.service",
    ],
)
def test_a_kubelet_is_found_by_its_unit(tmp_path: Path, path: str) -> None:
    result = run(tmp_path, {path: "[Service]\n"}, platform="libvirt")
    assert result["platform"] == "kubernetes"
    (problem,) = result["problems"]
    assert problem["subject"] == "platform"
    assert problem["found"] == f"platform libvirt, and a kubelet on this host ({path.rsplit('/', 1)[1]})"


@pytest.mark.parametrize("name", ["kubelet", "kubelite", "k3s-agent", "k3s-server"])
def test_a_kubelet_is_found_by_its_process(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, {"proc/77/comm": f"{name}\n", "proc/78/comm": "bash\n"}, platform="libvirt")
    assert "(process 77)" in result["problems"][0]["found"]


def test_a_process_of_another_name_is_no_kubelet(tmp_path: Path) -> None:
    assert run(tmp_path, {"proc/77/comm": "kubelet-metrics\n"}, platform="libvirt")["problems"] == []


def test_a_link_to_a_unit_counts(tmp_path: Path) -> None:
    host: Files = {"etc/systemd/system/kubelet.service": Link("/opt/kubelet.service")}
    assert run(tmp_path, host)["platform"] == "kubernetes"


def test_the_platform_of_a_later_release(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, {}, platform="openshift")["problems"]
    assert problem["found"] == "platform openshift"


def test_kubernetes_needs_a_kubelet(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, {}, platform="kubernetes")["problems"]
    assert problem["found"] == "platform kubernetes, and no kubelet on this host"


# --- a node of a cluster ------------------------------------------------------------------------------------------

KUBELET: Data = {"settings": {"failSwapOn": False, "memorySwap": {"swapBehavior": "auto"}}, "restart": True}


def node() -> Files:
    return {**kubelets.kubeadm(), **recorded.lab_host()}


def test_the_kubelet_is_planned_before_the_swap_that_waits_for_it(tmp_path: Path) -> None:
    result = run(tmp_path, node(), kubelet=KUBELET, swap=ALL["swap"])
    assert result["problems"] == []
    subjects = [action["subject"] for action in result["actions"]]
    assert list(dict.fromkeys(subjects)) == ["kubelet", "swap"]
    (gate,) = result["gates"]
    assert gate["subject"] == "swap"
    assert result["kubelet"]["node_name"] == "node-1"
    assert "restart kubelet.service" in "\n".join(plan_lines(result, "node-1"))


def test_swap_under_a_kubelet_that_nobody_prepares_is_a_problem(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, node(), swap=ALL["swap"])["problems"]
    assert problem["subject"] == "swap"
    assert "being told so by a file is not enough" in problem["wanted"]


def test_the_kubelet_is_no_matter_where_there_is_none(tmp_path: Path) -> None:
    result = run(tmp_path, kubelet=KUBELET, swap=ALL["swap"])
    assert result["problems"] == []
    assert {action["subject"] for action in result["actions"]} == {"swap"}
