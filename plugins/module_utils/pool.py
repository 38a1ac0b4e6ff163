# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node of a pool run what is wanted? Pure: evidence in, verdict out; no I/O and no Ansible.

What is not known is never taken for a yes. A pool is in sync only if it has nodes and every single one is.
"""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass
from fractions import Fraction

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_schema, releases
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import show_size

Data = dict[str, t.Any]

# The kubelet leaves these out of /configz when they are false; it shows every other boolean key (Go: bool with
# omitempty instead of *bool, k8s.io/kubelet config/v1beta1/types.go).
_NOT_SHOWN_WHEN_FALSE = frozenset(
    (
        "enableContentionProfiling",
        "kernelMemcgNotification",
        "protectKernelDefaults",
        "rotateCertificates",
        "runOnce",
        "serverTLSBootstrap",
    )
)

_MISSING: t.Any = object()


@dataclass(frozen=True)
class Wanted:
    """kubelet: keys that /configz has to show. swap_capacity: bytes at least, by the name of the node."""

    kubelet: Data
    swap_capacity: dict[str, int]


@dataclass(frozen=True)
class Lease:
    """How long ago the kubelet renewed its Lease, and for how long a renewal is good. Seconds."""

    renewed_ago: float
    duration: float


@dataclass(frozen=True)
class Evidence:
    """What is known of one node at one moment. None is what is not known, or not there.

    node: the Node object. configz: the kubeletconfig of /configz, read from source ("proxy" or "node"); where it is
    None, unreadable says why. lease_readable is False where RBAC hides the Leases from us.
    """

    node: Data | None
    lease: Lease | None = None
    lease_readable: bool = True
    configz: Data | None = None
    source: str | None = None
    unreadable: str = "not read yet"


@dataclass(frozen=True)
class Verdict:
    """waiting_for: what is still missing. problems: what no waiting will heal. notes: what could not be judged."""

    name: str
    ready: bool = False
    unschedulable: bool = False
    kubelet_version: str | None = None
    kubelet_config: Data | None = None
    swap_capacity: int | None = None
    source: str | None = None
    waiting_for: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def in_sync(self) -> bool:
        return self.ready and not self.waiting_for and not self.problems

    def as_dict(self, seconds: float) -> Data:
        """What pool_sync returns of this node; seconds until it was in sync, or waited in vain."""
        return {
            "ready": self.ready,
            "unschedulable": self.unschedulable,
            "kubelet_version": self.kubelet_version,
            "kubelet_config": self.kubelet_config,
            "swap_capacity": self.swap_capacity,
            "source": self.source,
            "seconds": round(seconds, 1),
            "waiting_for": list(self.waiting_for),
            "notes": list(self.notes),
        }


def in_sync(verdicts: t.Sequence[Verdict]) -> bool:
    return bool(verdicts) and all(verdict.in_sync for verdict in verdicts)


def judge(name: str, evidence: Evidence, wanted: Wanted) -> Verdict:
    node = evidence.node
    if node is None or node["metadata"].get("deletionTimestamp"):
        return Verdict(name, problems=(_gone(name, node is None),))
    findings = _Findings([], [], [])
    not_ready = _not_ready(node) or _not_renewed(evidence)
    if not_ready:
        findings.waiting.append(not_ready)
    if not evidence.lease_readable:
        findings.notes.append("its Lease cannot be read: that the kubelet is alive is known from /configz only")
    version = node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion")
    release = _release(version, findings)
    _judge_configz(evidence, wanted.kubelet, release, findings)
    capacity = _swap_capacity(node, release)
    _judge_swap(wanted.swap_capacity.get(name), capacity, version, findings)
    return Verdict(
        name,
        ready=not not_ready,
        unschedulable=bool(node.get("spec", {}).get("unschedulable", False)),
        kubelet_version=version,
        kubelet_config=None if evidence.configz is None else _only(wanted.kubelet, evidence.configz),
        swap_capacity=capacity,
        source=evidence.source,
        waiting_for=tuple(findings.waiting),
        problems=tuple(_of_node(name, problem) for problem in findings.problems),
        notes=tuple(findings.notes),
    )


class _Findings(t.NamedTuple):
    """What a verdict gathers."""

    waiting: list[str]
    problems: list[Problem]
    notes: list[str]


def _release(version: str | None, findings: _Findings) -> releases.Release | None:
    if not version:
        findings.waiting.append("its kubelet has not reported a version yet")
        return None
    try:
        release = releases.parse(version)
        releases.kubernetes(release)
    except HostprepError as error:
        findings.problems.extend(error.problems)
        return None
    return release


def _judge_configz(evidence: Evidence, wanted: Data, release: releases.Release | None, findings: _Findings) -> None:
    if evidence.configz is None:
        findings.waiting.append(f"/configz not readable: {evidence.unreadable}")
        return
    unlike = differences(wanted, evidence.configz)
    findings.waiting.extend(unlike)
    # A key that this release does not have will never be shown. Of a newer release the table may not know all.
    if unlike and release is not None and release <= releases.NEWEST:
        findings.problems.extend(kubelet_schema.problems(wanted, release))


def _swap_capacity(node: Data, release: releases.Release | None) -> int | None:
    """Bytes of swap that the kubelet reports; None where its release does not report any."""
    if release is None or not releases.kubernetes(release).swap_capacity_in_status:
        return None
    return int(node["status"]["nodeInfo"].get("swap", {}).get("capacity", 0))  # no swap: the field is left out


def _judge_swap(least: int | None, capacity: int | None, version: str | None, findings: _Findings) -> None:
    if least is None:
        return
    if capacity is None:
        findings.notes.append(f"swap capacity: not reported by this release ({version})")
    elif capacity < least:
        findings.waiting.append(f"swap capacity: wanted at least {show_size(least)}, found {show_size(capacity)}")


def _gone(name: str, left: bool) -> Problem:
    return Problem(
        found=f"node {name} {'left the pool: deleted, or no longer labelled so' if left else 'is being deleted'}",
        wanted="every node of the pool stays in it until all are in sync",
        remedy="find out who removed it; name the nodes that remain, or bring it back, and run again",
    )


def _of_node(name: str, problem: Problem) -> Problem:
    return Problem(found=f"node {name}: {problem.found}", wanted=problem.wanted, remedy=problem.remedy)


def _not_ready(node: Data) -> str:
    """Why a node is not Ready; empty if it is."""
    for condition in node.get("status", {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            if condition.get("status") == "True":
                return ""
            return f"NotReady ({condition.get('reason') or 'no reason'}: {condition.get('message') or 'no message'})"
    return "NotReady (no Ready condition yet)"


def _not_renewed(evidence: Evidence) -> str:
    """Why Ready=True may be left over from a kubelet that is dead; empty if it is alive."""
    if not evidence.lease_readable:
        return ""
    if evidence.lease is None:
        return "NotReady (no renewed Lease in kube-node-lease)"
    if evidence.lease.renewed_ago > evidence.lease.duration:
        # Without the age, which would be another reason every second.
        return f"NotReady (Ready=True is stale: Lease not renewed for more than {evidence.lease.duration:.0f} s)"
    return ""


def renew_time(lease: Data) -> float | None:
    """When a Lease was renewed, in seconds since the epoch by the clock of its node; None if never."""
    text = lease.get("spec", {}).get("renewTime")
    if not text:
        return None
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def lease_duration(lease: Data) -> float:
    return float(lease.get("spec", {}).get("leaseDurationSeconds") or 40)


# --- wanted keys against /configz ---------------------------------------------------------------------------------


def differences(wanted: Data, found: Data, path: str = "") -> list[str]:
    """What /configz does not show as wanted, a line for each key. Keys that are not wanted are not looked at."""
    lines = []
    for key, value in wanted.items():
        name = f"{path}.{key}" if path else key
        shown = found.get(key, _MISSING)
        if isinstance(value, dict) and value and isinstance(shown, dict):
            lines += differences(value, shown, name)
        elif shown is _MISSING and not _left_out(name, value):
            lines.append(f"{name}: wanted {_show(value)}, not shown by /configz")
        elif shown is not _MISSING and not same(value, shown):
            lines.append(f"{name}: wanted {_show(value)}, found {_show(shown)}")
    return lines


def same(wanted: t.Any, found: t.Any) -> bool:
    """Equal in what they mean: 1m0s is 60s, 1Gi is 1024Mi. A bool is no number, "false" is no bool."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return not differences(wanted, found)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(same(*pair) for pair in zip(wanted, found))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, (int, float)) and isinstance(found, (int, float)):
        return wanted == found
    if isinstance(wanted, (int, float, str)) and isinstance(found, str):
        return str(wanted) == found or _same_measure(str(wanted), found)
    return bool(wanted == found)


def _left_out(name: str, value: t.Any) -> bool:
    """A key that /configz leaves out where it has this value, so that its absence means it."""
    if isinstance(value, bool):
        return not value and name in _NOT_SHOWN_WHEN_FALSE
    return value in ("", 0, [], {})


def _same_measure(wanted: str, found: str) -> bool:
    return any(_equal(read, wanted, found) for read in (kubelet_schema.duration, kubelet_schema.quantity))


def _equal(read: t.Callable[[str], Fraction], wanted: str, found: str) -> bool:
    try:
        return read(wanted) == read(found)
    except ValueError:
        return False


def _only(wanted: Data, found: Data) -> Data:
    """The part of /configz that is wanted, as it is shown: the whole of it for each node would bury the rest."""
    part = {}
    for key, value in wanted.items():
        if key in found:
            nested = isinstance(value, dict) and value and isinstance(found[key], dict)
            part[key] = _only(value, found[key]) if nested else found[key]
    return part


def _show(value: t.Any) -> str:
    """As it would stand in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) and not value else str(value)
