"""The kubelet's configuration on real hosts, as kubeadm, kubespray, k3s and careful hands lay it out."""

from __future__ import annotations

import driver
import pytest
from lab.kubelet.install import install

SETTINGS = {"failSwapOn": False, "memorySwap": {"swapBehavior": "auto"}}
OURS = "/etc/kubernetes/kubelet.conf.d/90-hostprep.conf"
# layout, release, further options, the file that has to carry the settings
CASES = {
    "kubespray": ("kubespray", "v1.33.4", {"accept_rewrite": True}, OURS),
    "bare": ("bare", "v1.32.1", {}, OURS),
    "bare-1.29": ("bare", "v1.29.1", {}, "/etc/kubernetes/kubelet.yaml"),
    "kubeadm-1.29": ("kubeadm", "v1.29.1", {"accept_rewrite": True}, "/var/lib/kubelet/config.yaml"),
    "k3s": ("k3s", "v1.34.1", {}, "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/90-hostprep.conf"),
}
DEVICE = "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SWAP0002_1"
# All that an installation brings, whatever the layout.
CLEAN = """
for unit in kubelet.service k3s-agent.service; do
    if systemctl cat "$unit" >/dev/null 2>&1; then systemctl disable --now "$unit"; fi
done
rm -rf /etc/kubernetes /etc/rancher /var/lib/rancher /var/lib/kubelet /etc/default/kubelet /usr/local/bin/k3s \\
    /usr/bin/kubelet /usr/local/bin/kubelet /usr/local/lib/kubelet-standin /etc/systemd/system/swap.target
find /etc/systemd/system /usr/lib/systemd/system -name 'kubelet.service*' -prune -exec rm -r {} +
find /etc/systemd/system -name 'k3s-agent.service*' -prune -exec rm -r {} +
systemctl daemon-reload
"""


@pytest.fixture
def kubelet(lab, request):
    """The shared lab host with a kubelet on it."""
    layout, release, options, written_to = CASES[request.param]
    installed = install(lab, layout, release)
    wait_healthy(lab)
    yield installed, options, written_to
    lab.run(["sh", "-ec", CLEAN], timeout=120)


HEALTHY = """
import urllib.request
while True:
    try:
        urllib.request.urlopen("http://127.0.0.1:10248/healthz")
        break
    except OSError:
        pass
"""


def wait_healthy(lab):
    lab.run(["python3", "-c", HEALTHY], timeout=120)


def started(lab, unit):
    return lab.run(["systemctl", "show", "--property=ExecMainStartTimestampMonotonic", unit]).stdout


@pytest.mark.parametrize("kubelet", CASES, indirect=True)
def test_there_and_back(lab, kubelet):
    installed, options, written_to = kubelet
    run = driver.matrix(lab, "kubelet_config", {"settings": SETTINGS, "restart": True, **options})
    assert run["kubelet"]["written_to"] == written_to
    assert run["kubelet"]["restart_required"] == []
    assert run["kubelet"]["config"]["failSwapOn"] is False
    assert [action["restart"] for action in run["actions"] if "restart" in action] == [installed.unit]

    # It is the running kubelet that tolerates swap now, also after its next start; the way back waits for the swap.
    lab.run(["sh", "-ec", f"mkswap --quiet {DEVICE} && swapon {DEVICE}"])
    lab.run(["systemctl", "restart", installed.unit])
    wait_healthy(lab)
    absent = {"settings": SETTINGS, "state": "absent", "restart": True, **options}
    if installed.unit == "kubelet.service":  # k3s tolerates swap by its own defaults
        (refused,) = driver.tasks(lab, {"virt.hostprep.kubelet_config": absent})
        assert "turn the swap off first" in refused["msg"]
    lab.run(["swapoff", DEVICE])

    driver.matrix(lab, "kubelet_config", absent)
    assert "failSwapOn" not in lab.run(["sh", "-c", f"if [ -e {written_to} ]; then cat {written_to}; fi"]).stdout


@pytest.mark.parametrize("kubelet", ["bare"], indirect=True)
def test_without_leave_it_is_not_restarted(lab, kubelet):
    installed, _options, _written_to = kubelet
    before = started(lab, installed.unit)
    (run,) = driver.tasks(lab, {"virt.hostprep.kubelet_config": {"settings": {"maxPods": 123}}})
    assert run["changed"] is True
    assert started(lab, installed.unit) == before
    assert run["kubelet"]["restart_required"] == [f"{OURS} is newer than the running kubelet"]
    # Broken off there, the next run with leave goes on.
    (run,) = driver.tasks(lab, {"virt.hostprep.kubelet_config": {"settings": {"maxPods": 123}, "restart": True}})
    assert [set(action) for action in run["actions"]] == [{"restart", "reason"}]
    assert started(lab, installed.unit) != before


@pytest.mark.usefixtures("kubelet")
@pytest.mark.parametrize("kubelet", ["bare"], indirect=True)
def test_state_files_go_with_a_drained_node_only(lab):
    """B52: with the old state file the kubelet would not start; it is taken away while the kubelet is down."""
    static = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
    task = {"virt.hostprep.kubelet_config": {"settings": static, "restart": True}}
    drained = {"virt.hostprep.kubelet_config": {"settings": static, "restart": True, "drained": True}}
    refused, run, again = driver.tasks(lab, task, drained, task)
    assert "cpu_manager_state has to go" in refused["msg"]
    assert refused["changed"] is False
    assert run["changed"] is True
    assert again["changed"] is False
    state = lab.run(["cat", "/var/lib/kubelet/cpu_manager_state"]).stdout
    assert '"policyName":"static"' in state.replace(" ", "")
