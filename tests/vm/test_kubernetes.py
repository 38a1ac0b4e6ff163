"""Nodes of a cluster: the order cannot be got round, a broken node stops the pool, a cut-off run is finished."""

from __future__ import annotations

import tempfile

import driver
import pytest
from driver import active
from kubernetes import client

SITE = driver.ROOT / "playbooks/site.yml"
DROP_IN = "/etc/kubernetes/kubelet.conf.d/90-hostprep.conf"
WANTED = {"nvme_swap_select": {"serial": ["SWAP0001", "SWAP0002"]}}
ON = {"SWAP0001": 100, "SWAP0002": 100}
ROLE_ALONE = """
- hosts: all
  gather_facts: false
  roles:
    - role: virt.hostprep.nvme_swap
"""
MODULE_ALONE = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Make dedicated swap
      virt.hostprep.swap_device:
        select:
          serial: SWAP0001
"""


@pytest.fixture(scope="module")
def cluster():
    made = driver.boot_pool("pytest-pool")
    yield made
    made.down()


def site(cluster, *arguments, path=SITE, **variables):
    """Run a playbook on the whole pool. Returns (exit status, results by task and host, stats)."""
    return driver.run(cluster, path, *arguments, variables={**WANTED, **variables})


def started(lab):
    """When the kubelet of a lab host was started."""
    return lab.run(["systemctl", "show", "--property=ExecMainStartTimestampMonotonic", "kubelet.service"]).stdout


def test_the_order(cluster, tmp_path):
    """One story on one pool: every way round the gate, check mode, the run, the second run, the way back.

    Reboots are in molecule's scenario.
    """
    second = cluster.labs[1]

    # With failSwapOn true, nothing reaches swapon.
    role, module = tmp_path / "role.yml", tmp_path / "module.yml"
    role.write_text(ROLE_ALONE)
    module.write_text(MODULE_ALONE)
    kubernetes = {"hostprep_platform": "kubernetes"}
    attempts = {
        "role alone": ([], role, {}),
        "role alone, platform said": ([], role, kubernetes),
        "role alone, platform denied": ([], role, {"hostprep_platform": "libvirt"}),
        "module alone": ([], module, {}),
        "start at the task": (["--start-at-task", "virt.hostprep.nvme_swap : Make dedicated swap"], SITE, {}),
        "the tag never": (["--tags", "never"], SITE, {}),
        "a tag": (["--tags", "nvme_swap"], SITE, {}),
        "without the step": ([], SITE, {"kubelet_swap_platform": "libvirt", "pool_sync_timeout": 5}),
    }
    for way, (arguments, path, variables) in attempts.items():
        status, results, _stats = site(cluster, *arguments, path=path, **variables)
        assert [active(lab) for lab in cluster.labs] == [{}, {}], way
        if way.startswith(("role", "module", "start")):
            assert status == 2, (way, results)
            assert "never becomes Ready again" in str(results), way
        assert [cluster.configz(lab.config.name)["failSwapOn"] for lab in cluster.labs] == [True, True], way
    assert cluster.configz("pytest-pool-1")["failSwapOn"] is True

    # Check mode shows the whole way and writes nothing.
    before = [driver.fingerprint(lab) for lab in cluster.labs]
    status, results, _stats = site(cluster, "--check", "--diff")
    assert status == 0, results
    assert [driver.fingerprint(lab) for lab in cluster.labs] == before

    # From nothing to verified.
    status, results, _stats = site(cluster)
    assert status == 0, results
    for lab in cluster.labs:
        assert active(lab) == ON
        said = cluster.configz(lab.config.name)
        assert (said["failSwapOn"], said["memorySwap"]) == (False, {"swapBehavior": "LimitedSwap"})
    assert not any(node.spec.unschedulable for node in cluster.core().list_node().items)

    starts = [started(lab) for lab in cluster.labs]
    status, results, stats = site(cluster)
    assert status == 0, results
    assert {host: entry["changed"] for host, entry in stats.items()} == {"pytest-pool-1": 0, "pytest-pool-2": 0}
    assert [started(lab) for lab in cluster.labs] == starts

    # The way back has its order, too: the kubelet keeps tolerating swap as long as there is some.
    status, results, _stats = site(cluster, kubelet_swap_state="absent")
    assert status == 2
    assert "turn the swap off first" in str(results)
    status, results, _stats = site(cluster, nvme_swap_state="absent")
    assert status == 0, results
    status, results, _stats = site(cluster, kubelet_swap_state="absent", nvme_swap_select={})
    assert status == 0, results
    assert [active(lab) for lab in cluster.labs] == [{}, {}]
    assert second.run(["test", "-e", DROP_IN], check=False).returncode == 1
    assert cluster.configz("pytest-pool-2")["failSwapOn"] is True


KUBELETS_ALONE = """
- hosts: all
  gather_facts: false
  serial: 1
  any_errors_fatal: true
  roles:
    - role: virt.hostprep.kubelet_swap
