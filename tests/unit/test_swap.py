# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plans of swap.py one by one: what bad input gets, and what is done in which order."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import areas, block, swap, units
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Command, Plan, Problem, RemoveFile, WriteFile
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import recorded
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, build
from support import (
    GIB,
    Device,
    Observed,
    active,
    device,
    formatted,
    holding,
    host,
    partition,
    signature,
    simulate_all,
    swap_signature,
    unit_files,
    uuid_of,
    wanted,
)

SECOND = "nvme1n1"


def refused(observed: Observed, options: dict[str, t.Any]) -> Problem:
    """The one problem of a plan that does nothing."""
    plan = swap.plan(observed, options)
    assert plan.actions == ()
    (problem,) = plan.problems
    return problem


def planned(observed: Observed, options: dict[str, t.Any]) -> Plan:
    plan = swap.plan(observed, options)
    assert plan.problems == ()
    return plan


def steps(plan: Plan) -> list[str]:
    """The actions in short: the program and its last word, or the file."""
    short = []
    for action in plan.actions:
        if isinstance(action, Command):
            words = [word for word in action.argv if not word.startswith("--")]
            short.append(" ".join(words[:2] if words[0] == "systemctl" else [words[0], words[-1]]))
        else:
            assert isinstance(action, (WriteFile, RemoveFile))
            kind = "drop-in" if action.path.endswith(".conf") else "unit"
            short.append(f"{'write' if isinstance(action, WriteFile) else 'remove'} {kind}")
    return short


# --- what bad input gets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("priority", [-1, 32768])
def test_priority_out_of_range(priority: int) -> None:
    problem = refused(host(device()), wanted(priority=priority))
    assert problem.found == f"priority {priority}"
    assert problem.wanted.startswith("0 to 32767")


@pytest.mark.parametrize(("label", "found"), [("a" * 16, "of 16 bytes"), ("", "of 0 bytes"), ("ü" * 8, "of 16 bytes")])
def test_a_label_too_long_or_none(label: str, found: str) -> None:
    problem = refused(host(device()), wanted(label=label))
    assert found in problem.found
    assert problem.wanted.startswith("1 to 15 bytes")


@pytest.mark.parametrize("label", ["two words", " swap", "swap ", "a\tb", "ü"])
def test_a_label_that_blkid_would_show_otherwise(label: str) -> None:
    problem = refused(host(device()), wanted(label=label))
    assert problem.found == f"label {label!r}"
    assert "no blanks" in problem.wanted


@pytest.mark.parametrize("label", ["a", "a" * 15, "!", "~"])
def test_labels_at_the_limits(label: str) -> None:
    assert planned(host(device()), wanted(label=label)).actions


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_below_one(count: int) -> None:
    problem = refused(host(device()), wanted(count=count))
    assert problem.found == f"count {count}"
    assert "absent" in problem.remedy


@pytest.mark.parametrize("size", ["8 gigs", "8GB", "-1"])
def test_a_size_that_is_nonsense(size: str) -> None:
    assert refused(host(device()), wanted({"min_size": size})).found == f"select.min_size: {size!r}"


@pytest.mark.parametrize("size", ["1G", "1GiB", "1024M"])
def test_sizes_are_exact(size: str) -> None:
    assert planned(host(device(size=GIB)), wanted({"min_size": size, "max_size": size})).actions
    assert refused(host(device(size=GIB - 512)), wanted({"min_size": size}))


def test_an_empty_selector() -> None:
    problem = refused(host(device()), wanted({}))
    assert problem.found == "an empty select"
    assert "block_device_info" in problem.remedy


@pytest.mark.parametrize(
    "select",
    [{"min_size": "1G"}, {"by_path": ["pci-nvme0n1-nvme-1"]}, {"partlabel": ["x"]}, {"model": "*", "numa_node": 0}],
)
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_pattern_cannot_consent_to_data_loss(select: dict[str, t.Any], state: str) -> None:
    problem = refused(host(device()), wanted(select, wipe=True, state=state))
    assert problem.found == f"wipe together with a selector that names no device ({', '.join(select)})"
    assert "serial, wwid or by_id" in problem.wanted


def test_all_input_problems_at_once() -> None:
    plan = swap.plan(host(device()), wanted({"min_size": "x"}, priority=-1, label="", count=0, wipe=True))
    assert len(plan.problems) == 5


def test_no_matching_device_lists_what_there_is() -> None:
    full = holding(device(SECOND, "DATA0001"), signature("ext4", label="data"))
    problem = refused(host(device(), full), wanted({"min_size": "4T"}))
    assert problem.found.startswith("no matching devices (min_size: 4T); this host has ")
    assert "nvme-nvme.1b36-SWAP0001 (nvme0n1, serial SWAP0001, 1 GiB) does not match" in problem.found
    assert problem.wanted == "exactly 1 that is empty or ours"


