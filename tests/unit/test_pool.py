# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge says of one node, line by line."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import pool

Data = dict[str, t.Any]
GIB = 1024**3
WANTED = pool.Wanted({"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}, {"node-1": 8 * GIB})


def node(version: str = "v1.33.1", swap: int | None = 8 * GIB, ready: str = "True", **spec: t.Any) -> Data:
    info: Data = {"kubeletVersion": version}
    if swap is not None:
        info["swap"] = {"capacity": swap}
    condition = {"type": "Ready", "status": ready, "reason": "KubeletNotReady", "message": "container runtime down"}
    return {
        "metadata": {"name": "node-1"},
        "spec": spec,
        "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, condition], "nodeInfo": info},
    }


GOOD = pool.Evidence(
    node=node(),
    lease=pool.Lease(renewed_ago=7, duration=40),
    configz={"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}, "maxPods": 110},
    source="proxy",
)


def judged(**changed: t.Any) -> pool.Verdict:
    return pool.judge("node-1", dataclasses.replace(GOOD, **changed), WANTED)


def test_a_node_in_sync() -> None:
    verdict = judged()
    assert verdict.in_sync
    assert verdict.as_dict(12.345) == {
        "ready": True,
        "unschedulable": False,
        "kubelet_version": "v1.33.1",
        "kubelet_config": {"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}},
        "swap_capacity": 8 * GIB,
        "source": "proxy",
        "seconds": 12.3,
        "waiting_for": [],
        "notes": [],
    }


@pytest.mark.parametrize(
    ("changed", "waiting_for"),
    [
        ({"node": node(ready="False")}, "NotReady (KubeletNotReady: container runtime down)"),
        ({"node": node(ready="Unknown")}, "NotReady (KubeletNotReady: container runtime down)"),
        (
            {"node": {**node(), "status": {"nodeInfo": {"kubeletVersion": "v1.32.0"}}}},
            "NotReady (no Ready condition yet)",
        ),
        (
            {"lease": pool.Lease(41, 40)},
            "NotReady (Ready=True is stale: Lease not renewed for more than 40 s)",
        ),
        ({"lease": None}, "NotReady (no renewed Lease in kube-node-lease)"),
        ({"configz": None, "unreadable": "503 refused"}, "/configz not readable: 503 refused"),
        (
            {"configz": {"failSwapOn": True, "memorySwap": {"swapBehavior": "LimitedSwap"}}},
            "failSwapOn: wanted false, found true",
        ),
        (
            {"configz": {"failSwapOn": False, "memorySwap": {}}},
            "memorySwap.swapBehavior: wanted LimitedSwap, not shown by /configz",
        ),
        (
            {"configz": {"memorySwap": {"swapBehavior": "LimitedSwap"}}},
            "failSwapOn: wanted false, not shown by /configz",
        ),
        ({"node": node(swap=4 * GIB)}, "swap capacity: wanted at least 8 GiB, found 4 GiB"),
        ({"node": node(swap=None)}, "swap capacity: wanted at least 8 GiB, found 0 B"),
    ],
)
def test_what_a_node_waits_for(changed: Data, waiting_for: str) -> None:
    verdict = judged(**changed)
    assert verdict.waiting_for == (waiting_for,)
    assert (verdict.in_sync, verdict.problems) == (False, ())
    assert verdict.ready == (not waiting_for.startswith("NotReady"))


def test_all_that_is_missing_is_said() -> None:
    verdict = judged(node=node(ready="False", swap=0), configz=None)
    assert len(verdict.waiting_for) == 3


def test_a_node_that_has_just_registered_itself() -> None:
    verdict = judged(node={"metadata": {"name": "node-1"}})
    assert verdict.waiting_for[-1] == "its kubelet has not reported a version yet"
    assert not verdict.in_sync


def test_a_cordoned_node_may_be_in_sync() -> None:
    verdict = judged(node=node(unschedulable=True))
    assert (verdict.in_sync, verdict.unschedulable) == (True, True)


def test_older_kubelets_report_no_swap() -> None:
    verdict = judged(node=node("v1.32.5+k3s1", swap=None))
    assert verdict.in_sync
    assert verdict.swap_capacity is None
    assert verdict.notes == ("swap capacity: not reported by this release (v1.32.5+k3s1)",)


def test_leases_that_nobody_lets_us_see() -> None:
    verdict = judged(lease=None, lease_readable=False)
    assert verdict.in_sync
    assert "known from /configz only" in verdict.notes[0]
    assert not judged(lease=None, lease_readable=False, configz=None).in_sync


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"node": None}, "node node-1 left the pool: deleted, or no longer labelled so"),
        ({"node": {**node(), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}}, "is being deleted"),
        ({"node": node("v1.27.9")}, "node node-1: Kubernetes 1.27"),
        ({"node": node("nightly")}, "node node-1: 'nightly' as the version of the kubelet"),
    ],
)
def test_what_does_not_heal(changed: Data, found: str) -> None:
    verdict = judged(**changed)
    assert found in verdict.problems[0].found
    assert not verdict.in_sync


