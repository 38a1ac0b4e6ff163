# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import iocost, slices
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Command, Plan, Problem, WriteFile, WriteKernel
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import recorded
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts.system_slice import (
    NAME,
    Observed,
    observed,
    simulate_all,
    wanted,
)
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, build

DROP_IN = f"/etc/systemd/system/{NAME}.d/90-hostprep.conf"
PAGE = slices._PAGE


def refused(seen: Observed, options: dict[str, t.Any]) -> Problem:
    plan = slices.plan(seen, options)
    assert plan.actions == ()
    (problem,) = plan.problems
    return problem


def planned(seen: Observed, options: dict[str, t.Any]) -> Plan:
    plan = slices.plan(seen, options)
    assert plan.problems == ()
    return plan


def applied(options: dict[str, t.Any], seen: Observed | None = None) -> Observed:
    seen = seen or observed()
    return simulate_all(planned(seen, options).actions, seen)


def programs(plan: Plan) -> list[str]:
    return [
        " ".join(action.argv[:2]) if isinstance(action, Command) else type(action).__name__ for action in plan.actions
    ]


# --- what bad input gets ------------------------------------------------------------------------------------------


def test_a_slice_that_does_not_exist() -> None:
    seen = observed(unit={"FragmentPath": ""}, exists=False)
    problem = refused(seen, wanted(name="sytem.slice"))
    assert problem.found == "no slice 'sytem.slice'; this host has machine.slice, system.slice, user.slice"
    assert problem.wanted == "a slice that exists"


@pytest.mark.parametrize("name", ["system", "ssh.service", "system.slice.d"])
def test_what_is_no_slice_at_all(name: str) -> None:
    assert refused(observed(), wanted(name=name)).found.startswith(f"no slice {name!r}")


def test_a_slice_without_a_unit_file_is_a_slice() -> None:
    assert planned(observed(unit={"FragmentPath": ""}), wanted({"MemorySwapMax": 0})).actions


def test_a_slice_that_does_not_run_proves_nothing() -> None:
    problem = refused(observed(exists=False), wanted({"MemorySwapMax": 0}))
    assert "is not running" in problem.found
    assert problem.remedy.startswith(f"'systemctl start {NAME}'")
    assert planned(observed(exists=False), wanted(state="absent")).actions == ()


def test_the_old_cgroup_hierarchy() -> None:
    problem = refused(observed(cgroup_v2=False), wanted({"MemorySwapMax": 0}))
    assert problem.wanted == "cgroup v2"
    assert "systemd.unified_cgroup_hierarchy=1" in problem.remedy


@pytest.mark.parametrize("name", ["MemorySwapMaximum", "memoryswapmax", "Slice", "CPUQuota", ""])
def test_a_property_that_does_not_exist_or_cannot_be_proven(name: str) -> None:
    problem = refused(observed(), wanted({name: 0}))
    assert problem.found == f"property {name!r}"
    assert "MemorySwapMax" in problem.wanted
    assert "case matters" in problem.remedy


def test_latency_belongs_elsewhere() -> None:
    problem = refused(observed(), wanted({"IODeviceLatencyTargetSec": "/ 5ms"}))
    assert problem.wanted.startswith("latency_targets")


@pytest.mark.parametrize("value", [0, 10001, -1, "800.0", "idle", True, "", "\u00b2", "1e3", None])
@pytest.mark.parametrize("name", ["CPUWeight", "IOWeight"])
def test_a_weight_out_of_range(name: str, value: object) -> None:
    problem = refused(observed(), wanted({name: value}))
    assert problem.found == f"{name}: {value!r}"
    assert problem.wanted.startswith("a weight from 1 to 10000")


@pytest.mark.parametrize("value", ["8 gigs", "10%", -1, "max", "", True, None])
def test_a_size_that_is_nonsense(value: object) -> None:
    assert refused(observed(), wanted({"MemoryHigh": value})).found == f"MemoryHigh: {value!r}"


@pytest.mark.parametrize("name", ["MemoryHigh", "MemoryMax", "TasksMax"])
def test_zero_where_systemd_ignores_it(name: str) -> None:
    assert refused(observed(), wanted({name: 0})).found == f"{name}: 0"


@pytest.mark.parametrize("name", ["MemorySwapMax", "MemoryLow", "MemoryMin", "MemoryZSwapMax"])
def test_zero_where_it_means_something(name: str) -> None:
    assert planned(observed(), wanted({name: 0}))


