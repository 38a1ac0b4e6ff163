"""swap_device on real NVMe devices: create, change, second device, remove."""

from __future__ import annotations

import hashlib

import driver
from driver import active

ONE = {"select": {"serial": ["SWAP0001"]}}
TWO = {"select": {"serial": ["SWAP0001", "SWAP0002"]}, "priority": 42}


def test_create_change_grow_remove(lab):
    data = lab.hash(["DATA0001", "DATA0002"])

    create = driver.matrix(lab, "swap_device", ONE)
    assert create["changed"] and active(lab) == {"SWAP0001": 100}
    uuid = create["swap"]["areas"][0]["uuid"]

    change = driver.matrix(lab, "swap_device", {**ONE, "priority": 42})
    assert change["changed"] and active(lab) == {"SWAP0001": 42}
    assert change["swap"]["areas"][0]["uuid"] == uuid, "a change of priority formats nothing"

    discard = driver.matrix(lab, "swap_device", {**ONE, "priority": 42, "discard": "once"})
    assert discard["changed"] and active(lab) == {"SWAP0001": 42}

    grow = driver.matrix(lab, "swap_device", {**TWO, "discard": "once"})
    assert grow["changed"] and active(lab) == {"SWAP0001": 42, "SWAP0002": 42}
    assert not any("SWAP0001" in action["reason"] for action in grow["actions"]), "the first one is left alone"

    relabel = driver.matrix(lab, "swap_device", {**TWO, "discard": "once", "label": "dense"})
    assert relabel["changed"] and {area["label"] for area in relabel["swap"]["areas"]} == {"dense"}

    gone = {"select": {"serial": ["SWAP0001"]}, "state": "absent", "label": "dense"}
    remove = driver.matrix(lab, "swap_device", gone)
    assert remove["changed"] and active(lab) == {"SWAP0002": 42}

    driver.matrix(lab, "swap_device", {"state": "absent", "label": "dense", "wipe": False})
    assert active(lab) == {}
    left = lab.run(["find", "/etc/systemd/system", "-name", "*uuid*"]).stdout
    assert left == "", "nothing of ours stays behind"
    assert lab.hash(["DATA0001", "DATA0002"]) == data


def test_a_partition_becomes_swap_and_its_neighbour_keeps_every_bit(lab):
    """DATA0002 is GPT with an ext4 partition (data) and a blank one (spare)."""
    disk = lab.files.disk("DATA0002")
    spare = 256 << 20

    def neighbour():
        lab.run(["sync"])
        with disk.open("rb") as file:
            return hashlib.sha256(file.read(spare)).hexdigest()

    before = neighbour()
    make = {"select": {"partlabel": ["spare"]}}
    (data, made, again) = driver.tasks(
        lab,
        {"virt.hostprep.swap_device": {"select": {"partlabel": ["data"]}}},
        {"virt.hostprep.swap_device": make},
        {"virt.hostprep.swap_device": make},
    )
    assert data.get("failed")
    assert "carries ext4" in data["msg"]
    assert made["changed"] and not again["changed"]
    assert [area["device"] for area in made["swap"]["areas"]] == [
        lab.run(["readlink", "-f", "/dev/disk/by-partlabel/spare"]).stdout.strip()
    ]
    assert neighbour() == before
    (gone,) = driver.tasks(lab, {"virt.hostprep.swap_device": {**make, "state": "absent"}})
    assert gone["changed"]
    assert active(lab) == {}
    lab.run(["sh", "-c", "dd if=/dev/zero of=/dev/disk/by-partlabel/spare bs=1M count=2 conv=fsync status=none"])
