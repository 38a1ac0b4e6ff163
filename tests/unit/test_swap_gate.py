# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No swap under a kubelet that has not said itself that it tolerates it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import swap, swap_gate
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.tests.support import active, device, formatted, host, unit_files, wanted
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import kubelets
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import build

TOLERANT = kubelets.KUBEADM_CONFIG + "failSwapOn: false\n"
NODE = {"kubelet": "kubelet.service", "on_disk": False}


@pytest.mark.parametrize(
    ("live", "on_disk", "said"),
    [
        (None, False, "no word of what it runs with"),
        (None, None, "no word of what it runs with"),
        ({}, False, "says failSwapOn: true"),  # /configz shows it always; if it does not, the default counts
        ({"failSwapOn": True}, False, "says failSwapOn: true"),
        ({"failSwapOn": "false"}, False, "says failSwapOn: false"),  # text is no answer
        ({"failSwapOn": False}, True, "its files say failSwapOn: true again"),
    ],
)
def test_shut(live: dict[str, t.Any] | None, on_disk: bool | None, said: str) -> None:
    (gate,) = swap_gate.gates({"kubelet": "kubelet.service", "on_disk": on_disk}, live)
    assert said in gate.found
    assert "never becomes Ready again" in gate.found


@pytest.mark.parametrize("on_disk", [False, None])
def test_open(on_disk: bool | None) -> None:
    assert swap_gate.gates({"kubelet": "kubelet.service", "on_disk": on_disk}, {"failSwapOn": False}) == []


def test_a_host_without_kubelet_needs_no_answer() -> None:
    assert swap_gate.gates({"kubelet": None, "on_disk": None}, None) == []


def test_swap_that_is_on_already_is_left_alone() -> None:
    """A gate is for turning on: a second run on a prepared node passes without an answer."""
    there = active(formatted(device()))
    made = swap.plan(host(there, files=unit_files(there), gate=NODE), wanted())
    assert (made.actions, made.gates) == ((), ())


def test_a_blank_device_waits() -> None:
    made = swap.plan(host(device(), gate=NODE), wanted())
    assert made.problems == ()
    assert len(made.gates) == 1
    assert swap.plan(host(device(), gate=NODE), wanted(kubelet_config={"failSwapOn": False})).gates == ()


def test_a_change_that_turns_it_off_and_on_waits() -> None:
    there = active(formatted(device()), priority=5)
    assert len(swap.plan(host(there, files=unit_files(there, priority=5), gate=NODE), wanted()).gates) == 1


@pytest.mark.parametrize(
    ("files", "on_disk"),
    [
        (kubelets.kubeadm(), True),
        (kubelets.kubeadm(config=TOLERANT), False),
        (kubelets.kubeadm(extra="KUBELET_EXTRA_ARGS=--fail-swap-on=false\n"), False),
        (kubelets.kubeadm(config=TOLERANT, extra="KUBELET_EXTRA_ARGS=--fail-swap-on\n"), True),
        (kubelets.k3s(), None),
        (kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": "a: 1\na: 2\n"}), None),
    ],
)
def test_what_its_files_say_for_the_next_start(tmp_path: Path, files: t.Any, on_disk: bool | None) -> None:
    assert swap_gate.observe(Host(build(tmp_path / "host", files)))["on_disk"] is on_disk
