# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is asked of a slice: carried out it leaves nothing to do, and a run that was cut off is finished."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import slices
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts.system_slice import (
    NAME,
    Observed,
    observed,
    simulate_all,
    wanted,
)
from hypothesis import given, settings
from hypothesis import strategies as st

sizes = st.integers(1, 1 << 50) | st.sampled_from(["8G", "8GiB", "8192M", "infinity", "1K"])
weights = st.integers(1, 10000)
properties = st.fixed_dictionaries(
    {},
    optional={
        name: weights if prop.kind == "weight" else sizes | st.just(0) if name not in slices._ABOVE_ZERO else sizes
        for name, prop in slices.PROPERTIES.items()
    },
)


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, t.Any]:
    paths = draw(st.lists(st.sampled_from(["/", "/srv"]), unique=True))
    return wanted(
        draw(properties),
        latency={path: draw(st.sampled_from(["5ms", "500us", "1s"])) for path in paths},
        latency_fallback=draw(st.sampled_from(["none", "weight"])),
    )


@st.composite
def seen_slices(draw: st.DrawFn) -> Observed:
    """A slice on any kernel, perhaps with limits of an earlier run, and with a file of set-property."""
    seen = observed(latency=draw(st.booleans()), iocost_file=draw(st.booleans()))
    if draw(st.booleans()):
        path = f"/etc/systemd/system.control/{NAME}.d/50-MemorySwapMax.conf"
        seen["drop_ins"][path] = {"MemorySwapMax": str(1 << 30)}
    if draw(st.booleans()):
        seen = simulate_all(slices.plan(seen, draw(wishes())).actions, seen)
    if draw(st.booleans()):
        seen["files"]["memory.swap.max"] = "4096"
    return seen


@settings(max_examples=60)
@given(seen_slices(), wishes())
def test_limits_carried_out_leave_nothing_to_do(seen: Observed, options: dict[str, t.Any]) -> None:
    before = copy.deepcopy(seen)
    plan = slices.plan(seen, options)
    assert plan.problems == ()
    assert seen == before
    done = simulate_all(plan.actions, seen)
    again = slices.plan(done, options)
    assert again.actions == ()
    assert again.deviations == ()
    assert (again.before == again.after) or any(not check.ok for check in again.checks if check.supported)


@settings(max_examples=60)
@given(seen_slices(), wishes(), st.integers(0, 8), st.booleans())
def test_a_run_that_was_cut_off_is_finished(seen: Observed, options: dict[str, t.Any], cut: int, away: bool) -> None:
    if away:
        options = {**options, "state": "absent"}
    whole = simulate_all(slices.plan(seen, options).actions, seen)
    part = simulate_all(slices.plan(seen, options).actions[:cut], seen)
    done = simulate_all(slices.plan(part, options).actions, part)
    assert slices.plan(done, options).actions == ()
    assert comparable(done) == comparable(whole)


def comparable(seen: Observed) -> Observed:
    return {key: seen[key] for key in ("drop_in", "drop_ins", "io_cost_unit", "io_cost_enabled")}


@given(
    st.dictionaries(st.sampled_from([*slices.PROPERTIES, "X", slices.LATENCY]), st.text() | st.integers(), max_size=3)
)
def test_any_value_is_taken_or_a_problem(values: dict[str, t.Any]) -> None:
    plan = slices.plan(observed(), wanted(values))
    assert not (plan.problems and plan.actions)
    assert len(plan.problems) <= len(values)
