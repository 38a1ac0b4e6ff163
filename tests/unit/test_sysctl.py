# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import sysctl
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Plan,
    Problem,
    RemoveFile,
    WriteFile,
    WriteKernel,
)
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, Link, build

FILE = "90-hostprep-swap.conf"
PATH = f"/etc/sysctl.d/{FILE}"
LIVE = {"vm.page-cluster": "3", "vm.swappiness": "60", "vm.watermark_scale_factor": "10"}


def wanted(settings: dict[str, t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    return {"file": FILE, "state": "present", "settings": settings or {}, **options}


def observed(live: dict[str, str | None] | None = None, **facts: t.Any) -> dict[str, t.Any]:
    return {"kernel": (6, 12), "live": {**LIVE, **(live or {})}, "file": None, "others": {}, **facts}


def refused(seen: dict[str, t.Any], options: dict[str, t.Any]) -> Problem:
    plan = sysctl.plan(seen, options)
    assert plan.actions == ()
    (problem,) = plan.problems
    return problem


def planned(seen: dict[str, t.Any], options: dict[str, t.Any]) -> Plan:
    plan = sysctl.plan(seen, options)
    assert plan.problems == ()
    return plan


# --- what bad input gets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["../x.conf", "a/b.conf", "x", "x.conf.bak", ".x.conf", "", "/etc/x.conf", "x.conf\n"])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_file_name_that_leads_elsewhere(file: str, state: str) -> None:
    problem = refused(observed(), wanted(file=file, state=state))
    assert problem.found == f"file {file!r}"
    assert "ends in .conf" in problem.wanted


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_file_of_somebody_else(state: str) -> None:
    problem = refused(observed(file="vm.swappiness = 1\n"), wanted({"vm.swappiness": 1}, state=state))
    assert problem.found == f"{PATH} was not written by us"


@pytest.mark.parametrize(
    ("name", "value", "kernel", "highest"),
    [
        ("vm.swappiness", 101, (5, 7), 100),
        ("vm.swappiness", 201, (5, 8), 200),
        ("vm.watermark_scale_factor", 1001, (5, 16), 1000),
        ("vm.watermark_scale_factor", 3001, (5, 17), 3000),
        ("vm.watermark_scale_factor", 3001, (6, 1), 3000),
        ("vm.page-cluster", 32, (6, 12), 31),
    ],
)
def test_the_limits_of_the_running_kernel(name: str, value: int, kernel: tuple[int, int], highest: int) -> None:
    problem = refused(observed(kernel=kernel), wanted({name: value}))
    assert problem.found == f"{name}: {value}"
    assert f"to {highest}, the limits of this kernel ({kernel[0]}.{kernel[1]})" in problem.wanted
    assert planned(observed(kernel=kernel), wanted({name: highest})).actions


@pytest.mark.parametrize("value", [-1, "10%", "", "sixty", "6 0", True, None, "\u0663"])
def test_values_that_are_no_number(value: object) -> None:
    assert refused(observed(), wanted({"vm.swappiness": value})).found.startswith("vm.swappiness: ")


def test_zero_is_below_the_lowest_where_it_is() -> None:
    assert refused(observed(), wanted({"vm.watermark_scale_factor": 0}))
    assert planned(observed(), wanted({"vm.page-cluster": 0})).actions


def test_a_later_file_that_says_otherwise() -> None:
    others = {"/etc/sysctl.d/99-site.conf": {"vm.swappiness": "1", "vm.page-cluster": "0"}}
    problem = refused(observed(others=others), wanted({"vm.swappiness": 60, "vm.page-cluster": 0}))
    assert problem.found == f"/etc/sysctl.d/99-site.conf sets vm.swappiness to 1 and is read after our {FILE}"
    assert problem.remedy.startswith("take vm.swappiness out of /etc/sysctl.d/99-site.conf")


# --- what is done -------------------------------------------------------------------------------------------------


def test_the_kernel_takes_a_value_before_it_is_made_persistent() -> None:
    plan = planned(observed(), wanted({"vm.swappiness": 60, "vm.page-cluster": 0}))
    assert plan.actions == (
        WriteKernel("/proc/sys/vm/page-cluster", "0", "set vm.page-cluster now"),
        WriteFile(
            PATH, f"{sysctl.MARK}\nvm.page-cluster = 0\nvm.swappiness = 60\n", "", "keep the settings over reboots"
        ),
    )
    assert plan.before == ("vm.page-cluster = 3", "vm.swappiness = 60")
    assert plan.after == ("vm.page-cluster = 0", "vm.swappiness = 60")


TEXT = f"{sysctl.MARK}\nvm.page-cluster = 0\n"


@pytest.mark.parametrize(
    ("live", "file", "actions"),
    [
        ("0", TEXT, []),
        ("3", TEXT, [WriteKernel]),
        ("0", None, [WriteFile]),
        ("0", f"{sysctl.MARK}\nvm.page-cluster = 1\n", [WriteFile]),
        ("3", None, [WriteKernel, WriteFile]),
    ],
)
def test_file_and_kernel_are_looked_at_separately(live: str, file: str | None, actions: list[type]) -> None:
    plan = planned(observed({"vm.page-cluster": live}, file=file), wanted({"vm.page-cluster": "0"}))
    assert [type(action) for action in plan.actions] == actions
    assert [check.ok for check in plan.checks] == [live == "0", file == TEXT]
    assert [check.found for check in plan.checks] == [live, "as asked" if file == TEXT else "otherwise"]


def test_a_knob_that_this_kernel_does_not_have_is_left_out_with_a_warning() -> None:
    options = wanted({"vm.page-cluster": 0, "vm.nonsense": 5})
    seen = observed({"vm.nonsense": None, "vm.page-cluster": "0"}, file=TEXT)
    plan = planned(seen, options)
    assert plan.actions == ()
    assert plan.warnings == ("this kernel has no vm.nonsense: left out",)
    assert plan.deviations == ()
    assert (plan.checks[0].found, plan.checks[0].supported) == ("not in this kernel", False)


def test_blanks_between_numbers_do_not_matter() -> None:
    name = "kernel.printk"
    seen = observed({name: "4\t4\t1\t7"}, file=f"{sysctl.MARK}\n{name} = 4 4 1 7\n")
    assert planned(seen, wanted({name: " 4  4 1 7 "})).actions == ()


def test_removal_takes_the_file_and_leaves_the_running_values() -> None:
    plan = planned(observed(file=TEXT), wanted(state="absent"))
    assert [type(action) for action in plan.actions] == [RemoveFile]
    assert not plan.checks[0].ok
    again = planned(observed(), wanted(state="absent"))
    assert again.actions == ()
    assert again.checks[0].ok


# --- observing ----------------------------------------------------------------------------------------------------


def host(tmp_path: Path, more: Files) -> Host:
    files: Files = {
        "proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
        "proc/sys/vm/swappiness": "60\n",
        "proc/sys/vm/page-cluster": "3\n",
        **more,
    }
    return Host(build(tmp_path / "host", files))


def test_observing(tmp_path: Path) -> None:
    seen = sysctl.observe(host(tmp_path, {PATH[1:]: TEXT}), wanted({"vm.swappiness": 1, "vm.nonsense": 1}))
    assert seen["kernel"] == (5, 15)
    assert seen["live"] == {"vm.swappiness": "60", "vm.nonsense": None}
    assert seen["file"] == TEXT
    assert seen["others"] == {}


def test_later_files_of_all_directories_and_only_those(tmp_path: Path) -> None:
    line = "vm.swappiness = {}\n"
    more: Files = {
        "etc/sysctl.conf": line.format(0),
        "etc/sysctl.d/99-sysctl.conf": Link("../sysctl.conf"),
        "etc/sysctl.d/10-early.conf": line.format(1),
        "etc/sysctl.d/99-readme": line.format(2),
        "usr/lib/sysctl.d/95-vendor.conf": line.format(3),
        "run/sysctl.d/96-run.conf": line.format(4),
        "usr/local/lib/sysctl.d/97-local.conf": line.format(5),
    }
    others = sysctl.observe(host(tmp_path, more), wanted())["others"]
    assert {path: values["vm.swappiness"] for path, values in others.items()} == {
        "/usr/lib/sysctl.d/95-vendor.conf": "3",
        "/run/sysctl.d/96-run.conf": "4",
        "/usr/local/lib/sysctl.d/97-local.conf": "5",
        "/etc/sysctl.d/99-sysctl.conf": "0",
    }


def test_of_equal_names_only_the_last_directory_counts(tmp_path: Path) -> None:
    more: Files = {
        "usr/lib/sysctl.d/99-a.conf": "vm.swappiness = 3\n",
        "etc/sysctl.d/99-a.conf": Link("/dev/null"),
        "usr/lib/sysctl.d/99-b.conf": "vm.swappiness = 3\n",
        "run/sysctl.d/99-b.conf": "vm.swappiness = 4\n",
        f"usr/lib/sysctl.d/{FILE}": "vm.swappiness = 5\n",
    }
    others = sysctl.observe(host(tmp_path, more), wanted())["others"]
    assert others == {"/etc/sysctl.d/99-a.conf": {}, "/run/sysctl.d/99-b.conf": {"vm.swappiness": "4"}}


def test_the_syntax_of_a_file() -> None:
    text = "# x = 1\n; y = 1\nvm/swappiness=1\n-vm.page-cluster =  0 \nkernel.printk = 4\t4 1  7\nodd\nvm.swappiness=2"
    assert sysctl.parse(text) == {"vm.swappiness": "2", "vm.page-cluster": "0", "kernel.printk": "4 4 1 7"}


@pytest.mark.parametrize(("text", "release"), [("6.12.48+deb13-amd64", (6, 12)), ("5.4", (5, 4)), ("", (0, 0))])
def test_kernel_releases(text: str, release: tuple[int, int]) -> None:
    assert sysctl._release(text) == release


def test_what_the_module_returns() -> None:
    assert sysctl.state(observed(), wanted()) == {"sysctl": {"file": PATH, "live": LIVE}}
