# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a kubelet is found: by what runs and by what its unit would start, never by where files usually are (B21)."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import kubelet
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import kubelets
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, build


def observe(tmp_path: Path, files: Files) -> kubelet.Kubelet:
    found = kubelet.observe(Host(build(tmp_path / "host", files)))
    assert found is not None
    return found


def test_a_host_without_one(tmp_path: Path) -> None:
    host = Host(build(tmp_path / "host", {"proc/1/comm": "systemd\n"}))
    assert kubelet.find(host) is None
    assert kubelet.observe(host) is None


def test_kubeadm(tmp_path: Path) -> None:
    found = observe(tmp_path, kubelets.kubeadm())
    assert (found.distribution, found.unit, found.pid) == ("kubeadm", "kubelet.service", kubelets.PID)
    assert (found.version, found.node_name) == ("v1.33.4", "node-1")
    assert found.config is not None
    assert (found.config.path, found.config.text) == ("/var/lib/kubelet/config.yaml", kubelets.KUBEADM_CONFIG)
    assert (found.config_dir, found.drop_ins) == ("", ())
    assert found.argv == found.next_argv
    assert found.started == 4071006245.000006


def test_kubespray(tmp_path: Path) -> None:
    found = observe(tmp_path, kubelets.kubespray())
    assert found.distribution == "kubespray"
    assert found.config is not None
    assert found.config.path == "/etc/kubernetes/kubelet-config.yaml"


def test_bare_with_drop_ins_in_the_order_of_their_paths(tmp_path: Path) -> None:
    directory = "/etc/kubelet.d"
    found = observe(
        tmp_path,
        kubelets.bare(
            f"--config /etc/kubernetes/kubelet.yaml --config-dir {directory}",
            **{
                f"{directory}/20-b.conf": "b",
                f"{directory}/10-a.conf": "a",
                f"{directory}/15-sub/x.conf": "x",
                f"{directory}/30-c.yaml": "not read",
                f"{directory}/.90-hostprep.conf.hostprep-new": "what a power cut left",
            },
        ),
    )
    assert found.distribution == "bare"
    assert [file.path[len(directory) :] for file in found.drop_ins] == ["/10-a.conf", "/15-sub/x.conf", "/20-b.conf"]


def test_k3s_has_a_directory_of_its_own(tmp_path: Path) -> None:
    found = observe(tmp_path, kubelets.k3s())
    assert (found.distribution, found.unit) == ("k3s", "k3s-agent.service")
    assert found.config_dir == "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
    assert found.version == "v1.33.1+k3s1"
    assert found.config is None


def test_a_kubelet_that_does_not_run_is_known_by_its_unit(tmp_path: Path) -> None:
    found = observe(tmp_path, kubelets.kubeadm(pid=0))
    assert (found.running, found.started, found.argv) == (False, None, ())
    assert found.flags["config"] == "/var/lib/kubelet/config.yaml"


def test_the_next_start_can_differ_from_what_runs(tmp_path: Path) -> None:
    files = kubelets.kubeadm()
    files["etc/default/kubelet"] = "KUBELET_EXTRA_ARGS='--fail-swap-on=false --v 4'\n"
    found = observe(tmp_path, files)
    assert found.argv != found.next_argv
    assert found.flags["fail-swap-on"] == "false"
    assert found.flags["v"] == "4"


@pytest.mark.parametrize(
    ("cgroup", "inside"),
    [
        ("0::/system.slice/kubelet.service", False),
        ("0::/system.slice/docker-0123abc.scope", True),
        ("0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-0.scope", True),
    ],
)
def test_a_container(tmp_path: Path, cgroup: str, inside: bool) -> None:
    assert observe(tmp_path, kubelets.bare(cgroup=cgroup)).in_container is inside


@pytest.mark.parametrize(
    ("argv", "flags"),
    [
        (["kubelet"], {}),
        (["kubelet", "--a=1", "--a=2"], {"a": "2"}),
        (["kubelet", "--a", "1", "--b"], {"a": "1", "b": "true"}),
        (["kubelet", "--a", "--b=x=y"], {"a": "true", "b": "x=y"}),
        (["k3s", "agent", "--a=1"], {"a": "1"}),
    ],
)
def test_flags(argv: list[str], flags: dict[str, str]) -> None:
    assert kubelet.flags(argv) == flags