def test_a_host_without_disks() -> None:
    assert refused(host(), wanted({"min_size": "4T"})).found.endswith("this host has no disks")


def test_only_real_disks_are_listed() -> None:
    disk = device()
    problem = refused(host(disk, partition(disk, 1), device("zram0", None, virtual=True)), wanted({"min_size": "4T"}))
    assert problem.found.count("does not match") == 1
    assert "zram0" not in problem.found


def test_a_pattern_that_finds_only_what_is_refused_says_why() -> None:
    full = holding(device(SECOND, "DATA0001"), signature("ext4", label="data"))
    problem = refused(host(full), wanted({"min_size": "1G"}))
    assert "(nvme1n1, serial DATA0001, 1 GiB) carries ext4 labelled 'data'" in problem.found


def test_no_such_name() -> None:
    problem = refused(host(device()), wanted({"serial": ["SWAP0009"]}))
    assert problem.found.startswith("no device with serial 'SWAP0009'")
    assert "still there" in problem.remedy


def test_two_matching_where_one_was_wanted() -> None:
    problem = refused(host(device(), device(SECOND, "SWAP0002")), wanted({"transport": "nvme"}))
    assert problem.found.startswith("2 devices match (transport: nvme): ")
    assert "serial SWAP0001" in problem.found
    assert "serial SWAP0002" in problem.found
    assert problem.wanted == "exactly 1"
    assert "count: 2" in problem.remedy


def test_a_count_of_one_is_enough() -> None:
    assert planned(host(device()), wanted({"transport": "nvme"}, count=1)).actions


def test_a_refused_device_is_told_rather_than_a_wrong_number() -> None:
    full = holding(device(), signature("xfs"))
    observed = host(full, device(SECOND, "SWAP0002", model="Other"))
    problem = refused(observed, wanted({"serial": ["SWAP0001", "SWAP0002"], "model": "QEMU*"}))
    assert "carries xfs" in problem.found


def test_fewer_than_wanted() -> None:
    problem = refused(host(device()), wanted({"transport": "nvme"}, count=2))
    assert problem.found.startswith("1 matching device (transport: nvme)")
    assert problem.wanted == "exactly 2 that are empty or ours"


def test_two_namespaces_of_one_serial() -> None:
    problem = refused(host(device(), device("nvme0n2", "SWAP0001", wwid="eui.2")), wanted())
    assert problem.found.startswith("2 devices match (serial: ['SWAP0001'])")


def test_a_kernel_name_instead_of_a_stable_one() -> None:
    problem = refused(host(device()), wanted({"by_id": ["/dev/disk/nvme0n1"]}))
    assert "a kernel name" in problem.found
    assert "nvme-nvme.1b36-SWAP0001" in problem.remedy


REFUSALS: list[tuple[dict[str, t.Any], str]] = [
    ({"mounts": ["/srv"], "held": True}, "nvme0n1 is mounted at /srv"),
    ({"holders": ["md0"], "held": True}, "nvme0n1 is held by md0"),
    ({"held": True}, "opened exclusively by another program"),
    ({"read_only": True}, "is read-only"),
    ({"held": None, "content": None}, "cannot be opened"),
    ({"content": "unreadable"}, "cannot be read"),
]


@pytest.mark.parametrize("wipe", [False, True])
@pytest.mark.parametrize(("facts", "reason"), REFUSALS, ids=[reason for dummy, reason in REFUSALS])
def test_a_device_that_cannot_be_had_even_with_consent(facts: dict[str, t.Any], reason: str, wipe: bool) -> None:
    problem = refused(host(device(**facts)), wanted(wipe=wipe))
    assert problem.found.startswith("/dev/disk/by-id/nvme-nvme.1b36-SWAP0001 (nvme0n1, serial SWAP0001, 1 GiB) ")
    assert reason in problem.found
    assert problem.wanted == "a device that is provably empty, or swap of ours"
    assert "wipe does not change that" in problem.remedy


def test_the_root_disk_and_its_partitions() -> None:
    disk = device(held=True)
    parts = [partition(disk, 1, mounts=["/"], held=True), partition(disk, 2)]
    for select in ({"serial": ["SWAP0001"]}, {"partlabel": ["label-nvme0n1p2"]}):
        problem = refused(host(disk, *parts), wanted(select))
        assert "holds this system" in problem.found
        assert "wipe does not change that" in problem.remedy


def test_active_swap_of_somebody_else() -> None:
    problem = refused(host(active(formatted(device(), "other"))), wanted(wipe=True))
    assert "nvme0n1 is active swap of another owner" in problem.found


@pytest.mark.parametrize(
    ("select", "remedy"),
    [
        ({"serial": ["SWAP0001"]}, "choose another device, or set wipe: true to destroy what is on it"),
        ({"by_path": ["pci-nvme0n1-nvme-1"]}, "or name it by serial, wwid or by_id and set wipe: true"),
    ],
)
def test_old_content_names_the_way_to_consent(select: dict[str, t.Any], remedy: str) -> None:
    full = holding(device(), signature("LVM2_member", 536), signature("zfs_member", GIB - 4096))
    problem = refused(host(full), wanted(select))
    assert "carries LVM2_member; carries zfs_member" in problem.found
    assert remedy in problem.remedy


