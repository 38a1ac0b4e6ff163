"""Lab hosts for the tests. One serves all files that need no disks of their own; `fresh` puts it back."""

from __future__ import annotations

import driver
import pytest

# What the collection leaves on a host, taken back without its help.
FRESH = """
while read -r path _; do case $path in /dev/*) swapoff "$path" ;; esac; done < /proc/swaps
find /etc/systemd/system -name '*uuid*' -depth -exec rm -r {} +
rm -rf /etc/systemd/system/system.slice.d /etc/sysctl.d/90-hostprep-swap.conf
sysctl -q vm.page-cluster=3 vm.swappiness=60 vm.watermark_scale_factor=10
systemctl daemon-reload
systemd-run --quiet --wait --slice=system.slice true
for serial in SWAP0001 SWAP0002; do
    dd if=/dev/zero of=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_${serial}_1 bs=1M count=2 conv=fsync status=none
done
udevadm settle
"""


@pytest.fixture(scope="session")
def shared_lab():
    lab = driver.boot("pytest-shared")
    yield lab
    lab.down()


@pytest.fixture
def lab(shared_lab):
    """The shared lab host with its default disks, as if nothing had ever been done to it."""
    shared_lab.run(["sh", "-e", "-c", FRESH], timeout=120)
    return shared_lab
