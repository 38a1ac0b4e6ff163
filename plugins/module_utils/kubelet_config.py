# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of a KubeletConfiguration on one node: the subject behind kubelet_config.

What the kubelet makes of its files is computed as the kubelet does it (kubelet_files), so that a setting that
would lose against a flag or a later file is refused instead of written. What it runs with is another question:
only /configz answers that, see pool_sync.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import (
    block,
    cpulist,
    kubelet,
    kubelet_files,
    kubelet_rules,
    kubelet_schema,
    kubelet_state,
    releases,
    systemd,
    units,
)
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    HostprepError,
    Plan,
    Problem,
    RemoveFile,
    RestartService,
    WriteFile,
    refusal,
)

AUTO = "auto"
ORDERS = range(10, 100)

ARGUMENT_SPEC: dict[str, t.Any] = {
    "settings": {"type": "dict", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "order": {"type": "int", "default": 90},
    "accept_rewrite": {"type": "bool", "default": False},
    "restart": {"type": "bool", "default": False},
    "drained": {"type": "bool", "default": False},
    "node_name": {"type": "str", "default": ""},
    "swap_counted": {"type": "int"},
}


def observe(host: Host, _wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """Read-only. `kubelet` is None on a host without one. Raises HostprepError without root or systemd."""
    host.require_root()
    found = host.once("kubelet", kubelet.observe)
    return {
        "kubelet": found,
        "machine": _machine(host),
        "kernel": host.read("/proc/sys/kernel/osrelease") or "",
        "swap_total": host.meminfo().get("SwapTotal", 0),
        "swap_on": [area["path"] for area in block.active_swaps(host)],
        "swap_declared": [unit["name"] for unit in units.read_own_swap_units(host).values() if unit["enabled"]]
        + [entry["where"] for entry in units.read_foreign_swaps(host)],
        "swap_started": _swap_started(host) if found else {},
        "policies": kubelet_state.observe(host, found) if found else {},
    }


def plan(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    found: kubelet.Kubelet | None = observed["kubelet"]
    problems = _node_problems(found, wanted)
    if problems or found is None:
        return refusal(*problems)
    try:
        change = _change(found, wanted)
    except HostprepError as error:
        return refusal(*error.problems)
    reasons = _restart_reasons(observed, found, change, wanted)
    problems = _effect_problems(observed, wanted, change, reasons)
    if problems:
        return refusal(*problems)

    states = kubelet_state.obsolete(observed["policies"], change.before, change.after)
    actions: list[Action] = list(change.writes)
    gates = []
    if reasons and states and not (wanted["restart"] and wanted["drained"]):
        gates.append(_drain_gate(found, states))
    if wanted["restart"] and reasons:
        actions.append(_restart(found, change, [state.path for state in states], reasons))
    return Plan(
        actions=tuple(actions),
        gates=tuple(gates),
        warnings=tuple(_warnings(observed["kernel"], wanted)),
        checks=tuple(_checks(wanted, found, change, reasons)),
        before=change.in_words(change.before),
        after=change.in_words(change.after),
    )


def state(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """What kubelet_config returns as `kubelet`; restart and drain are what is still to come, also in check mode."""
    found: kubelet.Kubelet | None = observed["kubelet"]
    if found is None:
        return {"kubelet": None}
    described = {
        "distribution": found.distribution,
        "unit": found.unit,
        "running": found.running,
        "version": found.version,
        "node_name": wanted["node_name"] or found.node_name,
        "swap_total": observed["swap_total"],
        "config_file": found.config.path if found.config else None,
        "config_dir": found.config_dir or None,
        "drop_ins": [file.path for file in found.drop_ins],
    }
    try:
        change = _change(found, wanted)
    except HostprepError:  # the plan says so, as a problem
        return {"kubelet": described}
    reasons = _restart_reasons(observed, found, change, wanted)
    states = kubelet_state.obsolete(observed["policies"], change.before, change.after) if reasons else []
    return {
        "kubelet": {
            **described,
            "written_to": change.path,
            "config": change.after,
            "restart_required": reasons,
            "drain_required": [f"{entry.path}: {entry.reason}" for entry in states],
        }
    }


def _node_problems(found: kubelet.Kubelet | None, wanted: dict[str, t.Any]) -> list[Problem]:
    if found is None:
        return [
            Problem(
                found="no kubelet: neither its unit nor its process",
                wanted="a node of a Kubernetes cluster",
                remedy="take this host out of the play, or set hostprep_platform to libvirt",
            )
        ]
    problems = _set_up_problems(found)
    if wanted["order"] not in ORDERS:
        problems.append(
            Problem(
                found=f"order {wanted['order']}",
                wanted=f"{ORDERS.start} to {ORDERS.stop - 1}, so that the file names sort",
                remedy="choose a number in that range",
            )
        )
    if problems:
        return problems
    try:
        release = releases.parse(found.version)
        releases.kubernetes(release)
    except HostprepError as error:
        return list(error.problems)
    return list(kubelet_schema.problems(resolved(wanted["settings"], release), release))


def _set_up_problems(found: kubelet.Kubelet) -> list[Problem]:
    """Set-ups whose files are made anew by their owner, or lie where this module does not reach."""
    remedies = {
        "openshift": "use platform openshift: the Machine Config Operator owns this file",
        "microk8s": "put the flag into /var/snap/microk8s/current/args/kubelet by hand; MicroK8s is not supported",
        "k0s": "use a k0s worker profile (spec.workerProfiles); k0s is not supported",
    }
    if found.in_container:
        return [
            Problem(
                found="a kubelet that runs in a container",
                wanted="a kubelet as a systemd service of the host",
                remedy="change its configuration where its container is defined",
            )
        ]
    if found.distribution in remedies:
        return [
            Problem(
                found=f"a kubelet of {found.distribution} ({found.unit})",
                wanted="a kubelet of kubeadm, kubespray, k3s, RKE2, or one set up by hand",
                remedy=remedies[found.distribution],
            )
        ]
    if found.stale_unit:
        return [
            Problem(
                found=f"{found.unit} on disk is not what systemd has read",
                wanted="the same, for a restart would bring in whatever was edited there",
                remedy="'systemctl daemon-reload' if that edit is meant, and run again",
            )
        ]
    if not found.unit.endswith(".service"):
        return [
            Problem(
                found=f"a kubelet that no systemd service runs (process {found.pid})",
                wanted="a systemd service, so that it can be restarted and is there after the next boot",
                remedy="run the kubelet by a systemd unit",
            )
        ]
    return []


def resolved(settings: dict[str, t.Any], release: releases.Release) -> dict[str, t.Any]:
    """swapBehavior auto: LimitedSwap where this release grants swap by default, else not set at all.

    A release whose NodeSwap gate is off exits when the key is set.
    """
    swap = settings.get("memorySwap")
    if not isinstance(swap, dict) or swap.get("swapBehavior") != AUTO:
        return settings
    if releases.kubernetes(release).node_swap_gate == "off":
        return {key: value for key, value in settings.items() if key != "memorySwap"}
    return {**settings, "memorySwap": {**swap, "swapBehavior": "LimitedSwap"}}


def _change(found: kubelet.Kubelet, wanted: dict[str, t.Any]) -> kubelet_files.Change:
    release = releases.parse(found.version)
    return kubelet_files.change(
        found,
        resolved(wanted["settings"], release),
        config_dir=releases.kubernetes(release).config_dir,
        absent=wanted["state"] == "absent",
        order=wanted["order"],
    )


def _effect_problems(
    observed: dict[str, t.Any], wanted: dict[str, t.Any], change: kubelet_files.Change, reasons: list[str]
) -> list[Problem]:
    found: kubelet.Kubelet = observed["kubelet"]
    problems = list(change.overrides)
    if change.writes and change.rewritten_by and not wanted["accept_rewrite"]:
        problems.append(
            Problem(
                found=f"{change.path}, which {change.rewritten_by.tool} writes anew",
                wanted="settings that stay: a kubelet that forgets failSwapOn does not start while swap is on",
                remedy=f"{change.rewritten_by.remedy}; then set accept_rewrite to true",
            )
        )
    release = releases.parse(found.version)
    known = kubelet_rules.problems(change.before, release, observed["machine"])
    problems += [
        problem
        for problem in kubelet_rules.problems(change.after, release, observed["machine"])
        if problem not in known  # the kubelet runs with those, so they are not for us to judge
    ]
    if change.after.get("failSwapOn", True) is False:
        return problems
    if observed["swap_on"] and (change.writes or (wanted["restart"] and reasons)):
        problems.append(
            Problem(
                found=f"swap is on ({', '.join(observed['swap_on'])}), and the kubelet would not tolerate it",
                wanted="no swap before failSwapOn goes back to true: the kubelet would never start again",
                remedy="turn the swap off first (nvme_swap_state: absent), or set failSwapOn to false",
            )
        )
    elif observed["swap_declared"] and change.before.get("failSwapOn", True) is False:
        problems.append(
            Problem(
                found=f"swap is off, but comes back at the next boot by {', '.join(observed['swap_declared'])}",
                wanted="no swap before failSwapOn goes back to true: the kubelet would not start after that boot",
                remedy="remove it for good first (nvme_swap_state: absent, or take the line out)",
            )
        )
    return problems


def _restart_reasons(
    observed: dict[str, t.Any], found: kubelet.Kubelet, change: kubelet_files.Change, wanted: dict[str, t.Any]
) -> list[str]:
    """Why the kubelet does not run what its files say, or will not after the change. Empty: it does."""
    reasons = [f"{write.path} changes" for write in change.writes]
    if found.started is None:
        return [*reasons, f"{found.unit} is not running"]
    files = [file for file in (found.config, *found.drop_ins) if file is not None and not _made_at_start(file, found)]
    reasons += [f"{file.path} is newer than the running kubelet" for file in files if _newer(file.modified, found)]
    reasons += [
        f"{path} was turned on after the kubelet started, which counts swap only then"
        for path, started in observed["swap_started"].items()
        if _newer(started, found)
    ]
    counted, total = wanted["swap_counted"], observed["swap_total"]
    if counted is not None and total and counted != total:  # without any swap its report stays as it was
        reasons.append(f"the kubelet counts {counted} bytes of swap, and the host has {total}")
    # k3s and RKE2 make the flags themselves, and RKE2 runs its kubelet as a child.
    if found.distribution not in ("k3s", "rke2") and kubelet.flags(found.argv) != found.flags:
        reasons.append("its unit would start it with other flags")
    return reasons


def _made_at_start(file: kubelet.ConfigFile, found: kubelet.Kubelet) -> bool:
    """k3s and RKE2 write their defaults (00-k3s-defaults.conf) anew at each start."""
    return found.distribution in ("k3s", "rke2") and "/00-" in file.path


def _newer(moment: float | None, found: kubelet.Kubelet) -> bool:
    return moment is not None and found.started is not None and moment > found.started


def _drain_gate(found: kubelet.Kubelet, states: list[kubelet_state.StateFile]) -> Problem:
    return Problem(
        found=f"a change for which {', '.join(state.path for state in states)} has to go "
        f"({'; '.join(state.reason for state in states)})",
        wanted=f"node {found.node_name} drained, for its pods hold CPUs or memory by that file, and the kubelet "
        "restarted without it: with it, it would not start again",
        remedy="drain the node and set drained and restart to true; the role kubelet_swap does all that",
    )


def _restart(
    found: kubelet.Kubelet, change: kubelet_files.Change, remove: list[str], reasons: list[str]
) -> RestartService:
    port = change.after.get("healthzPort", 10248)
    address = change.after.get("healthzBindAddress") or "127.0.0.1"
    if ":" in address:
        address = f"[{address}]"
    return RestartService(
        unit=found.unit,
        health_url=f"http://{address}:{port}/healthz" if port else "",
        undo=tuple(_undo(write) for write in reversed(change.writes)),
        reason=f"let the kubelet read its configuration: {reasons[0]}",
        remove=tuple(remove),
    )


def _undo(write: WriteFile | RemoveFile) -> WriteFile | RemoveFile:
    if isinstance(write, RemoveFile):
        return WriteFile(write.path, write.before, "", "put it back as it was")
    if not write.before:
        return RemoveFile(write.path, write.content, "take it away again")
    return WriteFile(write.path, write.before, write.content, "put it back as it was")


def _checks(
    wanted: dict[str, t.Any], found: kubelet.Kubelet, change: kubelet_files.Change, reasons: list[str]
) -> t.Iterator[Check]:
    for leaf, value in kubelet_files.leaves(change.settings):
        has = kubelet_files.show(kubelet_files.get(change.before, leaf))
        wants = kubelet_files.show(value)
        yield Check(f"kubelet {'.'.join(leaf)}", wants, has, f"merged from {change.sources}", ok=has == wants)
    if wanted["restart"]:
        yield Check(
            "kubelet runs what its files say",
            "started after the last change",
            "; ".join(reasons) or "started after the last change",
            f"start of {found.unit} and the times of its files",
            ok=not reasons,
        )


def _warnings(kernel: str, wanted: dict[str, t.Any]) -> t.Iterator[str]:
    """The kubelet mounts memory-backed volumes with noswap, where the kernel knows it (6.4, and RHEL 9's own 5.14)."""
    match = re.match(r"(\d+)\.(\d+)", kernel)
    asks_for_swap = wanted["state"] == "present" and wanted["settings"].get("failSwapOn") is False
    if asks_for_swap and match and (int(match.group(1)), int(match.group(2))) < (6, 4) and ".el9" not in kernel:
        yield (
            f"Linux {kernel} may not know tmpfs noswap (6.4): then secrets and other memory-backed volumes of pods "
            "can reach the swap devices; use encrypted ones, or a newer kernel"
        )


def _machine(host: Host) -> kubelet_rules.Machine:
    nodes = [name[4:] for name in host.names("/sys/devices/system/node") if name[:4] == "node" and name[4:].isdigit()]
    return kubelet_rules.Machine(
        cgroup_v2=host.exists(f"{kubelet.CGROUPS}/cgroup.controllers"),
        numa_nodes=tuple(sorted(int(node) for node in nodes)) or (0,),
        cpus=frozenset(cpulist.parse_list(host.read("/sys/devices/system/cpu/online") or "")),
        memory_bytes=host.meminfo().get("MemTotal", 0),
    )


def _swap_started(host: Host) -> dict[str, float | None]:
    """When each active swap was turned on: the kubelet reads the total once, at its start."""
    return {
        unit["What"]: systemd.timestamp(unit.get("ActiveEnterTimestamp", ""))
        for unit in systemd.show_all(host, ["*.swap"], ("What", "ActiveState", "ActiveEnterTimestamp"))
        if unit["Id"].endswith(".swap") and unit.get("ActiveState") == "active"
    }