def test_every_refused_device_is_reported() -> None:
    full, used = holding(device(), signature("xfs")), device(SECOND, "SWAP0002", mounts=["/srv"])
    plan = swap.plan(host(full, used), wanted({"serial": ["SWAP0001", "SWAP0002"]}))
    assert len(plan.problems) == 2


def test_a_kernel_without_swap() -> None:
    problem = refused(host(device(), kernel_has_swap=False), wanted())
    assert "no /proc/swaps" in problem.found
    assert problem.wanted == "a kernel with CONFIG_SWAP"


def test_a_masked_swap_target() -> None:
    observed = host(device(), files={"/etc/systemd/system/swap.target": "-> /dev/null"})
    problem = refused(observed, wanted())
    assert "swap.target is masked" in problem.found
    assert "systemctl unmask swap.target" in problem.remedy


def test_a_masked_unit_of_this_area() -> None:
    name = units.swap_unit_name(areas.area_uuid(device()))
    observed = host(device(), files={f"/etc/systemd/system/{name}": "-> /dev/null"})
    problem = refused(observed, wanted())
    assert problem.found.startswith(f"{name} is masked")
    assert f"systemctl unmask {name}" in problem.remedy


def test_two_devices_that_share_their_identity() -> None:
    first, second = device(wwid="eui.0"), device(SECOND, "SWAP0001", wwid="eui.0", links={"by_id": []})
    plan = swap.plan(host(first, second), wanted({"transport": "nvme"}, count=2))
    assert [problem.wanted for problem in plan.problems] == ["devices that can be told apart"] * 2
    assert "shares its identity with nvme1n1" in plan.problems[0].found
    assert plan.actions == ()


def test_a_clone_of_our_area_on_another_disk() -> None:
    """dd of one disk onto another: the boot could take either."""
    disk = formatted(device())
    clone = formatted(device(SECOND, "CLONE"), uuid=uuid_of(disk))
    assert "shares its identity with nvme1n1" in refused(host(disk, clone), wanted()).found


def test_a_disk_together_with_its_partition() -> None:
    disk = device()
    part = partition(disk, 1)
    select = {"by_id": [disk["links"]["by_id"][0], part["links"]["by_id"][0]]}
    problem = refused(host(disk, part), wanted(select, wipe=True))
    assert problem.wanted == "either the disk or its partitions"


# --- swap that others declared (B08, B09, B10) --------------------------------------------------------------------


def declared(line: str, **facts: t.Any) -> Observed:
    disk = formatted(device(**facts))
    return host(disk, files={"/etc/fstab": line.replace("UUID", f"UUID={uuid_of(disk)}")})


@pytest.mark.parametrize(
    "line", ["UUID none swap sw,pri=100 0 0", "/dev/disk/by-path/pci-nvme0n1-nvme-1 swap swap pri=100"]
)
def test_what_fstab_declares_is_not_declared_again(line: str) -> None:
    plan = planned(declared(line), wanted())
    assert [action.argv for action in plan.actions if isinstance(action, Command)] == [
        ("swapon", "--priority", "100", "/dev/nvme0n1")
    ]
    assert plan.warnings == ("SWAP0001 stays declared at /etc/fstab:1, which is not changed",)


def test_what_fstab_expects_of_a_disk_that_is_blank_now() -> None:
    """There is no such link yet, but there will be one."""
    files = {"/etc/fstab": f"UUID={areas.area_uuid(device())} none swap pri=100"}
    plan = planned(host(device(), files=files), wanted())
    assert steps(plan) == ["mkswap /dev/nvme0n1", "swapon /dev/nvme0n1"]
    assert [(check.found, check.proof) for check in plan.checks] == [
        ("not active", "/proc/swaps"),
        ("declared", "/etc/fstab:1"),
    ]


def test_discard_of_a_declared_area_is_handed_to_swapon() -> None:
    plan = planned(declared("UUID none swap pri=100,discard=once"), wanted(discard="once"))
    assert plan.actions[0].describe()["command"] == ["swapon", "--priority", "100", "--discard=once", "/dev/nvme0n1"]


def test_a_declared_area_that_runs_as_asked_is_left_alone() -> None:
    disk = active(formatted(device()))
    files = {"/etc/fstab": f"UUID={uuid_of(disk)} none swap pri=100,discard=once"}
    plan = planned(host(disk, files=files), wanted(discard="once"))
    assert plan.actions == ()
    assert plan.before == plan.after


