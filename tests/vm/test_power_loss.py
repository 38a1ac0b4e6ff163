"""Power loss in the middle of the first run, again and again: the next run goes on, and the last one finishes.

Each moment is something that a run brings about. The plug is pulled as soon as it is there, so that the moments follow
one another through the whole run whatever the speed of the machine.
"""

from __future__ import annotations

import tempfile
import time

import driver
from driver import active

SITE = driver.ROOT / "playbooks/site.yml"
WANTED = {"nvme_swap_select": {"serial": ["SWAP0001", "SWAP0002"]}}

# What a shell in the guest waits for, in the order in which a run brings it about.
MOMENTS = [
    "test -e /etc/sysctl.d/90-hostprep-swap.conf",
    "MKSWAP",  # seen from outside, in the file behind the device
    "ls /etc/systemd/system/dev-disk*.swap >/dev/null 2>&1",
    "ls /etc/systemd/system/swap.target.wants/dev-disk* >/dev/null 2>&1",
    "grep -q /dev/ /proc/swaps",
    "test -e /etc/systemd/system/system.slice.d/90-hostprep.conf",
    "grep -q ^0 /sys/fs/cgroup/system.slice/memory.swap.max",
]


def reached(lab, moment):
    if moment == "MKSWAP":
        with lab.files.disk("SWAP0001").open("rb") as disk:
            return b"SWAPSPACE2" in disk.read(4096)
    return lab.run(["sh", "-c", moment], check=False).returncode == 0


def wait_for(lab, moment, run):
    """Returns at the moment, or fails if the run ends before it."""
    if moment == "MKSWAP":
        while not reached(lab, moment):
            assert run.poll() is None, "the run ended first"
        return
    lab.run(["sh", "-c", f"until {moment}; do :; done"], timeout=300)


def test_a_run_that_is_cut_off_anywhere_is_finished_by_the_next(lab):
    data = lab.hash(["DATA0001", "DATA0002"])
    cuts = 0
    for moment in MOMENTS:
        if reached(lab, moment):  # the power went a little after the moment before
            continue
        cuts += 1
        with tempfile.TemporaryDirectory(prefix="hostprep-") as directory:
            run = driver.start(lab, SITE, variables=WANTED, directory=directory)
            began = time.monotonic()
            try:
                wait_for(lab, moment, run)
                print(f"cut after {time.monotonic() - began:.1f} s: {moment}")
                lab.cut()
            finally:
                run.kill()
                run.wait()
        assert lab.run(["systemctl", "is-active", "multi-user.target"]).stdout.strip() == "active"
        assert lab.hash(["DATA0001", "DATA0002"]) == data
    assert cuts >= 4, "the moments are too close together to prove anything"

    status, results, stats = driver.playbook(lab, SITE, variables=WANTED)
    assert status == 0, results
    assert active(lab) == {"SWAP0001": 100, "SWAP0002": 100}
    assert lab.run(["find", "/etc", "-name", "*.hostprep-new"]).stdout == "", "a half-written file stayed behind"
    status, results, stats = driver.playbook(lab, SITE, variables=WANTED)
    assert status == 0 and [host["changed"] for host in stats.values()] == [0]
    assert lab.hash(["DATA0001", "DATA0002"]) == data
