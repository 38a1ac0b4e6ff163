# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No early yes: a pool is in sync only if every node is, and taking evidence away never turns a no into a yes."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import pool
from hypothesis import event, given
from hypothesis import strategies as st

Data = dict[str, t.Any]

KUBELET = {
    "failSwapOn": [False, True],
    "maxPods": [110, 250],
    "cpuManagerPolicy": ["static", "none"],
    "syncFrequency": ["60s", "1m0s", "2m0s"],
}
SWAP = {"swapBehavior": ["LimitedSwap", "NoSwap"]}


def settings_of(choices: dict[str, list[t.Any]]) -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in choices.items()})


configurations = st.builds(
    lambda plain, swap: {**plain, **({} if swap is None else {"memorySwap": swap})},
    settings_of(KUBELET),
    st.none() | settings_of(SWAP),
)


@st.composite
def nodes(draw: st.DrawFn) -> Data:
    info: Data = {"kubeletVersion": draw(st.sampled_from(["v1.32.1", "v1.33.1", "v1.36.0", "v1.27.1", ""]))}
    if draw(st.booleans()):
        info["swap"] = {"capacity": draw(st.sampled_from([0, 1, 2]))}
    ready = draw(st.sampled_from(["True", "True", "True", "False", "Unknown"]))
    return {
        "metadata": {"name": "n", **draw(st.sampled_from([{}, {}, {"deletionTimestamp": "x"}]))},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": ready}], "nodeInfo": info},
    }


evidences = st.builds(
    pool.Evidence,
    node=st.none() | nodes(),
    lease=st.none() | st.builds(pool.Lease, st.sampled_from([0.0, 40.0, 41.0]), st.just(40.0)),
    lease_readable=st.booleans(),
    configz=st.none() | configurations,
)
wanteds = st.builds(
    lambda kubelet, swap: pool.Wanted(kubelet, {} if swap is None else {"n": swap}),
    configurations,
    st.none() | st.sampled_from([0, 1, 2]),
)


def merged(target: Data, patch: Data) -> Data:
    result = dict(target)
    for key, value in patch.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


@st.composite
def less(draw: st.DrawFn, known: pool.Evidence) -> pool.Evidence:
    """The same node, of which one thing less is known."""
    kind = draw(st.sampled_from(["node", "lease", "configz", "key", "older lease", "condition", "version", "swap"]))
    if kind in ("node", "lease", "configz"):
        return dataclasses.replace(known, **{kind: None})
    if kind == "key" and known.configz:
        configz = copy.deepcopy(known.configz)
        inner = configz.get("memorySwap")
        holder = inner if inner and draw(st.booleans()) else configz
        holder.pop(draw(st.sampled_from(sorted(holder))))
        return dataclasses.replace(known, configz=configz)
    if kind == "older lease" and known.lease:
        return dataclasses.replace(known, lease=pool.Lease(known.lease.renewed_ago + 41, 40))
    node = copy.deepcopy(known.node)
    if node is not None:
        if kind == "condition":
            node["status"]["conditions"] = []
        if kind == "version":
            del node["status"]["nodeInfo"]["kubeletVersion"]
        if kind == "swap":
            node["status"]["nodeInfo"].pop("swap", None)
    return dataclasses.replace(known, node=node)


def plainly_in_sync(known: pool.Evidence, wanted: pool.Wanted) -> bool:
    """The same said once more, in another way."""
    if known.node is None or "deletionTimestamp" in known.node["metadata"] or known.configz is None:
        return False
    status = known.node["status"]
    version = status["nodeInfo"]["kubeletVersion"]
    alive = not known.lease_readable or (known.lease is not None and known.lease.renewed_ago <= known.lease.duration)
    shown = merged(known.configz, wanted.kubelet)
    minutes = ("60s", "1m0s")
    if shown.get("syncFrequency") in minutes and known.configz.get("syncFrequency") in minutes:
        shown["syncFrequency"] = known.configz["syncFrequency"]
    capacity = status["nodeInfo"].get("swap", {}).get("capacity", 0)
    enough = version == "v1.32.1" or capacity >= wanted.swap_capacity.get("n", 0)
    if wanted.kubelet.get("memorySwap") == {} and "memorySwap" not in known.configz:
        del shown["memorySwap"]  # nothing is wanted of it
    return (
        status["conditions"][0]["status"] == "True"
        and alive
        and version not in ("", "v1.27.1")
        and shown == known.configz
        and enough
    )


@given(evidences, wanteds)
def test_yes_exactly_when_everything_is_there(known: pool.Evidence, wanted: pool.Wanted) -> None:
    verdict = pool.judge("n", known, wanted)
    event("in sync" if verdict.in_sync else "not in sync")
    assert verdict.in_sync == plainly_in_sync(known, wanted)
    assert verdict.in_sync != bool(verdict.waiting_for or verdict.problems)  # each no has its reason


@given(st.data(), evidences, wanteds, configurations)
def test_removing_evidence_never_makes_a_yes(
    data: st.DataObject, known: pool.Evidence, wanted: pool.Wanted, base: Data
) -> None:
    if known.configz is not None and data.draw(st.booleans()):  # else hardly any node would be in sync
        known = dataclasses.replace(known, configz=merged(base, wanted.kubelet))
    weaker = data.draw(less(known))
    if pool.judge("n", weaker, wanted).in_sync:
        event("still in sync")
        assert pool.judge("n", known, wanted).in_sync


@given(st.lists(evidences, max_size=4), wanteds)
def test_a_pool_is_in_sync_only_if_every_node_is(known: list[pool.Evidence], wanted: pool.Wanted) -> None:
    verdicts = [pool.judge("n", one, wanted) for one in known]
    assert pool.in_sync(verdicts) == (len(known) > 0 and all(plainly_in_sync(one, wanted) for one in known))


@given(evidences, wanteds, configurations)
def test_more_wanted_is_never_easier(known: pool.Evidence, wanted: pool.Wanted, more: Data) -> None:
    harder = pool.Wanted({**more, **wanted.kubelet}, wanted.swap_capacity)
    if pool.judge("n", known, harder).in_sync:
        assert pool.judge("n", known, wanted).in_sync