"""
POD = {
    "metadata": {
        "name": "guest",
        "labels": {"app": "guest"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "guest", "uid": "1", "controller": True}
        ],
    },
    "spec": {"nodeName": "pytest-pool-1", "containers": [{"name": "guest", "image": "guest"}]},
}
BUDGET = {"metadata": {"name": "guest"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guest"}}}}
OUR_MARK = "virt.hostprep/cordoned"


def cordons(cluster):
    """By node: is it cordoned, and is that our doing?"""
    return {
        node.metadata.name: (bool(node.spec.unschedulable), OUR_MARK in (node.metadata.annotations or {}))
        for node in cluster.core().list_node().items
    }


def test_a_node_is_drained_where_asked_and_only_our_cordon_is_taken_back(cluster, tmp_path):
    play = tmp_path / "kubelets.yml"
    play.write_text(KUBELETS_ALONE)
    core = cluster.core()
    policy = client.PolicyV1Api(core.api_client)
    core.create_namespaced_pod("default", POD)
    ready = [{"type": "Ready", "status": "True"}]
    core.patch_namespaced_pod_status("guest", "default", {"status": {"phase": "Running", "conditions": ready}})
    policy.create_namespaced_pod_disruption_budget("default", BUDGET)
    core.patch_node("pytest-pool-2", {"spec": {"unschedulable": True}})  # the administrator's own cordon
    drain = {"kubelet_swap_drain": "always", "kubelet_swap_drain_timeout": 5}

    # A budget that allows no eviction: nothing is changed on the host, and the run says why.
    status, results, _stats = site(cluster, path=play, **drain)
    assert status == 2
    assert "disruption budget" in str(results)
    assert cordons(cluster) == {"pytest-pool-1": (True, True), "pytest-pool-2": (True, False)}
    assert cluster.configz("pytest-pool-1")["failSwapOn"] is True

    # The next run finishes that, also the uncordoning, which it could not know of by itself.
    policy.delete_namespaced_pod_disruption_budget("guest", "default")
    status, results, _stats = site(cluster, path=play, **drain)
    assert status == 0, results
    assert core.list_namespaced_pod("default").items == []
    assert cordons(cluster) == {"pytest-pool-1": (False, False), "pytest-pool-2": (True, False)}
    assert [cluster.configz(lab.config.name)["failSwapOn"] for lab in cluster.labs] == [False, False]

    core.patch_node("pytest-pool-2", {"spec": {"unschedulable": None}})
    status, results, _stats = site(cluster, path=play, kubelet_swap_state="absent")
    assert status == 0, results


def test_a_kubelet_that_does_not_come_back_is_restored_and_stops_the_pool(cluster):
    first, second = cluster.labs
    broken = "/etc/systemd/system/kubelet.service.d/99-broken.conf"
    text = f"[Service]\nExecStartPre=/usr/bin/test ! -e {DROP_IN}\n"
    first.run(["sh", "-c", f"mkdir -p {broken.rpartition('/')[0]} && cat > {broken}"], input=text)
    first.run(["systemctl", "daemon-reload"])
    before = driver.fingerprint(second)

    status, results, _stats = site(cluster)
    assert status == 2
    assert "kubelet.service did not come back" in str(results)
    assert "the files are as they were before, and it runs with them" in str(results)
    assert first.run(["test", "-e", DROP_IN], check=False).returncode == 1
    assert driver.fingerprint(second) == before, "the pool did not stop at the first node"
    assert [active(lab) for lab in cluster.labs] == [{}, {}]
    cluster.wait_ready()

    # Repaired, the same run goes through. Then the other way round: the first stays prepared.
    first.run(["rm", broken])
    first.run(["systemctl", "daemon-reload"])
    second.run(["sh", "-c", f"mkdir -p {broken.rpartition('/')[0]} && cat > {broken}"], input=text)
    second.run(["systemctl", "daemon-reload"])
    status, results, _stats = site(cluster)
    assert status == 2
    assert cluster.configz("pytest-pool-1")["failSwapOn"] is False
    assert cluster.configz("pytest-pool-2")["failSwapOn"] is True
    assert "pytest-pool-2" in str(results)
    assert [active(lab) for lab in cluster.labs] == [{}, {}]
    second.run(["rm", broken])
    second.run(["systemctl", "daemon-reload"])


# What a shell on the second node waits for, in the order in which a run brings it about.
MOMENTS = [
    f"test -e {DROP_IN}",
    "test -e /etc/sysctl.d/90-hostprep-swap.conf",
    "grep -q /dev/ /proc/swaps",
]


def test_a_run_that_is_cut_off_between_the_steps_is_finished_by_the_next(cluster):
    first, second = cluster.labs
    cuts = 0
    for moment in MOMENTS:
        if second.run(["sh", "-c", moment], check=False).returncode == 0:
            continue
        cuts += 1
        with tempfile.TemporaryDirectory(prefix="hostprep-") as directory:
            run = driver.start(cluster, SITE, variables=WANTED, directory=directory)
            try:
                second.run(["sh", "-c", f"until {moment}; do :; done"], timeout=600)
                second.cut()
            finally:
                run.kill()
                run.wait()
        cluster.wait_ready()
    assert cuts >= 2
    status, results, _stats = site(cluster)
    assert status == 0, results
    assert [active(first), active(second)] == [ON, ON]
    status, results, stats = site(cluster)
    assert status == 0 and [entry["changed"] for entry in stats.values()] == [0, 0], results