@pytest.mark.parametrize("target", ["5", "0ms", "5 minutes", ""])
def test_a_target_that_is_no_time(target: str) -> None:
    assert refused(observed(), wanted(latency={"/": target})).found == f"latency target of /: {target!r}"


def test_a_path_without_a_disk() -> None:
    problem = refused(observed(), wanted(latency={"/overlay": "5ms"}))
    assert problem.found.startswith("no physical disk behind '/overlay'")
    assert "/dev/disk/by-id" in problem.remedy


def test_everything_wrong_is_reported_at_once() -> None:
    options = wanted({"CPUWeight": 0, "Nothing": 1, "MemoryLow": "x"}, latency={"/overlay": "5", "/": "y"})
    assert len(slices.plan(observed(), options).problems) == 6


# --- drop-ins of others (B32) -------------------------------------------------------------------------------------


def test_a_later_drop_in_that_takes_the_limit_back() -> None:
    path = f"/etc/systemd/system/{NAME}.d/99-site.conf"
    seen = observed(drop_ins={path: {"MemorySwapMax": "1G", "CPUWeight": "5"}})
    problem = refused(seen, wanted({"MemorySwapMax": 0, "IOWeight": 7}))
    assert problem.found == f"{path} sets MemorySwapMax and is read after our 90-hostprep.conf"
    assert problem.remedy == f"take MemorySwapMax out of {path}"


@pytest.mark.parametrize(
    "path",
    [
        f"/etc/systemd/system.control/{NAME}.d/50-MemorySwapMax.conf",
        f"/run/systemd/system.control/{NAME}.d/50-MemorySwapMax.conf",
        f"/etc/systemd/system/{NAME}.d/10-site.conf",
    ],
)
def test_files_of_set_property_are_read_before_ours(path: str) -> None:
    seen = observed(drop_ins={path: {"MemorySwapMax": "1G"}})
    seen["files"]["memory.swap.max"] = str(1 << 30)
    done = applied(wanted({"MemorySwapMax": 0}), seen)
    assert done["files"]["memory.swap.max"] == "0"
    assert planned(done, wanted({"MemorySwapMax": 0})).actions == ()


def test_a_later_drop_in_about_something_else_does_not_matter() -> None:
    seen = observed(drop_ins={f"/etc/systemd/system/{NAME}.d/99-site.conf": {"CPUWeight": "5"}})
    assert planned(seen, wanted({"MemorySwapMax": 0})).actions


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_file_of_our_name_that_is_not_ours(state: str) -> None:
    problem = refused(observed(drop_in="[Slice]\nMemoryMax=1G\n"), wanted({"MemorySwapMax": 0}, state=state))
    assert problem.found == f"{DROP_IN}, which was not written by us"


# --- what is done -------------------------------------------------------------------------------------------------


def test_limits_are_one_drop_in_applied_and_proven() -> None:
    options = wanted({"MemorySwapMax": 0, "CPUWeight": "800", "MemoryLow": "1G"}, latency={"/": "5ms"})
    plan = planned(observed(), options)
    assert programs(plan) == ["WriteFile", "systemctl daemon-reload", "systemd-run --quiet"]
    assert isinstance(plan.actions[0], WriteFile)
    assert plan.actions[0].path == DROP_IN
    assert plan.actions[0].content.splitlines() == [
        "# Managed by virt.hostprep. Changes are overwritten.",
        "[Slice]",
        "CPUWeight=800",
        "MemoryLow=1073741824",
        "MemorySwapMax=0",
        "IODeviceLatencyTargetSec=/dev/disk/by-id/nvme-root 5000us",
    ]
    done = applied(options)
    again = planned(done, options)
    assert again.actions == ()
    assert [(check.name, check.found, check.ok) for check in again.checks] == [
        (f"MemorySwapMax of {NAME}", "0 B", True),
        (f"CPUWeight of {NAME}", "800", True),
        (f"MemoryLow of {NAME}", "1 GiB", True),
        (f"latency target of {NAME} on /dev/disk/by-id/nvme-root", "259:0 target=5000", True),
    ]
    assert again.checks[0].proof == f"/sys/fs/cgroup/{NAME}/memory.swap.max"


def test_the_order_of_the_options_does_not_change_the_file() -> None:
    done = applied(wanted({"CPUWeight": 5, "IOWeight": 6}))
    assert planned(done, wanted({"IOWeight": "6", "CPUWeight": "5"})).actions == ()


