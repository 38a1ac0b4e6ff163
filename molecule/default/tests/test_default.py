"""What a prepared host looks like from outside: only the kernel's and systemd's own words count."""

from __future__ import annotations


def swaps(host):
    """{serial: priority} of all active swap."""
    lines = host.check_output("swapon --show=NAME,PRIO --noheadings").splitlines()
    serial = "lsblk --nodeps --noheadings --output SERIAL %s"
    return {host.check_output(serial, line.split()[0]).strip(): int(line.split()[1]) for line in lines}


def test_swap_is_active_on_the_one_device(host):
    assert swaps(host) == {"SWAP0001": 100}


def test_swap_comes_up_by_its_uuid(host):
    uuid = host.check_output("blkid -o value -s UUID $(swapon --show=NAME --noheadings)").strip()
    unit = host.check_output("systemd-escape --path --suffix=swap /dev/disk/by-uuid/%s", uuid).strip()
    assert host.check_output("systemctl is-enabled %s", unit) == "enabled"
    assert host.check_output("systemctl is-active %s", unit) == "active"
    assert not host.file("/etc/fstab").contains("swap")


def test_the_system_itself_does_not_swap(host):
    assert host.file("/sys/fs/cgroup/system.slice/memory.swap.max").content_string.strip() == "0"


def test_kernel_parameters(host):
    assert host.sysctl("vm.page-cluster") == 0
    assert host.sysctl("vm.swappiness") == 60
    assert host.sysctl("vm.watermark_scale_factor") == 100


def test_data_disks_are_as_they_were(host):
    disks = "lsblk --noheadings --list --output SERIAL,TYPE,FSTYPE,PTTYPE"
    found = {tuple(line.split()) for line in host.check_output(disks).splitlines() if "DATA" in line}
    assert found == {("DATA0001", "disk", "ext4"), ("DATA0002", "disk", "gpt")}


def test_nothing_failed(host):
    assert host.check_output("systemctl list-units --failed --no-legend --plain") == ""