@pytest.mark.parametrize(
    ("settings", "found"),
    [({"failSwapon": False}, "failSwapon"), ({"failSwapOn": "false"}, "failSwapOn"), ({"swap": {"x": 1}}, "swap")],
)
def test_a_key_or_value_that_can_never_be_shown(settings: Data, found: str) -> None:
    wanted = pool.Wanted(settings, {})
    assert found in pool.judge("node-1", GOOD, wanted).problems[0].found
    newer = dataclasses.replace(GOOD, node=node("v1.99.0"))  # may know it; the time-out will tell
    verdict = pool.judge("node-1", newer, wanted)
    assert (verdict.problems, len(verdict.waiting_for)) == ((), 1)


def test_a_pool_is_in_sync_if_it_has_nodes_and_each_one_is() -> None:
    assert pool.in_sync([judged(), judged()])
    assert not pool.in_sync([judged(), judged(lease=None)])
    assert not pool.in_sync([])


# --- wanted keys against /configz ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("60s", "1m0s"),
        ("1.5h", "1h30m0s"),
        ("100ms", "0.1s"),
        ("0", "0s"),
        ("1Gi", "1024Mi"),
        ("1k", "1000"),
        ("0.1", "100m"),
        (2, "2"),
        (1, 1.0),
        (["pods"], ["pods"]),
        ([{"numaNode": 0, "limits": {"memory": "1024Mi"}}], [{"numaNode": 0, "limits": {"memory": "1Gi"}}]),
        ({}, {"swapBehavior": "NoSwap"}),
        ("", ""),
    ],
)
def test_the_same(wanted: object, found: object) -> None:
    assert pool.same(wanted, found)
    assert pool.differences({"key": wanted}, {"key": found, "other": 1}) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("61s", "1m0s"),
        ("1G", "1Gi"),
        ("static", "none"),
        ("", "NoSwap"),
        (False, 0),
        (True, 1),
        (False, "false"),
        ("false", False),
        (False, None),
        (1, True),
        (2, "3"),
        (["pods"], ["pods", "system-reserved"]),
        (["a", "b"], ["b", "a"]),
        ([], ["pods"]),
        ({"a": 1}, "a"),
        ({"a": 1}, None),
        ("10%", "10"),
    ],
)
def test_not_the_same(wanted: object, found: object) -> None:
    assert not pool.same(wanted, found)
    assert len(pool.differences({"key": wanted}, {"key": found})) == 1


@pytest.mark.parametrize(
    "wanted",
    [
        {"reservedSystemCPUs": ""},
        {"memorySwap": {"swapBehavior": ""}},
        {"cpuManagerPolicyOptions": {}},
        {"allowedUnsafeSysctls": []},
        {"readOnlyPort": 0},
        {"protectKernelDefaults": False},
    ],
)
def test_what_configz_leaves_out_has_its_zero_value(wanted: Data) -> None:
    assert pool.differences(wanted, {"memorySwap": {}}) == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"failSwapOn": False},
        {"failswapOn": False},
        {"memorySwap": {"x": False}},
        {"maxPods": 1},
        {"memorySwap": {"a": 1}},
    ],
)
def test_what_configz_does_not_show_is_otherwise_no_yes(wanted: Data) -> None:
    assert len(pool.differences(wanted, {"memorySwap": {}})) == 1
    assert len(pool.differences(wanted, {})) == 1


# --- leases -------------------------------------------------------------------------------------------------------


def test_leases() -> None:
    lease = {"spec": {"renewTime": "2026-01-01T00:00:10.500000Z", "leaseDurationSeconds": 20}}
    assert pool.renew_time(lease) == 1767225610.5
    assert pool.lease_duration(lease) == 20
    assert pool.renew_time({"spec": {}}) is None
    assert pool.lease_duration({}) == 40