@pytest.mark.parametrize(
    ("value", "kernel"),
    [
        (PAGE, PAGE),
        (PAGE - 1, 0),
        (10 * PAGE + 1, 10 * PAGE),
        ("8G", 8 << 30),
        ("8GiB", 8 << 30),
        ("8192M", 8 << 30),
        ("infinity", "max"),
        (0, 0),
    ],
)
def test_memory_is_counted_in_whole_pages(value: object, kernel: object) -> None:
    seen = observed()
    seen["files"]["memory.swap.max"] = str(kernel)
    (check,) = planned(seen, wanted({"MemorySwapMax": value})).checks
    assert check.ok
    seen["files"]["memory.swap.max"] = str(PAGE * 999)
    assert not planned(seen, wanted({"MemorySwapMax": value})).checks[0].ok


def test_tasks_are_not_counted_in_pages() -> None:
    seen = observed()
    seen["files"]["pids.max"] = "100"
    (check,) = planned(seen, wanted({"TasksMax": 100})).checks
    assert (check.ok, check.wanted) == (True, "100")


@pytest.mark.parametrize(
    ("content", "ok"), [("default 800", True), ("default 800\n259:0 50", True), ("default 100", False)]
)
def test_the_default_of_io_weight_counts(content: str, ok: bool) -> None:
    seen = observed()
    seen["files"]["io.weight"] = content
    assert planned(seen, wanted({"IOWeight": 800})).checks[0].ok == ok


def test_a_value_that_somebody_changed_below_systemd_is_put_back() -> None:
    options = wanted({"MemorySwapMax": 0, "IOWeight": 300}, latency={"/": "5ms"})
    done = applied(options)
    done["files"].update({"memory.swap.max": "max", "io.weight": "default 100", "io.latency": ""})
    plan = planned(done, options)
    assert programs(plan) == ["systemd-run --quiet", "WriteKernel", "WriteKernel", "WriteKernel"]
    assert [(action.path, action.value) for action in plan.actions if isinstance(action, WriteKernel)] == [
        (f"/sys/fs/cgroup/{NAME}/memory.swap.max", "0"),
        (f"/sys/fs/cgroup/{NAME}/io.weight", "300"),
        (f"/sys/fs/cgroup/{NAME}/io.latency", "259:0 target=5000"),
    ]
    assert planned(simulate_all(plan.actions, done), options).actions == ()


def test_only_what_was_changed_is_put_back_and_only_where_there_is_a_file() -> None:
    options = wanted({"MemorySwapMax": 0, "MemoryLow": "1G", "CPUWeight": 5}, latency={"/": "5ms"})
    done = applied(options)
    done["files"].update({"memory.swap.max": "max", "cpu.weight": None})
    writes = [action for action in planned(done, options).actions if isinstance(action, WriteKernel)]
    assert [action.path for action in writes] == [f"/sys/fs/cgroup/{NAME}/memory.swap.max"]


@pytest.mark.parametrize("damage", ["not loaded", "changed on disk"])
def test_a_drop_in_that_systemd_has_not_read(damage: str) -> None:
    done = applied(wanted({"MemorySwapMax": 0}))
    if damage == "not loaded":
        done["drop_ins"] = {}
    else:
        done["unit"]["NeedDaemonReload"] = "yes"
    assert programs(planned(done, wanted({"MemorySwapMax": 0})))[0] == "systemctl daemon-reload"


def test_removal_lifts_the_limits_and_a_second_one_does_nothing() -> None:
    done = applied(wanted({"MemorySwapMax": 0, "CPUWeight": 7}))
    plan = planned(done, wanted(state="absent"))
    assert programs(plan) == ["RemoveFile", "systemctl daemon-reload", "systemd-run --quiet"]
    assert plan.checks[0].found == "in force"
    gone = simulate_all(plan.actions, done)
    assert (gone["files"]["memory.swap.max"], gone["files"]["cpu.weight"]) == ("max", "100")
    again = planned(gone, wanted(state="absent"))
    assert again.actions == ()
    assert again.checks[0].ok


def test_a_removal_of_what_systemd_has_not_read_yet() -> None:
    seen = simulate_all(planned(observed(), wanted({"MemorySwapMax": 0})).actions[:1], observed())
    plan = planned(seen, wanted(state="absent"))
    assert programs(plan) == ["RemoveFile", "systemctl daemon-reload", "systemd-run --quiet"]
    gone = simulate_all(plan.actions[:1], seen)
    assert programs(planned(gone, wanted(state="absent"))) == ["systemctl daemon-reload", "systemd-run --quiet"]