@pytest.mark.parametrize("options", ["sw", "pri=5", "pri=100,discard", "pri=100,discard=pages"])
def test_fstab_that_says_otherwise_is_named_with_its_line(options: str) -> None:
    problem = refused(declared(f"# other\nUUID none swap {options}"), wanted())
    assert problem.found.startswith("SWAP0001 is declared as swap at /etc/fstab:2 (priority ")
    assert problem.remedy == "remove /etc/fstab:2, or ask for what stands there"


def test_an_area_declared_twice() -> None:
    disk = formatted(device())
    files = {**unit_files(disk), "/etc/fstab": f"UUID={uuid_of(disk)} none swap pri=100"}
    assert "and by our unit" in refused(host(disk, files=files), wanted()).found


def test_discovery_by_gpt_is_another_owner() -> None:
    disk = device()
    part = formatted(partition(disk, 1))
    path = "/run/systemd/generator.late/dev-disk-auto.swap"
    files = {path: f"[Swap]\nWhat=/dev/disk/by-partuuid/{part['partuuid']}\n"}
    problem = refused(host(disk, part, files=files), wanted({"partlabel": [part["partlabel"]]}))
    assert path in problem.found


def test_swap_of_others_declared_elsewhere_does_not_matter() -> None:
    files = {"/etc/fstab": "/swap.img none swap sw\nUUID=else none swap sw\n"}
    assert steps(planned(host(device(), files=files), wanted()))[-1].startswith("systemctl start")


def test_what_wipe_would_destroy_must_not_be_declared() -> None:
    other = formatted(device(), "other", "0-1")
    files = {"/etc/fstab": "UUID=0-1 none swap pri=100"}
    assert "is declared as swap at /etc/fstab:1" in refused(host(other, files=files), wanted(wipe=True)).found


# --- memory (B12) -------------------------------------------------------------------------------------------------


def crowded(used: int, available: int, other_free: int = 0) -> Observed:
    disks = [active(formatted(device(size=8 * GIB)), 5, used)]
    if other_free:
        disks.append(active(formatted(device(SECOND, "OTHER", size=other_free + GIB), "other"), 1, used=GIB))
    return host(*disks, memory={"MemTotal": 20 * GIB, "MemAvailable": available})


@pytest.mark.parametrize("state", ["present", "absent"])
def test_swap_that_holds_more_than_there_is_room_for_stays_on(state: str) -> None:
    problem = refused(crowded(used=3 * GIB, available=4 * GIB - 1), wanted(state=state))
    assert problem.found.startswith("3 GiB swapped out on SWAP0001, and room for 3.0 GiB (memory 4.0 GiB less 1/20 of")
    assert "stop or migrate virtual machines first" in problem.remedy


@pytest.mark.parametrize("state", ["present", "absent"])
def test_room_to_the_byte(state: str) -> None:
    assert steps(planned(crowded(3 * GIB, 4 * GIB), wanted(state=state)))[0] == "swapoff /dev/nvme0n1"


def test_free_room_in_other_swap_counts() -> None:
    assert planned(crowded(3 * GIB, GIB, other_free=3 * GIB), wanted(state="absent")).actions
    assert refused(crowded(3 * GIB, GIB, other_free=3 * GIB - 1), wanted(state="absent"))


