"""slice_limits and sysctl_settings on a real kernel: create, change, remove, and what others set beside us."""

from __future__ import annotations

import driver

LIMITS = {
    "name": "system.slice",
    "properties": {"MemorySwapMax": 0, "CPUWeight": 800},
    "latency_targets": [{"path": "/", "target": "5ms"}],
}
SETTINGS = {"file": "90-hostprep-swap.conf", "settings": {"vm.page-cluster": 0, "vm.swappiness": 61}}


def cgroup(lab, file):
    return lab.run(["cat", f"/sys/fs/cgroup/system.slice/{file}"]).stdout.strip()


def test_slice_limits(lab):
    create = driver.matrix(lab, "slice_limits", LIMITS)
    assert (cgroup(lab, "memory.swap.max"), cgroup(lab, "cpu.weight")) == ("0", "800")
    # Debian's kernels have no io.latency: systemd takes the target, and only the result tells the truth.
    latency = next(check for check in create["checks"] if "latency" in check["name"])
    assert not latency["supported"] and not create["slice"]["io_latency_supported"]
    assert any("io.latency" in warning for warning in create["warnings"])

    change = {**LIMITS, "properties": {"MemorySwapMax": "64M", "MemoryLow": "128M"}}
    driver.matrix(lab, "slice_limits", change)
    assert (cgroup(lab, "memory.swap.max"), cgroup(lab, "memory.low")) == (str(64 << 20), str(128 << 20))
    assert cgroup(lab, "cpu.weight") == "100", "what is no longer asked for is taken back"

    driver.matrix(lab, "slice_limits", {"name": "system.slice", "state": "absent"})
    assert (cgroup(lab, "memory.swap.max"), cgroup(lab, "memory.low")) == ("max", "0")


def test_what_others_set_for_a_slice(lab):
    """A permanent and a runtime set-property, and a value written behind systemd's back: ours holds in the end."""
    limit = {"virt.hostprep.slice_limits": {"name": "system.slice", "properties": {"MemorySwapMax": 0}}}
    try:
        lab.run(["systemctl", "set-property", "system.slice", "MemorySwapMax=1G"])
        lab.run(["systemctl", "set-property", "--runtime", "system.slice", "MemorySwapMax=2G"])
        (result,) = driver.tasks(lab, limit)
        assert result["changed"] and cgroup(lab, "memory.swap.max") == "0"
        lab.run(["systemctl", "daemon-reload"])
        assert cgroup(lab, "memory.swap.max") == "0"

        lab.run(["sh", "-c", "echo max > /sys/fs/cgroup/system.slice/memory.swap.max"])
        drift, again = driver.tasks(lab, limit, limit)
        assert drift["changed"] and not again["changed"] and cgroup(lab, "memory.swap.max") == "0"

        lab.run(
            ["sh", "-c", "printf '[Slice]\\nMemorySwapMax=3G\\n' > /etc/systemd/system/system.slice.d/99-site.conf"]
        )
        lab.run(["systemctl", "daemon-reload"])
        (refused,) = driver.tasks(lab, limit)
        assert refused.get("failed") and "99-site.conf" in refused["msg"] and refused["actions"] == []
    finally:
        lab.run(["sh", "-c", "rm -rf /etc/systemd/system.control /run/systemd/system.control/system.slice.d"])


def test_sysctl_settings(lab):
    driver.matrix(lab, "sysctl_settings", SETTINGS)
    assert lab.run(["sysctl", "-n", "vm.page-cluster", "vm.swappiness"]).stdout.split() == ["0", "61"]

    lab.run(["sysctl", "-q", "vm.swappiness=10"])
    settings = {"vm.page-cluster": 1, "vm.swappiness": 61, "vm.no_such_knob": 1}
    change = driver.matrix(lab, "sysctl_settings", {**SETTINGS, "settings": settings})
    assert lab.run(["sysctl", "-n", "vm.page-cluster", "vm.swappiness"]).stdout.split() == ["1", "61"]
    assert any("vm.no_such_knob" in warning for warning in change["warnings"])

    driver.matrix(lab, "sysctl_settings", {"file": SETTINGS["file"], "state": "absent"})
    assert lab.run(["sh", "-c", "ls /etc/sysctl.d | grep -c hostprep || test $? = 1"]).stdout.strip() == "0"


def test_a_value_that_the_kernel_refuses_is_never_made_persistent(lab):
    (result,) = driver.tasks(
        lab, {"virt.hostprep.sysctl_settings": {**SETTINGS, "settings": {"vm.overcommit_memory": 9}}}
    )
    assert result.get("failed") and "/proc/sys/vm/overcommit_memory" in result["msg"]
    assert "hostprep" not in lab.run(["ls", "/etc/sysctl.d"]).stdout


def test_a_later_file_would_win_at_the_next_boot(lab):
    try:
        lab.run(["sh", "-c", "echo vm/swappiness = 10 > /etc/sysctl.d/99-site.conf"])
        (result,) = driver.tasks(lab, {"virt.hostprep.sysctl_settings": SETTINGS})
        assert result.get("failed") and "/etc/sysctl.d/99-site.conf sets vm.swappiness to 10" in result["msg"]
        assert result["actions"] == []
    finally:
        lab.run(["rm", "/etc/sysctl.d/99-site.conf"])


def test_a_latency_target_on_an_overlay_reaches_the_disks_below(lab):
    """An overlay over the root disk (upper) and DATA0001 (lower), as image-based systems have it at /."""
    data = "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_DATA0001_1"
    lab.run(["sh", "-ec", f"mkdir -p /mnt/low /mnt/over /var/up /var/work; mount -o ro {data} /mnt/low"])
    try:
        lab.run(
            [
                "mount",
                "-t",
                "overlay",
                "over",
                "-o",
                "lowerdir=/mnt/low,upperdir=/var/up,workdir=/var/work",
                "/mnt/over",
            ]
        )
        target = {"name": "system.slice", "latency_targets": [{"path": "/mnt/over", "target": "5ms"}]}
        (result,) = driver.tasks(lab, {"virt.hostprep.slice_limits": target})
        assert not result.get("failed"), result["msg"]
        numbers = lab.run(["lsblk", "--nodeps", "--noheadings", "--output", "MAJ:MIN", "/dev/vda", data]).stdout.split()
        wanted = {check["wanted"].split()[0] for check in result["checks"] if "latency" in check["name"]}
        assert wanted == set(numbers)
    finally:
        lab.run(["sh", "-c", "umount /mnt/over; umount /mnt/low"])
