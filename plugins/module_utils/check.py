# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All subjects of a host at once, read-only: what host_check returns."""

from __future__ import annotations

import re
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virt.hostprep.plugins.module_utils import (
    block,
    kubelet,
    kubelet_config,
    slices,
    swap,
    sysctl,
    topology,
    units,
)
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.subject import Subject
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import judge_all

Data = dict[str, t.Any]


def check(host: Host, wanted: Data) -> Data:
    """Problems, actions, changes and checks of every subject that is asked for, and the machine itself."""
    found = kubelet.find(host)
    result: Data = {
        "platform": "kubernetes" if found else "libvirt",
        "system": {
            "os": _os_name(host.read("/etc/os-release") or ""),
            "kernel": host.read("/proc/sys/kernel/osrelease") or "",
        },
        "numa": topology.read(host.root),
        "problems": [
            {"subject": "platform", **problem.as_dict()} for problem in platform_problems(found, wanted["platform"])
        ],
        "warnings_found": [],
        "gates": [],
        "actions": [],
        "changes": [],
        "checks": [],
    }
    for name, subject, options in _subjects(wanted, found):
        try:
            _add(result, name, subject, host, _validated(subject, options))
        except HostprepError as error:
            result["problems"] += [{"subject": name, **problem.as_dict()} for problem in error.problems]
    try:
        devices = host.once("block", block.observe)
        label = (wanted["swap"] or {}).get("label", swap.ARGUMENT_SPEC["label"]["default"])
        result["devices"] = judge_all(devices, label, units.read_own_swap_units(host))
    except HostprepError as error:
        result["problems"] += [{"subject": "devices", **problem.as_dict()} for problem in error.problems]
    if not wanted["kubelet"]:
        # Nothing of this play opens the gates, so its later steps could only stop there.
        result["problems"] += result["gates"]
    result["problems"] = _without_repeats(result["problems"])
    return result


def platform_problems(found: str | None, platform: str) -> list[Problem]:
    """found: what a kubelet was recognised by."""
    if platform == "openshift":
        return [
            Problem(
                found="platform openshift",
                wanted="libvirt, kubernetes or auto: this release prepares hosts that are reached over SSH",
                remedy="wait for the release that has the steps of the Machine Config Operator",
            )
        ]
    if platform == "kubernetes" and not found:
        return [
            Problem(
                found="platform kubernetes, and no kubelet on this host",
                wanted="a node of a cluster",
                remedy="take the host out of the play, or set hostprep_platform to auto",
            )
        ]
    if platform == "libvirt" and found:
        return [
            Problem(
                found=f"platform libvirt, and a kubelet on this host ({found})",
                wanted="a host without one: a kubelet that does not tolerate swap never starts again",
                remedy="set hostprep_platform to kubernetes or auto",
            )
        ]
    return []


def _subjects(wanted: Data, found: str | None) -> t.Iterator[tuple[str, Subject, Data]]:
    if wanted["kubelet"] and found:
        yield "kubelet", kubelet_config, wanted["kubelet"]
    if wanted["sysctl"]:
        yield "sysctl", sysctl, wanted["sysctl"]
    if wanted["swap"]:
        yield "swap", swap, wanted["swap"]
    for options in wanted["slices"]:
        yield str(options.get("name", "slice")), slices, options


def _validated(subject: Subject, options: Data) -> Data:
    """The options as the subject's own module would take them, defaults filled in."""
    result = ArgumentSpecValidator(subject.ARGUMENT_SPEC).validate(options)
    if result.error_messages:
        raise HostprepError(
            *(
                Problem(found=message, wanted="options that the module knows", remedy="correct the role's variables")
                for message in result.error_messages
            )
        )
    return dict(result.validated_parameters)


def _add(result: Data, name: str, subject: Subject, host: Host, options: Data) -> None:
    observed = subject.observe(host, options)
    plan = subject.plan(observed, options)
    result["problems"] += [{"subject": name, **problem.as_dict()} for problem in plan.problems]
    result["warnings_found"] += plan.warnings
    result["actions"] += [{"subject": name, **action.describe()} for action in plan.actions]
    result["checks"] += [{"subject": name, **check.as_dict()} for check in plan.checks]
    result["gates"] += [{"subject": name, **gate.as_dict()} for gate in plan.gates]
    if plan.actions:
        result["changes"].append({"subject": name, "before": list(plan.before), "after": list(plan.after)})
    if subject in (swap, kubelet_config):
        result.update(subject.state(observed, options))


def _without_repeats(problems: list[Data]) -> list[Data]:
    """One cause (no root, say) is one problem, however many subjects it stops."""
    seen: dict[tuple[str, str], Data] = {}
    for problem in problems:
        seen.setdefault((problem["found"], problem["wanted"]), problem)
    return list(seen.values())


def _os_name(os_release: str) -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', os_release, re.MULTILINE)
    return match.group(1) if match else "unknown"
