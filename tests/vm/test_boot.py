"""What happens to a prepared host when its disks move, vanish, come late or come back blank."""

from __future__ import annotations

import time

import driver
from driver import active

SITE = driver.ROOT / "playbooks/site.yml"
WANTED = {"nvme_swap_select": {"serial": ["SWAP0001", "SWAP0002"]}}


def site(lab):
    """Run site.yml; returns (number of changes, our areas by serial)."""
    status, results, stats = driver.playbook(lab, SITE, variables=WANTED)
    assert status == 0, results
    (host,) = stats.values()
    areas = results["virt.hostprep.nvme_swap : Make dedicated swap"]["swap"]["areas"]
    return host["changed"], {area["serial"]: area for area in areas}


def test_disks_move_vanish_and_come_back(lab):
    data = lab.hash(["DATA0001", "DATA0002"])
    first = site(lab)[1]

    # Renumbering: other kernel names, the same swap, nothing to do.
    lab.renumber()
    assert active(lab) == {"SWAP0001": 100, "SWAP0002": 100}
    changes, moved = site(lab)
    assert changes == 0
    assert any(moved[serial]["device"] != first[serial]["device"] for serial in first), "no name has changed"

    # One device comes back blank, the other not at all: the boot goes on without them.
    lab.cut(off=True)
    lab.detach("SWAP0002")
    blank = lab.files.disk("SWAP0001")
    size = blank.stat().st_size
    with blank.open("wb") as disk:
        disk.truncate(size)
    lab.config = lab.up(lab.config.name).config
    assert active(lab) == {}
    assert lab.run(["systemctl", "is-active", "multi-user.target"]).stdout.strip() == "active"

    # The late one is turned on as soon as it is there, by systemd alone.
    lab.attach("SWAP0002:1G:numa=1")
    deadline = time.monotonic() + 120
    while active(lab) != {"SWAP0002": 100}:
        assert time.monotonic() < deadline, active(lab)

    # The blank one gets its old area back, by the next run.
    changes, last = site(lab)
    assert changes == 1
    assert active(lab) == {"SWAP0001": 100, "SWAP0002": 100}
    assert {serial: area["uuid"] for serial, area in last.items()} == {s: a["uuid"] for s, a in first.items()}
    assert lab.hash(["DATA0001", "DATA0002"]) == data
