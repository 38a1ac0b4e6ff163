"""What a prepared node looks like from outside: the kernel's, systemd's, the kubelet's and the API server's words."""

from __future__ import annotations

import json
import os
import subprocess
import time


def kubectl(*words):
    """The JSON that kubectl prints, as the administrator. A kubelet needs some seconds after its host has booted."""
    kubeconfig = f"{os.environ['MOLECULE_EPHEMERAL_DIRECTORY']}/kubeconfig"
    deadline = time.monotonic() + 60
    while True:
        done = subprocess.run(
            ["kubectl", f"--kubeconfig={kubeconfig}", *words], check=False, capture_output=True, text=True
        )
        if done.returncode == 0:
            return json.loads(done.stdout)
        assert time.monotonic() < deadline, done.stderr


def node_name(host):
    return host.check_output("hostname").strip()


def test_swap_is_active(host):
    lines = host.check_output("swapon --show=NAME,PRIO --noheadings").splitlines()
    assert [line.split()[1] for line in lines] == ["100", "100"]


def test_the_running_kubelet_tolerates_swap(host):
    said = kubectl("get", "--raw", f"/api/v1/nodes/{node_name(host)}/proxy/configz")["kubeletconfig"]
    assert said["failSwapOn"] is False
    assert said["memorySwap"] == {"swapBehavior": "LimitedSwap"}


def test_the_kubelet_counts_the_swap(host):
    total = host.check_output("awk '/^SwapTotal:/ { print $2 }' /proc/meminfo")
    node = kubectl("get", "node", node_name(host), "--output=json")
    assert node["status"]["nodeInfo"]["swap"]["capacity"] == int(total) * 1024


def test_pods_may_come(host):
    node = kubectl("get", "node", node_name(host), "--output=json")
    assert [entry["status"] for entry in node["status"]["conditions"] if entry["type"] == "Ready"] == ["True"]
    assert "unschedulable" not in node["spec"]
    assert not [key for key in node["metadata"].get("annotations", {}) if key.startswith("virt.hostprep/")]


def test_the_settings_have_a_file_of_their_own(host):
    assert host.file("/etc/kubernetes/kubelet.conf.d/90-hostprep.conf").contains("failSwapOn: false")
    assert not host.file("/var/lib/kubelet/config.yaml").contains("failSwapOn: false")


def test_the_system_itself_does_not_swap(host):
    assert host.file("/sys/fs/cgroup/system.slice/memory.swap.max").content_string.strip() == "0"


def test_nothing_failed(host):
    assert host.check_output("systemctl list-units --failed --no-legend --plain") == ""
