# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import sysctl
from ansible_collections.virt.hostprep.plugins.module_utils.plan import RemoveFile, WriteFile, WriteKernel
from hypothesis import given
from hypothesis import strategies as st

Observed = dict[str, t.Any]
NAMES = ["vm.swappiness", "vm.page-cluster", "vm.watermark_scale_factor", "kernel.printk", "vm.gone"]
VALUES = st.sampled_from([10, "10", 1, "4 4\t1 7", "31"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Observed, dict[str, t.Any]]:
    settings = draw(st.dictionaries(st.sampled_from(NAMES), VALUES))
    live = {name: None if name == "vm.gone" else draw(st.sampled_from(["10", "1", "4\t4\t1\t7"])) for name in settings}
    ours = f"{sysctl.MARK}\nvm.swappiness = 10\n"
    seen = {
        "kernel": draw(st.sampled_from([(5, 4), (6, 12)])),
        "live": live,
        "file": draw(st.sampled_from([None, ours, "vm.swappiness = 1\n"])),
        "others": draw(st.sampled_from([{}, {"/etc/sysctl.d/99-a.conf": {"vm.swappiness": "10"}}])),
    }
    state = draw(st.sampled_from(["present", "absent"]))
    return seen, {"file": "90-x.conf", "state": state, "settings": settings}


def apply(actions: t.Iterable[t.Any], seen: Observed) -> Observed:
    after = copy.deepcopy(seen)
    for action in actions:
        if isinstance(action, WriteKernel):
            name = action.path[len("/proc/sys/") :].replace("/", ".")
            assert after["live"][name] is not None
            after["live"][name] = action.value.replace(" ", "\t")
        elif isinstance(action, WriteFile):
            assert action.before == (after["file"] or "")
            after["file"] = action.content
        else:
            assert isinstance(action, RemoveFile)
            after["file"] = None
    return after


@given(cases(), st.integers(0, 6))
def test_settings_carried_out_leave_nothing_to_do_wherever_a_run_was_cut_off(
    case: tuple[Observed, dict[str, t.Any]], cut: int
) -> None:
    seen, options = case
    before = copy.deepcopy(seen)
    plan = sysctl.plan(seen, options)
    assert seen == before
    if plan.problems:
        assert plan.actions == ()
        return
    part = apply(plan.actions[:cut], seen)
    done = apply(sysctl.plan(part, options).actions, part)
    assert done == apply(plan.actions, seen)
    again = sysctl.plan(done, options)
    assert (again.problems, again.actions, again.deviations) == ((), (), ())
    assert again.before == again.after


@given(st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_we_write_reads_back(settings: dict[str, t.Any]) -> None:
    """With the names and values that a kernel has: no line breaks, no equals signs, no comments."""
    plain = {
        name: value
        for name, value in settings.items()
        if name.isascii() and name.replace(".", "").isalnum() and value.isprintable() and not name.startswith("vm.")
    }
    live = dict.fromkeys(plain, "x")
    plan = sysctl.plan(
        {"kernel": (6, 12), "live": live, "file": None, "others": {}},
        {"file": "90-x.conf", "state": "present", "settings": plain},
    )
    (write,) = [action for action in plan.actions if isinstance(action, WriteFile)]
    assert sysctl.parse(write.content) == {name: " ".join(value.split()) for name, value in plain.items()}