def test_a_removal_that_was_cut_off_is_finished() -> None:
    done = applied(wanted({"MemorySwapMax": 0}))
    cut = simulate_all(planned(done, wanted(state="absent")).actions[:1], done)
    assert programs(planned(cut, wanted(state="absent"))) == ["systemctl daemon-reload", "systemd-run --quiet"]


# --- disks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("latency", [{"/": "5ms", "/var": "3ms"}, {"/var": "3ms", "/": "5ms"}])
def test_a_path_on_two_disks_limits_both_and_a_disk_twice_named_is_limited_once(latency: dict[str, str]) -> None:
    seen = observed()
    seen["disks"] = {**seen["disks"], "/var": seen["disks"]["/"]}
    plan = planned(seen, wanted(latency={"/srv": "7ms", **latency}))
    assert [check.wanted for check in plan.checks] == ["259:1 target=7000", "259:2 target=7000", "259:0 target=3000"]


def test_a_target_for_another_time_is_not_met() -> None:
    seen = observed()
    seen["files"]["io.latency"] = "259:0 target=9000\n259:1 target=5000"
    (check,) = planned(seen, wanted(latency={"/": "5ms"})).checks
    assert (check.found, check.ok) == ("259:0 target=9000", False)


# --- what a kernel cannot do --------------------------------------------------------------------------------------


def test_a_kernel_without_latency_targets_is_said_and_not_a_failure() -> None:
    options = wanted({"MemorySwapMax": 0}, latency={"/": "5ms"})
    done = applied(options, observed(latency=False))
    plan = planned(done, options)
    assert plan.actions == ()
    assert plan.deviations == ()
    check = plan.checks[1]
    assert (check.supported, check.ok, check.found) == (False, False, "not in this kernel")
    (warning,) = plan.warnings
    assert warning.startswith(f"this kernel has no /sys/fs/cgroup/{NAME}/io.latency: systemd takes the setting and")


def test_a_kernel_that_is_known_to_have_none_although_the_controller_is_off() -> None:
    seen = observed(latency=False, controllers=["memory"])
    (check,) = planned(seen, wanted(latency={"/": "5ms"})).checks
    assert (check.supported, check.found) == (False, "not in this kernel")


def test_a_kernel_without_io_weights() -> None:
    seen = observed()
    seen["files"]["io.weight"] = None
    (check,) = planned(seen, wanted({"IOWeight": 800})).checks
    assert not check.supported


def test_a_controller_that_is_off_is_a_deviation() -> None:
    seen = observed(controllers=["cpu"], kernel_has_latency=None)
    seen["files"].update({"memory.swap.max": None, "io.weight": None, "io.latency": None})
    plan = planned(seen, wanted({"MemorySwapMax": 0, "IOWeight": 5}, latency={"/": "5ms"}))
    assert [check.found for check in plan.deviations] == [
        "memory controller is off",
        "io controller is off",
        "io controller is off",
    ]


def test_a_missing_memory_file_is_never_shrugged_off() -> None:
    """swapaccount=0: the limit that keeps the system out of swap would not hold."""
    seen = observed()
    seen["files"]["memory.swap.max"] = None
    (check,) = planned(seen, wanted({"MemorySwapMax": 0})).deviations
    assert check.found == "not in this kernel"


# --- weights instead of targets -----------------------------------------------------------------------------------

FALL_BACK = wanted({"MemorySwapMax": 0}, latency={"/": "5ms", "/srv": "5ms"}, latency_fallback="weight")


def test_the_fall_back_is_not_used_where_targets_work_or_nobody_asked() -> None:
    for seen, options in (
        (observed(), FALL_BACK),
        (observed(latency=False), {**FALL_BACK, "latency_fallback": "none"}),
        (observed(latency=False, iocost_file=False), FALL_BACK),
        (observed(latency=False, kernel_has_latency=None), FALL_BACK),
    ):
        plan = planned(seen, options)
        assert "IOWeight" not in str(plan)
        assert "iocost" not in str(plan)


