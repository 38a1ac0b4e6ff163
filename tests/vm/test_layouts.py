"""Data safety: disks of every kind are refused, each for its reason, and not one bit of them changes."""

from __future__ import annotations

import driver
import layouts
import pytest

DISKS = [
    *(f"{layout.serial}:{layout.size}" for layout in layouts.REFUSED),
    *(f"{serial}:{size}" for serial, size in layouts.BLANK),
]
SERIALS = [layout.serial for layout in layouts.REFUSED]


@pytest.fixture(scope="module")
def lab():
    lab = driver.boot("pytest-layouts", disks=DISKS)
    yield lab
    lab.down()


@pytest.fixture(scope="module")
def prepared(lab):
    """The lab with every layout made, and the hash of each disk, taken outside."""
    lab.run(["sh", "-c", "printf secret > /root/key && modprobe -a bcache raid1 dm-crypt && udevadm settle"])
    for layout in layouts.REFUSED:
        script = f"set -e; d={layouts.device(layout.serial)}; {layout.make}; udevadm settle"
        lab.run(["sh", "-c", script], timeout=300)
    lab.run(["sync"])
    return lab.hash()


def refused(lab, chosen, **options):
    """One run that asks for all chosen layouts: every one of them has to be among the problems, for its reason."""
    arguments = {"select": {"serial": [layout.serial for layout in chosen]}, **options}
    (result,) = driver.tasks(lab, {"virt.hostprep.swap_device": arguments})
    assert result.get("failed") and result["actions"] == []
    by_serial = {
        layout.serial: problem
        for layout in chosen
        for problem in result["problems"]
        if f"serial {layout.serial}," in problem["found"]
    }
    assert [layout.serial for layout in chosen if layout.serial not in by_serial] == [], "taken"
    assert [
        (layout.serial, by_serial[layout.serial]["found"])
        for layout in chosen
        if layout.refusal not in by_serial[layout.serial]["found"]
    ] == []


def test_each_layout_is_refused_for_its_reason(lab, prepared):
    refused(lab, layouts.REFUSED)
    assert lab.hash() == prepared


def test_consent_does_not_reach_what_is_in_use(lab, prepared):
    refused(lab, [layout for layout in layouts.REFUSED if not layout.wipeable], wipe=True)
    assert lab.hash() == prepared


def test_preflight_reports_all_problems_at_once_and_changes_nothing(lab, prepared):
    status, results, stats = driver.playbook(
        lab, driver.ROOT / "playbooks/site.yml", variables={"nvme_swap_select": {"serial": SERIALS}}
    )
    assert status == 2
    message = str(results["virt.hostprep.preflight : Stop if there is any problem on any host"]["msg"])
    assert [layout.serial for layout in layouts.REFUSED if layout.refusal not in message] == []
    assert [host["changed"] for host in stats.values()] == [0]
    assert lab.hash() == prepared


def test_site_takes_the_blank_devices_and_no_other(lab, prepared):
    """A pattern that matches every disk: 28 of them are passed over, the blank ones of any size are taken."""
    blank = {serial for serial, size in layouts.BLANK}
    status, results, _stats = driver.playbook(
        lab,
        driver.ROOT / "playbooks/site.yml",
        variables={"nvme_swap_select": {"transport": "nvme"}, "nvme_swap_count": len(blank)},
    )
    assert status == 0, results
    swap = results["virt.hostprep.nvme_swap : Make dedicated swap"]["swap"]
    assert {area["serial"] for area in swap["areas"] if area["active"]} == blank
    after = lab.hash()
    assert {serial for serial in prepared if after[serial] != prepared[serial]} == blank


def test_consent_wipes_what_is_at_rest(lab, prepared):
    """Last, since it destroys: with consent every layout at rest becomes swap and nothing else is left on it."""
    at_rest = [layout.serial for layout in layouts.REFUSED if layout.wipeable]
    (result,) = driver.tasks(lab, {"virt.hostprep.swap_device": {"select": {"serial": at_rest}, "wipe": True}})
    assert not result.get("failed"), result["msg"]
    for serial in at_rest:
        signatures = lab.run(["wipefs", "--no-act", "--noheadings", "--output", "TYPE", layouts.device(serial)])
        assert signatures.stdout.split() == ["swap"], serial
    in_use = {layout.serial for layout in layouts.REFUSED if not layout.wipeable}
    after = lab.hash()
    assert {serial for serial in in_use if after[serial] != prepared[serial]} == set()
