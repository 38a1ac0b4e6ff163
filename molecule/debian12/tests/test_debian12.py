"""Every knob away from its default, on the older system."""

from __future__ import annotations


def test_both_devices_are_striped(host):
    lines = host.check_output("swapon --show=NAME,PRIO,LABEL --noheadings").splitlines()
    devices = {line.split()[0] for line in lines}
    serials = {
        host.check_output("lsblk --nodeps --noheadings --output SERIAL %s", device).strip() for device in devices
    }
    assert serials == {"SWAP0001", "SWAP0002"}
    assert [line.split()[1:] for line in lines] == [["7", "dense"]] * 2


def test_discard_at_boot(host):
    options = host.check_output("grep --no-filename ^Options= /etc/systemd/system/dev-disk*.swap")
    assert options.splitlines() == ["Options=discard=once"] * 2


def test_limits(host):
    def limit(name):
        return host.file(f"/sys/fs/cgroup/system.slice/{name}").content_string.strip()

    assert limit("memory.swap.max") == str(64 << 20)
    assert limit("memory.low") == str(128 << 20)
    assert limit("cpu.weight") == "800"


def test_weights_stand_in_for_latency_targets(host):
    """Debian's kernels have no io.latency. On the swap disk and the root disk I/O is weighed instead."""
    assert not host.file("/sys/fs/cgroup/system.slice/io.latency").exists
    assert host.file("/sys/fs/cgroup/system.slice/io.weight").content_string.split()[:2] == ["default", "800"]
    enabled = host.file("/sys/fs/cgroup/io.cost.qos").content_string
    numbers = host.check_output("lsblk --nodeps --noheadings --output SERIAL,MAJ:MIN").splitlines()
    for line in numbers:
        serial, number = line.split()
        assert (f"{number} enable=1" in enabled) == (serial in ("SWAP0001", "ROOT0001")), line


def test_kernel_parameters(host):
    assert host.sysctl("vm.page-cluster") == 1
    assert host.sysctl("vm.swappiness") == 120
    assert host.sysctl("vm.watermark_scale_factor") == 200


def test_nothing_failed(host):
    assert host.check_output("systemctl list-units --failed --no-legend --plain") == ""
