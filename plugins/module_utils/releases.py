# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between the releases of Kubernetes: the one table, and no other file asks for a number.

A history maps the minor release from which a value holds to the value. Read from the source of each release:
cmd/kubelet/app/server.go, pkg/features, pkg/kubelet/{apis/config,cm,eviction} and the API's NodeSystemInfo.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem


class Release(t.NamedTuple):
    """A minor release; compares as numbers do."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST = Release(1, 28)
NEWEST = Release(1, 36)

_VERSION = re.compile(r"(?:Kubernetes )?v?([0-9]{1,4})\.([0-9]{1,4})(?:[.+-][0-9A-Za-z.+-]*)?", re.ASCII)

_T = t.TypeVar("_T")
_History = t.Mapping[int, _T]

_CONFIG_DIR: _History[bool] = {28: False, 30: True}
_SWAP_BEHAVIORS: _History[tuple[str, ...]] = {28: ("LimitedSwap", "UnlimitedSwap"), 30: ("NoSwap", "LimitedSwap")}
_DEFAULT_SWAP_BEHAVIOR: _History[str] = {28: "UnlimitedSwap", 30: "NoSwap"}
_NODE_SWAP_GATE: _History[t.Literal["off", "on", "locked"]] = {28: "off", 30: "on", 34: "locked"}
_SWAP_CAPACITY_IN_STATUS: _History[bool] = {28: False, 33: True}
_FAIL_CGROUP_V1: _History[bool] = {28: False, 35: True}

_RESERVED = ("pods", "system-reserved", "kube-reserved", "none")
_ENFORCEMENTS: _History[tuple[str, ...]] = {
    28: _RESERVED,
    32: (*_RESERVED, "system-reserved-compressible", "kube-reserved-compressible"),
}

# Gates without which the kubelet refuses a field, from the release that has the field: on by default? (NodeSwap: above)
_GATES: t.Mapping[str, _History[bool]] = {
    "CustomCPUCFSQuotaPeriod": {28: False, 36: True},
    "ImageMaximumGCAge": {29: False, 30: True},
    "KubeletCrashLoopBackOffMax": {32: False, 35: True},
    "KubeletEnsureSecretPulledImages": {33: False, 35: True},
    "MemoryQoS": {28: False},
}

# An alpha option needs the gate ...PolicyAlphaOptions, which is off by default.
_CPU_MANAGER_OPTIONS: t.Mapping[str, _History[str]] = {
    "full-pcpus-only": {28: "beta", 33: "stable"},
    "distribute-cpus-across-numa": {28: "alpha", 33: "beta"},
    "align-by-socket": {28: "alpha"},
    "distribute-cpus-across-cores": {31: "alpha"},
    "strict-cpu-reservation": {32: "alpha", 33: "beta", 35: "stable"},
    "prefer-align-cpus-by-uncorecache": {32: "alpha", 34: "beta", 36: "stable"},
}
_TOPOLOGY_MANAGER_OPTIONS: t.Mapping[str, _History[str]] = {
    "prefer-closest-numa-nodes": {28: "beta", 32: "stable"},
    "max-allowable-numa-nodes": {31: "beta", 35: "stable"},
}


@dataclass(frozen=True)
class Kubernetes:
    """One row: how a kubelet of this release behaves."""

    config_dir: bool  # --config-dir is read without KUBELET_CONFIG_DROPIN_DIR_ALPHA in the environment
    swap_behaviors: tuple[str, ...]  # besides ""
    default_swap_behavior: str  # what "" means
    node_swap_gate: t.Literal["off", "on", "locked"]
    swap_capacity_in_status: bool  # Node.status.nodeInfo.swap.capacity
    fail_cgroup_v1: bool  # default of failCgroupV1
    enforcements: tuple[str, ...]  # what enforceNodeAllocatable may hold
    gates: t.Mapping[str, bool]  # gates that fields need: on by default?
    cpu_manager_options: t.Mapping[str, str]  # option: alpha, beta or stable
    topology_manager_options: t.Mapping[str, str]


def parse(text: str) -> Release:
    """The release in `Kubernetes v1.33.1` (kubelet --version), `v1.33.1+k3s1` (nodeInfo.kubeletVersion) or `1.33`."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise HostprepError(
            Problem(
                found=f"{text.strip()[:80]!r} as the version of the kubelet",
                wanted="a version such as 'Kubernetes v1.33.1'",
                remedy="run 'kubelet --version' on the node; what it prints has to be a version",
            )
        )
    return Release(int(match.group(1)), int(match.group(2)))


def kubernetes(release: Release) -> Kubernetes:
    """The row of a release. A newer one than the table knows is taken for the newest; an older one is refused."""
    if release < OLDEST:
        raise HostprepError(
            Problem(
                found=f"Kubernetes {release}",
                wanted=f"{OLDEST} or newer: before that, LimitedSwap has another meaning",
                remedy=f"upgrade the node to {OLDEST} or newer first",
            )
        )
    minor = min(release, NEWEST).minor
    node_swap_gate = _at(_NODE_SWAP_GATE, minor)
    return Kubernetes(
        config_dir=_at(_CONFIG_DIR, minor),
        swap_behaviors=_at(_SWAP_BEHAVIORS, minor),
        default_swap_behavior=_at(_DEFAULT_SWAP_BEHAVIOR, minor),
        node_swap_gate=node_swap_gate,
        swap_capacity_in_status=_at(_SWAP_CAPACITY_IN_STATUS, minor),
        fail_cgroup_v1=_at(_FAIL_CGROUP_V1, minor),
        enforcements=_at(_ENFORCEMENTS, minor),
        gates={"NodeSwap": node_swap_gate != "off", **_known(_GATES, minor)},
        cpu_manager_options=_known(_CPU_MANAGER_OPTIONS, minor),
        topology_manager_options=_known(_TOPOLOGY_MANAGER_OPTIONS, minor),
    )


def _at(history: _History[_T], minor: int) -> _T:
    return history[max(since for since in history if since <= minor)]


def _known(histories: t.Mapping[str, _History[_T]], minor: int) -> dict[str, _T]:
    return {name: _at(history, minor) for name, history in histories.items() if min(history) <= minor}