def test_the_fall_back_enables_io_cost_for_the_disks_and_weighs_the_slice() -> None:
    plan = planned(observed(latency=False), FALL_BACK)
    assert programs(plan) == [
        *["WriteFile", "systemctl daemon-reload", "systemd-run --quiet"],
        *["WriteFile", "systemctl enable", "systemctl restart"],
    ]
    done = applied(FALL_BACK, observed(latency=False))
    assert done["files"]["io.weight"] == "default 800"
    again = planned(done, FALL_BACK)
    assert again.actions == ()
    assert [check.name for check in again.checks if check.name.startswith("I/O")] == [
        "I/O cost control on /dev/disk/by-id/nvme-a",
        "I/O cost control on /dev/disk/by-id/nvme-b",
        "I/O cost control on /dev/disk/by-id/nvme-root",
    ]


def test_a_weight_that_was_asked_for_is_kept() -> None:
    options = {**FALL_BACK, "properties": {"IOWeight": 300}}
    assert applied(options, observed(latency=False))["files"]["io.weight"] == "default 300"


@pytest.mark.parametrize("cut", range(6))
def test_a_fall_back_that_was_cut_off_is_finished(cut: int) -> None:
    seen = observed(latency=False)
    seen = simulate_all(planned(seen, FALL_BACK).actions[:cut], seen)
    done = simulate_all(planned(seen, FALL_BACK).actions, seen)
    assert planned(done, FALL_BACK).actions == ()
    assert done["io_cost_enabled"]


def test_another_disk_is_added_although_a_run_was_cut_off() -> None:
    """systemd still has the old text of the unit: it has to read the new one before it restarts it."""
    first = wanted(latency={"/": "5ms"}, latency_fallback="weight")
    seen = applied(first, observed(latency=False))
    cut = simulate_all(planned(seen, FALL_BACK).actions[:4], seen)
    assert cut["io_cost_unit"] != seen["io_cost_unit"]
    done = simulate_all(planned(cut, FALL_BACK).actions, cut)
    assert planned(done, FALL_BACK).actions == ()


def test_a_disk_less_and_a_link_that_is_gone_are_seen_although_all_is_live() -> None:
    seen = applied(FALL_BACK, observed(latency=False))
    fewer = wanted({"MemorySwapMax": 0}, latency={"/": "5ms"}, latency_fallback="weight")
    assert programs(planned(seen, fewer))[-3:] == ["WriteFile", "systemctl enable", "systemctl restart"]
    seen["io_cost_enabled"] = False
    assert programs(planned(seen, FALL_BACK)) == ["systemctl enable", "systemctl restart"]


def test_io_cost_goes_with_the_limits() -> None:
    done = applied(FALL_BACK, observed(latency=False))
    gone = simulate_all(planned(done, wanted(state="absent")).actions, done)
    assert (gone["io_cost_unit"], gone["io_cost_enabled"]) == (None, False)
    assert applied(wanted({"MemorySwapMax": 0}), done)["io_cost_unit"] is None


def test_the_unit_of_io_cost() -> None:
    text = iocost.unit_text(["/dev/disk/by-id/nvme-a", "/dev/disk/by-id/nvme-b"])
    (start,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert start.endswith("iocost /dev/disk/by-id/nvme-a /dev/disk/by-id/nvme-b")
    assert '"$$disk"' in start
    assert "$(" not in start.replace("$$(", "")
    assert "WantedBy=multi-user.target" in text
    assert iocost.unit_name("a-b.slice") == "hostprep-iocost-a-b.service"


@pytest.mark.parametrize(
    ("qos", "found"),
    [
        ("", "off"),
        ("259:0 enable=0 ctrl=auto", "off"),
        ("259:1 enable=1 ctrl=auto", "off"),
        ("259:0 enable=1 ctrl=auto rpct=0.00\n259:1 enable=0", "enabled"),
    ],
)
def test_io_cost_is_proven_for_each_disk(qos: str, found: str) -> None:
    (check,) = iocost.checks(qos, {"disk": "259:0"})
    assert (check.found, check.ok) == (found, found == "enabled")


# --- observing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("system.slice", "/sys/fs/cgroup/system.slice"),
        ("a-b-c.slice", "/sys/fs/cgroup/a.slice/a-b.slice/a-b-c.slice"),
        ("-.slice", "/sys/fs/cgroup"),
    ],
)
def test_where_a_slice_lies(name: str, path: str) -> None:
    assert slices.cgroup_path(name) == path