def test_two_areas_that_go_off_together_are_no_room_for_each_other() -> None:
    disks = [active(formatted(device(name, serial)), 5, GIB // 2) for name, serial in (("nvme0n1", "A"), (SECOND, "B"))]
    observed = host(*disks, memory={"MemTotal": 0, "MemAvailable": GIB - 1})
    assert "on A, B" in refused(observed, wanted({"serial": ["A", "B"]})).found


def test_no_swapoff_needs_no_room() -> None:
    disk = active(formatted(device()), 100, GIB)
    observed = host(disk, files=unit_files(disk), memory={"MemTotal": GIB, "MemAvailable": 0})
    assert planned(observed, wanted()).actions == ()


# --- what is done -------------------------------------------------------------------------------------------------

CREATE = [
    "mkswap /dev/nvme0n1",
    "write unit",
    "write drop-in",
    "systemctl enable",
    "systemctl daemon-reload",
    "systemctl start",
]


def test_a_blank_disk_becomes_swap() -> None:
    plan = planned(host(device()), wanted())
    assert steps(plan) == CREATE
    uuid = areas.area_uuid(device())
    assert plan.actions[0] == Command(
        ("mkswap", "--label", "hostprep", "--uuid", uuid, "/dev/nvme0n1"), "format SWAP0001"
    )
    assert plan.before == ("SWAP0001 (/dev/disk/by-id/nvme-nvme.1b36-SWAP0001): empty",)
    assert "active with priority 100, at boot" in plan.after[0]
    assert [check.ok for check in plan.checks] == [False, False]


def test_nothing_is_done_twice() -> None:
    done = simulate_all(planned(host(device()), wanted()).actions, host(device()))
    plan = planned(done, wanted())
    assert plan.actions == ()
    assert plan.before == plan.after
    assert [(check.name, check.found) for check in plan.checks] == [
        ("swap on SWAP0001", "active, priority 100"),
        ("swap on SWAP0001 at boot", "enabled"),
    ]


@pytest.mark.parametrize("used", [0, GIB // 2])
def test_swap_in_use_is_left_alone(used: int) -> None:
    """B05: neither swapoff nor mkswap on a second run."""
    disk = active(formatted(device()), 100, used)
    assert planned(host(disk, files=unit_files(disk)), wanted()).actions == ()


def test_formatted_but_not_yet_persistent() -> None:
    """B07: cut off after mkswap, or after swapon."""
    assert steps(planned(host(formatted(device())), wanted())) == CREATE[1:]
    assert steps(planned(host(active(formatted(device()))), wanted())) == CREATE[1:-1]


def test_a_disk_that_came_back_blank_gets_its_old_area() -> None:
    """B14: the unit of the old area fits, since the UUID is derived from the device."""
    disk = device()
    assert steps(planned(host(disk, files=unit_files(disk)), wanted())) == ["mkswap /dev/nvme0n1", "systemctl start"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "discard none, active with priority 100, not at boot"),
        (unit_files(formatted(device())), "discard none, active with priority 100, at boot"),
        (unit_files(formatted(device()), discard="once"), "discard once, active with priority 100, at boot"),
        (unit_files(formatted(device()), enabled=False), "discard none, active with priority 100, not at boot"),
    ],
)
def test_what_was_before_in_words(files: dict[str, str], words: str) -> None:
    disk = active(formatted(device()))
    (before,) = planned(host(disk, files=files), wanted(priority=5)).before
    assert before.endswith(f"label hostprep, {words}")


def test_a_change_of_priority() -> None:
    disk = active(formatted(device()), 100)
    plan = planned(host(disk, files=unit_files(disk)), wanted(priority=7))
    assert steps(plan) == ["swapoff /dev/nvme0n1", "write unit", "systemctl daemon-reload", "systemctl start"]
    (write,) = [action for action in plan.actions if isinstance(action, WriteFile)]
    assert "Priority=100\n" in write.before
    assert "Priority=7\n" in write.content


@pytest.mark.parametrize(("have", "want"), [("none", "once"), ("once", "none"), ("once", "pages")])
def test_a_change_of_discard(have: str, want: str) -> None:
    disk = active(formatted(device()))
    plan = planned(host(disk, files=unit_files(disk, discard=have)), wanted(discard=want))
    assert steps(plan) == ["swapoff /dev/nvme0n1", "write unit", "systemctl daemon-reload", "systemctl start"]


def test_a_change_of_the_label_keeps_the_uuid() -> None:
    disk = active(formatted(device(), "older"))
    plan = planned(host(disk, files=unit_files(disk)), wanted())
    assert steps(plan) == ["swapoff /dev/nvme0n1", "swaplabel /dev/nvme0n1", "systemctl start"]


def test_a_second_device_leaves_the_first_alone() -> None:
    first = active(formatted(device()), 100, GIB // 2)
    observed = host(first, device(SECOND, "SWAP0002"), files=unit_files(first))
    plan = planned(observed, wanted({"serial": ["SWAP0001", "SWAP0002"]}))
    assert steps(plan)[0] == "mkswap /dev/nvme1n1"
    assert not any("nvme0n1" in str(action.describe()) for action in plan.actions)
    assert uuid_of(first) not in str(plan.actions)


def test_all_are_formatted_before_any_is_declared_and_started_last() -> None:
    plan = planned(host(device(), device(SECOND, "SWAP0002")), wanted({"serial": ["SWAP0001", "SWAP0002"]}))
    assert steps(plan) == [
        *["mkswap /dev/nvme0n1", "mkswap /dev/nvme1n1"],
        *["write unit", "write drop-in", "write unit", "write drop-in"],
        *["systemctl enable", "systemctl daemon-reload", "systemctl start", "systemctl start"],
    ]


def test_units_that_systemd_has_not_read() -> None:
    disk = active(formatted(device()))
    observed = host(disk, files=unit_files(disk))
    (state,) = observed["systemd"].values()
    for stale in ({"NeedDaemonReload": "yes"}, {"LoadState": "not-found"}):
        observed["systemd"] = {state["Id"]: {**state, **stale}}
        plan = planned(observed, wanted())
        assert steps(plan) == ["systemctl daemon-reload"]
        assert plan.deviations[0].found == "not loaded by systemd"


@pytest.mark.parametrize(
    ("damage", "found", "expected"),
    [
        ("unit", "no unit", ["write unit", "write drop-in", "systemctl enable", "systemctl daemon-reload"]),
        ("text", "another unit text", ["write unit", "systemctl daemon-reload"]),
        ("drop-in", "another unit text", ["write drop-in", "systemctl daemon-reload"]),
        ("link", "not enabled", ["systemctl enable", "systemctl daemon-reload"]),
    ],
)
def test_what_is_missing_for_the_boot_is_seen_and_repaired(damage: str, found: str, expected: list[str]) -> None:
    disk = active(formatted(device()))
    files = unit_files(disk)
    unit = units.swap_unit_path(uuid_of(disk))
    if damage == "unit":
        files = {}
    elif damage == "text":
        files[unit] += "# edited\n"
    elif damage == "drop-in":
        del files[units.device_drop_in_path(uuid_of(disk))]
    else:
        del files[next(path for path in files if "swap.target.wants" in path)]
    plan = planned(host(disk, files=files), wanted())
    assert steps(plan) == expected
    assert [check.found for check in plan.deviations] == [found]


def test_patterns_pass_over_what_is_refused() -> None:
    full = holding(device(), signature("ext4"))
    plan = planned(host(full, device(SECOND, "SWAP0002")), wanted({"transport": "nvme"}))
    assert steps(plan)[0] == "mkswap /dev/nvme1n1"


def test_patterns_take_what_is_ours_before_new_devices() -> None:
    first = active(formatted(device()))
    observed = host(first, device(SECOND, "SWAP0002"), files=unit_files(first))
    assert planned(observed, wanted({"transport": "nvme"})).actions == ()
    assert steps(planned(observed, wanted({"transport": "nvme"}, count=2)))[0] == "mkswap /dev/nvme1n1"


def test_a_pattern_puts_no_other_device_in_the_place_of_a_failed_area() -> None:
    failed = formatted(device(read_only=True))
    plan = swap.plan(host(failed, device(SECOND, "BLANK"), files=unit_files(failed)), wanted({"transport": "nvme"}))
    assert plan.actions == ()
    (problem,) = plan.problems
    assert "is read-only" in problem.found


def test_zram_makes_no_room_for_what_is_swapped_out() -> None:
    ours = active(formatted(device()), 7, 1 << 30)
    observed = host(ours, files=unit_files(ours))
    observed["memory"] = {"MemTotal": 4 << 30, "MemAvailable": 1 << 29}
    room = {"type": "partition", "size": 8 << 30, "used": 0, "priority": 1}
    for path, problems in (("/dev/zram0", 1), ("/dev/sdb1", 0)):
        seen = {**observed, "active": [*observed["active"], {"path": path, **room}]}
        assert len(swap.plan(seen, wanted(priority=8)).problems) == problems


def test_an_area_in_heavy_use_stays_ours_whatever_lies_in_it() -> None:
    disk = active(holding(device(), swap_signature(areas.area_uuid(device())), signature("iso9660", 0x8001)))
    assert planned(host(disk, files=unit_files(disk)), wanted()).actions == ()


# --- wiping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["serial", "wwid", "by_id"])
def test_consent_wipes_then_formats(key: str) -> None:
    disk = holding(device(), signature("ext4"))
    name = disk["links"]["by_id"][0] if key == "by_id" else disk[key]
    plan = planned(host(disk), wanted({key: [name]}, wipe=True))
    assert steps(plan)[:3] == ["wipefs /dev/nvme0n1", "udevadm settle", "mkswap /dev/nvme0n1"]


def test_signatures_in_partitions_go_first() -> None:
    disk = device()
    parts = [holding(partition(disk, 1), signature("LVM2_member")), partition(disk, 2)]
    plan = planned(host(disk, *parts), wanted(wipe=True))
    assert [action.argv for action in plan.actions[:4] if isinstance(action, Command)] == [
        ("wipefs", "--all", "/dev/nvme0n1p1", "/dev/nvme0n1p2"),
        ("udevadm", "settle"),
        ("wipefs", "--all", "/dev/nvme0n1"),
        ("udevadm", "settle"),
    ]


def test_no_force_flags_anywhere() -> None:
    for disk in (device(), holding(device(), signature("ext4")), formatted(device())):
        for state in ("present", "absent"):
            for action in planned(host(disk), wanted(state=state, wipe=True)).actions:
                assert not {"-f", "--force"} & set(action.describe().get("command", []))


@pytest.mark.parametrize("disk", [device(), formatted(device()), active(formatted(device()))])
def test_consent_is_not_used_where_it_is_not_needed(disk: Device) -> None:
    assert not any("wipefs" in step for step in steps(planned(host(disk), wanted(wipe=True))))


# --- absent -------------------------------------------------------------------------------------------------------


def test_removal_turns_off_exactly_this_swap_and_removes_exactly_its_unit() -> None:
    first, second = active(formatted(device())), active(formatted(device(SECOND, "SWAP0002")))
    other = active(formatted(device("nvme2n1", "OTHER"), "other"))
    observed = host(first, second, other, files={**unit_files(first), **unit_files(second)})
    plan = planned(observed, wanted(state="absent"))
    assert steps(plan) == [
        *["swapoff /dev/nvme0n1", "systemctl disable", "remove drop-in", "remove unit", "systemctl daemon-reload"]
    ]
    done = simulate_all(plan.actions, observed)
    assert [area["path"] for area in done["active"]] == ["/dev/nvme1n1", "/dev/nvme2n1"]
    assert list(done["units"]) == [uuid_of(second)]
    assert done["devices"]["nvme0n1"]["signatures"] == first["signatures"]


def test_removal_with_wipe_leaves_a_blank_header() -> None:
    disk = active(formatted(device()))
    plan = planned(host(disk, files=unit_files(disk)), wanted(state="absent", wipe=True))
    assert steps(plan)[:3] == ["swapoff /dev/nvme0n1", "wipefs /dev/nvme0n1", "udevadm settle"]
    assert plan.after == ()


def test_an_empty_selector_removes_all_that_is_ours_and_units_without_a_device() -> None:
    disk, gone = active(formatted(device())), device("gone", "GONE")
    other = active(formatted(device(SECOND, "OTHER"), "other"))
    observed = host(disk, other, files={**unit_files(disk), **unit_files(gone)})
    done = simulate_all(planned(observed, wanted({}, state="absent")).actions, observed)
    assert done["units"] == {}
    assert [area["path"] for area in done["active"]] == ["/dev/nvme1n1"]


@pytest.mark.parametrize("select", [{"serial": ["GONE"]}, {"wwid": ["nvme.1b36-GONE"]}])
def test_the_unit_of_a_device_that_was_pulled(select: dict[str, t.Any]) -> None:
    observed = host(files=unit_files(device("gone", "GONE")))
    assert steps(planned(observed, wanted(select, state="absent")))[0] == "systemctl disable"


@pytest.mark.parametrize("key", ["by_id", "by_path", "serial"])
def test_the_unit_of_a_device_that_came_back_blank(key: str) -> None:
    blank = device()
    select = {key: [blank["serial"] if key == "serial" else blank["links"][key][0]]}
    observed = host(blank, device(SECOND, "B"), files={**unit_files(blank), **unit_files(device(SECOND, "B"))})
    done = simulate_all(planned(observed, wanted(select, state="absent")).actions, observed)
    assert list(done["units"]) == [areas.area_uuid(device(SECOND, "B"))]


def test_removing_what_is_not_there_is_done_already() -> None:
    full = holding(device(), signature("ext4"))
    for select in ({"serial": ["SWAP0001"]}, {"serial": ["GONE"]}, {}):
        assert planned(host(full), wanted(select, state="absent")).actions == ()


def test_swap_of_others_that_is_named_is_not_turned_off() -> None:
    other = active(formatted(device(), "other"))
    problem = refused(host(other), wanted(state="absent"))
    assert "is active swap of another owner" in problem.found
    assert "left alone" in problem.wanted


def test_swap_of_others_that_a_pattern_matches_is_passed_over() -> None:
    ours, other = active(formatted(device())), active(formatted(device(SECOND, "OTHER"), "other"))
    plan = planned(host(ours, other, files=unit_files(ours)), wanted({"transport": "nvme"}, state="absent"))
    assert steps(plan)[0] == "swapoff /dev/nvme0n1"
    assert "nvme1n1" not in str(plan.actions)


def test_an_area_that_would_come_back_at_the_next_boot() -> None:
    problem = refused(declared("UUID none swap pri=100"), wanted(state="absent"))
    assert problem.found == "SWAP0001 is declared as swap at /etc/fstab:1"
    assert problem.remedy.startswith("remove /etc/fstab:1 first")


def test_a_kernel_name_is_refused_here_too() -> None:
    assert "a kernel name" in refused(host(device()), wanted({"by_id": ["/dev/nvme0n1"]}, state="absent")).found


def test_the_checks_of_a_removal() -> None:
    disk = active(formatted(device()))
    (check,) = planned(host(disk, files=unit_files(disk)), wanted(state="absent")).checks
    assert (check.wanted, check.found, check.ok) == ("not active, not at boot", "active, at boot", False)
    (check,) = planned(host(disk), wanted(state="absent")).checks
    assert (check.found, check.ok) == ("active, not at boot", False)
    off = formatted(device())
    (check,) = planned(host(off, files=unit_files(off)), wanted(state="absent")).checks
    assert (check.found, check.ok) == ("not active, at boot", False)
    (check,) = planned(host(off), wanted(state="absent")).checks
    assert check.ok


# --- the identity of an area --------------------------------------------------------------------------------------


def test_the_uuid_is_that_of_the_device_and_of_nothing_else() -> None:
    uuid = areas.area_uuid(device())
    assert uuid == areas.area_uuid(device("nvme7n1", "SWAP0001", wwid="nvme.1b36-SWAP0001", numa_node=1, size=5 * GIB))
    assert uuid != areas.area_uuid(device(serial="SWAP0002"))
    assert uuid != areas.area_uuid(device(wwid="eui.2"))


def test_the_uuid_stays_the_same_from_release_to_release() -> None:
    assert areas.area_uuid(device()) == "a3b3a77e-d9e4-56a4-898e-9e118420e1d8"


def test_partitions_of_one_disk_have_areas_of_their_own() -> None:
    disk = device()
    parts = [partition(disk, 1), partition(disk, 2)]
    assert len({areas.area_uuid(entry) for entry in (disk, *parts)}) == 3


def test_devices_without_any_id_are_told_apart_by_their_place() -> None:
    bare = [device(name, None, wwid=None) for name in ("vda", "vdb")]
    moved = device("vda", None, wwid=None, links={"by_path": ["pci-elsewhere"]})
    unnamed = [device(name, None, wwid=None, links={"by_path": []}) for name in ("vda", "vdb")]
    assert len({areas.area_uuid(entry) for entry in [*bare, moved, *unnamed]}) == 5


# --- observing ----------------------------------------------------------------------------------------------------


def test_observing_a_recorded_host(tmp_path: Path) -> None:
    files: Files = {**recorded.lab_host(), "etc/fstab": "LABEL=data none swap pri=5\n"}
    uuid = "11111111-2222-3333-4444-555555555555"
    unit = units.swap_unit_name(uuid)
    files[f"etc/systemd/system/{unit}"] = units.swap_unit(uuid, "GONE", None, 5, "none")
    files["commands/systemctl"] = (
        f"Id={unit}\nLoadState=loaded\nNeedDaemonReload=no\n\nId=else.swap\nLoadState=loaded\n"
    )
    observed = swap.observe(Host(build(tmp_path / "host", files)), wanted())
    assert set(observed) == {*host(), "memory"} - {"below"}
    assert observed["memory"] == {"MemTotal": 3061004 * 1024, "MemAvailable": 2500000 * 1024}
    assert observed["kernel_has_swap"]
    assert [area["path"] for area in observed["active"]] == ["/dev/zram0"]
    assert [(entry["device"], entry["priority"]) for entry in observed["foreign"]] == [("nvme2n1", 5)]
    assert observed["units"][uuid]["enabled"] is False
    assert observed["systemd"][unit]["LoadState"] == "loaded"


def test_what_systemd_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = formatted(device())
    seen: list[t.Sequence[str]] = []

    def run(argv: t.Sequence[str]) -> tuple[int, str, str]:
        seen.append(argv)
        return 0, "Id=x\nNeedDaemonReload=yes\n", ""

    monkeypatch.setattr(units, "read_own_swap_units", lambda _host: {uuid_of(disk): {"name": "-a.swap"}})
    monkeypatch.setattr(block, "observe", lambda _host: {})
    monkeypatch.setattr(Host, "require_root", lambda _host: None)
    observed = swap.observe(Host("/", run), wanted())
    (argv,) = seen
    assert argv[:2] == ["systemctl", "show"]
    assert argv[-2:] == ["--", "-a.swap"]
    assert {"Id", "LoadState", "NeedDaemonReload"} <= set(argv[2].partition("=")[2].split(","))
    assert observed["systemd"] == {"x": {"Id": "x", "NeedDaemonReload": "yes"}}


def test_a_host_without_swap_and_without_fstab(tmp_path: Path) -> None:
    files = {path: text for path, text in recorded.lab_host().items() if path not in ("proc/swaps", "etc/fstab")}
    observed = swap.observe(Host(build(tmp_path / "host", files)), wanted())
    assert not observed["kernel_has_swap"]
    assert observed["foreign"] == observed["active"] == []


def test_a_device_without_a_serial_goes_by_its_kernel_name() -> None:
    bare = device("vdb", None, links={"by_id": [], "by_path": []})
    plan = planned(host(bare), wanted({"model": "*"}))
    assert plan.actions[0].reason == "format vdb"
    assert plan.before == ("vdb (/dev/vdb): empty",)


def test_what_the_module_returns() -> None:
    ours, other = active(formatted(device()), 7, 4096), active(formatted(device(SECOND, "OTHER"), "other"), 1)
    files = {**unit_files(ours), "/etc/fstab": "/swap.img none swap sw"}
    state = swap.state(host(ours, other, device("nvme2n1", "BLANK"), files=files), wanted())["swap"]
    assert state["areas"] == [
        {
            "device": "/dev/nvme0n1",
            "stable_name": "/dev/disk/by-id/nvme-nvme.1b36-SWAP0001",
            "serial": "SWAP0001",
            "numa_node": 0,
            "size": GIB,
            "uuid": uuid_of(ours),
            "label": "hostprep",
            "unit": units.swap_unit_name(uuid_of(ours)),
            "active": True,
            "priority": 7,
            "used": 4096,
        }
    ]
    assert [area["path"] for area in state["other_active"]] == ["/dev/nvme1n1"]
    assert state["declared_elsewhere"] == [
        {"where": "/etc/fstab:1", "what": "/swap.img", "device": "", "priority": None, "discard": "none"}
    ]
