# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state files of the CPU and the memory manager: a kubelet does not start when they tell of another policy."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_rules
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.kubelet import Kubelet

_POLICIES = {"cpu_manager_state": ("cpuManagerPolicy", "none"), "memory_manager_state": ("memoryManagerPolicy", "None")}


@dataclass(frozen=True)
class StateFile:
    """A state file that has to go before the kubelet starts again, and why."""

    path: str
    reason: str


def observe(host: Host, found: Kubelet) -> dict[str, str]:
    """The policy that each state file was written under, by the file's path. Missing files are left out."""
    directory = found.flags.get("root-dir", "/var/lib/kubelet")
    policies = {}
    for name in _POLICIES:
        text = host.read(f"{directory}/{name}")
        if text is None:
            continue
        try:
            policies[f"{directory}/{name}"] = str(json.loads(text).get("policyName", ""))
        except (ValueError, AttributeError):
            policies[f"{directory}/{name}"] = "unreadable"
    return policies


def obsolete(policies: dict[str, str], before: dict[str, t.Any], after: dict[str, t.Any]) -> list[StateFile]:
    """Of the files that are there: those of another policy, and those whose inputs this change alters."""
    reasons = {state.name: state.reason for state in kubelet_rules.state_files(before, after)}
    found = []
    for path, policy in policies.items():
        name = path.rsplit("/", 1)[1]
        key, default = _POLICIES[name]
        wanted = after.get(key) or default
        if policy.lower() != str(wanted).lower():
            found.append(StateFile(path, f"it was written under {key} {policy}, and {wanted} is wanted"))
        elif name in reasons:
            found.append(StateFile(path, reasons[name]))
    return found