def host(tmp_path: Path, **more: str) -> Host:
    cgroup = f"sys/fs/cgroup/{NAME}"
    later = f"etc/systemd/system/{NAME}.d/99-site.conf"
    files: Files = {
        **recorded.lab_host(),
        "sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n",
        "sys/fs/cgroup/cgroup.subtree_control": "cpu io memory pids\n",
        "sys/fs/cgroup/user.slice/memory.max": "max\n",
        f"{cgroup}/memory.swap.max": "max\n",
        f"{cgroup}/io.weight": "default 100\n",
        later: "[Slice]\nMemorySwapMax=1G\n",
        "commands/systemctl": f"FragmentPath=/usr/lib/systemd/system/{NAME}\nDropInPaths=/{later}\n",
        "proc/sys/kernel/osrelease": "6.12.1-amd64\n",
    }
    files.update({path.replace("__", "/"): text for path, text in more.items()})
    return Host(build(tmp_path / "host", files))


def test_observing_a_recorded_slice(tmp_path: Path) -> None:
    seen = slices.observe(host(tmp_path), wanted(latency={"/": "5ms", "/srv/my data": "5ms", "/proc": "5ms"}))
    assert set(seen) == set(observed())
    assert seen["cgroup_v2"]
    assert seen["exists"]
    assert seen["slices"] == [NAME, "user.slice"]
    assert seen["files"]["memory.swap.max"] == "max"
    assert seen["files"]["io.latency"] is None
    assert seen["kernel_has_latency"] is False
    assert list(seen["drop_ins"].values()) == [{"MemorySwapMax": "1G"}]
    root = [{"name": "/dev/disk/by-path/pci-0000:00:03.0", "number": "254:0"}]
    data = "/dev/disk/by-id/nvme-nvme.1b36-4441544130303032-51454d55204e564d65204374726c-00000001"
    assert seen["disks"] == {"/": root, "/srv/my data": [{"name": data, "number": "259:3"}], "/proc": []}


def test_without_targets_the_disks_are_not_looked_at(tmp_path: Path) -> None:
    assert slices.observe(host(tmp_path), wanted())["disks"] == {}


def test_a_file_for_targets_is_proof_enough(tmp_path: Path) -> None:
    more = {"sys__fs__cgroup__system.slice__io.latency": "", "sys__fs__cgroup__cgroup.subtree_control": "cpu\n"}
    assert slices.observe(host(tmp_path, **more), wanted())["kernel_has_latency"] is True


def test_what_systemd_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[t.Sequence[str]] = []

    def run(argv: t.Sequence[str]) -> tuple[int, str, str]:
        seen.append(argv)
        return 0, "FragmentPath=/x=y\nNeedDaemonReload=no\n", ""

    monkeypatch.setattr(Host, "require_root", lambda _host: None)
    unit = slices.observe(Host("/", run), wanted(name="-x.slice"))["unit"]
    (argv,) = seen
    assert argv[:2] == ["systemctl", "show"]
    assert argv[3:] == ["--", "-x.slice"]
    assert {"FragmentPath", "DropInPaths", "NeedDaemonReload"} <= set(argv[2].partition("=")[2].split(","))
    assert unit == {"FragmentPath": "/x=y", "NeedDaemonReload": "no"}


@pytest.mark.parametrize("config_file", ["boot__config-6.12.1-amd64", "lib__modules__6.12.1-amd64__config"])
@pytest.mark.parametrize(
    ("config", "known"),
    [("CONFIG_BLK_CGROUP_IOLATENCY=y\n", True), ("# CONFIG_BLK_CGROUP_IOLATENCY is not set\n", False), (None, None)],
)
def test_before_the_controller_is_on_the_configuration_of_the_kernel_tells(
    tmp_path: Path, config_file: str, config: str | None, known: bool | None
) -> None:
    more = {"sys__fs__cgroup__cgroup.subtree_control": "cpu\n"}
    if config is not None:
        more[config_file] = config
    assert slices.observe(host(tmp_path, **more), wanted())["kernel_has_latency"] is known


def test_what_the_module_returns() -> None:
    options = wanted({"MemorySwapMax": 0}, latency={"/": "5ms"})
    state = slices.state(applied(options), options)["slice"]
    assert state["values"]["MemorySwapMax"] == "0"
    assert set(state["values"]) == set(slices.PROPERTIES)
    assert state["io_latency"] == ["259:0 target=5000"]
    assert state["io_latency_supported"]
    assert state["drop_ins"] == [DROP_IN]
    assert slices.state(observed(latency=False), options)["slice"]["io_latency_supported"] is False
