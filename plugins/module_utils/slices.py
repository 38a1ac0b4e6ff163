# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resource control of a slice: one drop-in, live, and proven in cgroupfs. The subject behind slice_limits.

systemd takes settings that the kernel cannot carry out (IODeviceLatencyTargetSec without
CONFIG_BLK_CGROUP_IOLATENCY) and says nothing: only the file in cgroupfs is proof.
"""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import block, iocost, units
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Command,
    HostprepError,
    Plan,
    Problem,
    RemoveFile,
    WriteFile,
    WriteKernel,
    refusal,
)
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import (
    parse_microseconds,
    parse_size,
    show_size,
)

CGROUPS = "/sys/fs/cgroup"
DROP_IN = "90-hostprep.conf"
LATENCY = "IODeviceLatencyTargetSec"


@dataclass(frozen=True)
class Property:
    """A systemd property: the cgroup file that proves it, and how its value is written there."""

    file: str
    kind: str  # "bytes", "weight" or "count"


# systemd.resource-control(5) and the kernel's cgroup-v2 documentation.
PROPERTIES = {
    "CPUWeight": Property("cpu.weight", "weight"),
    "IOWeight": Property("io.weight", "weight"),
    "MemoryHigh": Property("memory.high", "bytes"),
    "MemoryLow": Property("memory.low", "bytes"),
    "MemoryMax": Property("memory.max", "bytes"),
    "MemoryMin": Property("memory.min", "bytes"),
    "MemorySwapMax": Property("memory.swap.max", "bytes"),
    "MemoryZSwapMax": Property("memory.zswap.max", "bytes"),
    "TasksMax": Property("pids.max", "count"),
}
_WEIGHTS = range(1, 10001)
_ABOVE_ZERO = ("MemoryHigh", "MemoryMax", "TasksMax")
_LATENCY_FILE = "io.latency"
_PAGE = os.sysconf("SC_PAGE_SIZE")

ARGUMENT_SPEC: dict[str, t.Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "properties": {"type": "dict", "default": {}},
    "latency_targets": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {"path": {"type": "path", "required": True}, "target": {"type": "str", "required": True}},
    },
    "latency_fallback": {"type": "str", "choices": ["none", "weight"], "default": "none"},
}


def observe(host: Host, wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """Read-only: the unit as systemd has it, all its drop-ins, and its cgroup. Raises without root or systemd."""
    host.require_root()
    name = wanted["name"]
    cgroup = cgroup_path(name)
    devices = host.once("block", block.observe) if wanted["latency_targets"] else {}
    unit = _unit(host, name) if name.endswith(".slice") else {}
    drop_ins = unit.get("DropInPaths", "").split()
    controllers = (host.read(f"{cgroup.rsplit('/', 1)[0]}/cgroup.subtree_control") or "").split()
    return {
        "unit": unit,
        "cgroup": cgroup,
        "cgroup_v2": host.exists(f"{CGROUPS}/cgroup.controllers"),
        "exists": host.exists(cgroup),
        "slices": sorted(entry for entry in host.names(CGROUPS) if entry.endswith(".slice")),
        "files": {
            file: host.read(f"{cgroup}/{file}")
            for file in [prop.file for prop in PROPERTIES.values()] + [_LATENCY_FILE]
        },
        "controllers": controllers,
        "kernel_has_latency": _kernel_has_latency(host, f"{cgroup}/{_LATENCY_FILE}", controllers),
        "io_cost_qos": host.read(iocost.QOS),
        "io_cost_unit": host.read_raw(iocost.unit_path(name)),
        "io_cost_enabled": host.exists(iocost.boot_link(name)),
        "drop_in": host.read_raw(drop_in_path(name)),
        "drop_ins": {path: units.parse_unit(host.read(path) or "") for path in drop_ins},
        "disks": {
            target["path"]: [
                {"name": block.stable_name(devices[disk]), "number": devices[disk]["number"]}
                for disk in block.disks_of_path(target["path"], host, devices)
            ]
            for target in wanted["latency_targets"]
        },
    }


def plan(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    problems = _slice_problems(observed, wanted) or _owner_problems(observed, wanted)
    if wanted["state"] == "absent":
        return refusal(*problems) if problems else _plan_absent(observed, wanted)
    values, value_problems = _values(wanted["properties"])
    latencies, latency_problems = _latencies(observed, wanted)
    problems += value_problems + latency_problems + _override_problems(observed, wanted)
    if problems:
        return refusal(*problems)

    weighted = {latency.disk: latency.number for latency in latencies if _falls_back(observed, wanted)}
    if weighted:
        values.setdefault("IOWeight", iocost.DEFAULT_WEIGHT)
    path = drop_in_path(wanted["name"])
    text = drop_in(values, latencies)
    checks = _checks(observed, values, latencies) + iocost.checks(observed["io_cost_qos"] or "", weighted)
    actions: list[Action] = []
    if observed["drop_in"] != text:
        actions.append(WriteFile(path, text, observed["drop_in"] or "", f"limit {wanted['name']}"))
    if actions or path not in observed["drop_ins"] or observed["unit"].get("NeedDaemonReload") == "yes":
        actions += _apply(wanted["name"])
    elif any(check.supported and not check.ok for check in checks):
        actions += [_realize(wanted["name"]), *_rewrites(observed, values, latencies)]
    if weighted:
        unit, enabled = observed["io_cost_unit"], observed["io_cost_enabled"]
        actions += iocost.enable(wanted["name"], unit, enabled, observed["io_cost_qos"], weighted)
    else:
        actions += iocost.disable(wanted["name"], observed["io_cost_unit"])
    return Plan(
        actions=tuple(actions),
        checks=tuple(checks),
        warnings=_warnings(checks),
        before=tuple(f"{check.name}: {check.found}" for check in checks if check.supported),
        after=tuple(f"{check.name}: {check.wanted}" for check in checks if check.supported),
    )


def state(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """What slice_limits returns as `slice`: the kernel's values by property, and all drop-ins."""
    files = observed["files"]
    return {
        "slice": {
            "name": wanted["name"],
            "cgroup": observed["cgroup"],
            "values": {name: files[prop.file] for name, prop in PROPERTIES.items()},
            "io_latency": (files[_LATENCY_FILE] or "").splitlines(),
            "io_latency_supported": files[_LATENCY_FILE] is not None,
            "drop_ins": sorted(observed["drop_ins"]),
        }
    }


def drop_in_path(name: str) -> str:
    return f"{units.UNIT_DIRECTORY}/{name}.d/{DROP_IN}"


def drop_in(values: dict[str, str], latencies: list[Latency]) -> str:
    lines = [f"{name}={value}" for name, value in sorted(values.items())]
    lines += [f"{LATENCY}={latency.disk} {latency.microseconds}us" for latency in latencies]
    return "\n".join([f"{units.MARK} Changes are overwritten.", "[Slice]", *lines, ""])


@dataclass(frozen=True)
class Latency:
    """A latency target as io.latency knows it: one physical disk and a time."""

    disk: str
    number: str
    microseconds: int

    @property
    def line(self) -> str:
        return f"{self.number} target={self.microseconds}"


# --- what may not be -----------------------------------------------------------------------------


def _slice_problems(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> list[Problem]:
    name = wanted["name"]
    if not observed["cgroup_v2"]:
        return [
            Problem(
                found=f"no {CGROUPS}/cgroup.controllers: this host runs the old cgroup hierarchy",
                wanted="cgroup v2",
                remedy="boot with systemd.unified_cgroup_hierarchy=1, or use a current release",
            )
        ]
    known = observed["unit"].get("FragmentPath") or observed["exists"]
    if not name.endswith(".slice") or not known:
        return [
            Problem(
                found=f"no slice {name!r}; this host has {', '.join(observed['slices'])}",
                wanted="a slice that exists",
                remedy="correct the name; a slice of your own needs a unit file first",
            )
        ]
    if not observed["exists"] and wanted["state"] == "present":
        return [
            Problem(
                found=f"slice {name!r} is not running, so that nothing could be proven",
                wanted="an active slice",
                remedy=f"'systemctl start {name}', or start what runs in it",
            )
        ]
    return []


def _owner_problems(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> list[Problem]:
    if observed["drop_in"] is None or observed["drop_in"].startswith(units.MARK):
        return []
    path = drop_in_path(wanted["name"])
    return [
        Problem(
            found=f"{path}, which was not written by us",
            wanted="a file of that name that is ours, or none",
            remedy="rename it, to a name that sorts before ours",
        )
    ]


def _values(properties: dict[str, t.Any]) -> tuple[dict[str, str], list[Problem]]:
    """Each property in the one spelling that systemd and the kernel share."""
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for name, given in properties.items():
        try:
            values[name] = _value(name, given)
        except HostprepError as error:
            problems += error.problems
    return values, problems


def _value(name: str, given: t.Any) -> str:
    if name == LATENCY:
        raise HostprepError(
            Problem(
                found=f"{LATENCY} among the properties",
                wanted="latency_targets, with a path and a target each",
                remedy="move it there: the paths are resolved to the disks below them",
            )
        )
    if name not in PROPERTIES:
        raise HostprepError(
            Problem(
                found=f"property {name!r}",
                wanted=f"one of {', '.join(PROPERTIES)}",
                remedy="correct the name (case matters); other properties cannot be proven in cgroupfs here",
            )
        )
    kind = PROPERTIES[name].kind
    text = str(given)
    if kind == "weight":
        if not re.fullmatch(r"[0-9]+", text) or int(text) not in _WEIGHTS:
            raise HostprepError(
                Problem(
                    found=f"{name}: {given!r}",
                    wanted=f"a weight from {_WEIGHTS.start} to {_WEIGHTS.stop - 1}; 100 is everyone's default",
                    remedy="choose a weight in that range",
                )
            )
        return str(int(text))
    if text == "infinity":
        return text
    size = parse_size(given, name)
    if size == 0 and name in _ABOVE_ZERO:
        raise HostprepError(
            Problem(
                found=f"{name}: {given!r}",
                wanted="more than nothing: systemd ignores a limit of zero here",
                remedy='choose a limit above zero, or "infinity"',
            )
        )
    return str(size)


def _latencies(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> tuple[list[Latency], list[Problem]]:
    """One target a disk: the strictest, if two paths lie on the same one."""
    strictest: dict[str, Latency] = {}
    problems: list[Problem] = []
    for target in wanted["latency_targets"]:
        disks = observed["disks"][target["path"]]
        if not disks:
            problems.append(
                Problem(
                    found=f"no physical disk behind {target['path']!r} (in memory or on the network there is none)",
                    wanted="a path or device whose disks can be told",
                    remedy="name the disk itself, best by its link in /dev/disk/by-id",
                )
            )
        try:
            microseconds = parse_microseconds(target["target"], f"latency target of {target['path']}")
        except HostprepError as error:
            problems += error.problems
            continue
        for disk in disks:
            latency = Latency(disk["name"], disk["number"], microseconds)
            known = strictest.get(disk["number"])
            if known is None or latency.microseconds < known.microseconds:
                strictest[disk["number"]] = latency
    return sorted(strictest.values(), key=lambda latency: latency.disk), problems


def _override_problems(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> list[Problem]:
    """Drop-ins are read in the order of their file names: a later one would win over ours."""
    problems = []
    for path, values in observed["drop_ins"].items():
        overridden = sorted(set(values) & set(wanted["properties"]))
        if overridden and path.rsplit("/", 1)[1] > DROP_IN:
            problems.append(
                Problem(
                    found=f"{path} sets {', '.join(overridden)} and is read after our {DROP_IN}",
                    wanted="nothing that takes these limits back",
                    remedy=f"take {', '.join(overridden)} out of {path}",
                )
            )
    return problems


# --- the effect ----------------------------------------------------------------------------------


def _checks(observed: dict[str, t.Any], values: dict[str, str], latencies: list[Latency]) -> list[Check]:
    slice_name = observed["cgroup"].rsplit("/", 1)[1]
    checks = []
    for name, value in values.items():
        prop = PROPERTIES[name]
        content = observed["files"][prop.file]
        found = _missing(observed, prop.file) if content is None else _first_value(content)
        checks.append(
            Check(
                name=f"{name} of {slice_name}",
                wanted=_shown(prop, _kernel_value(prop, value)),
                found=_shown(prop, found),
                proof=f"{observed['cgroup']}/{prop.file}",
                ok=found == _kernel_value(prop, value),
                supported=_supported(observed, prop.file),
            )
        )
    content = observed["files"][_LATENCY_FILE]
    lines = {line.split()[0]: line for line in (content or "").splitlines()}
    for latency in latencies:
        found = _missing(observed, _LATENCY_FILE) if content is None else lines.get(latency.number, "no target")
        checks.append(
            Check(
                name=f"latency target of {slice_name} on {latency.disk}",
                wanted=latency.line,
                found=found,
                proof=f"{observed['cgroup']}/{_LATENCY_FILE}",
                ok=found == latency.line,
                supported=_supported(observed, _LATENCY_FILE),
            )
        )
    return checks


def _falls_back(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> bool:
    """Weights stand in for latency targets only where asked for, needed and possible."""
    return (
        wanted["latency_fallback"] == "weight"
        and observed["kernel_has_latency"] is False
        and observed["io_cost_qos"] is not None
    )


def _supported(observed: dict[str, t.Any], file: str) -> bool:
    """Whether a kernel that has the controller on also has the file. Only I/O control is optional in kernels."""
    if file == _LATENCY_FILE:
        return observed["kernel_has_latency"] is not False
    return not (file.startswith("io.") and observed["files"][file] is None and "io" in observed["controllers"])


def _missing(observed: dict[str, t.Any], file: str) -> str:
    controller = file.split(".", 1)[0]
    return (
        "not in this kernel"
        if not _supported(observed, file) or controller in observed["controllers"]
        else f"{controller} controller is off"
    )


def _first_value(content: str) -> str:
    """memory.* and cpu.weight hold one value; io.weight begins with 'default VALUE'."""
    words = content.split()
    return words[1] if words[:1] == ["default"] else words[0] if words else ""


def _kernel_value(prop: Property, value: str) -> str:
    """What the cgroup file will say: no limit is 'max', and memory is counted in whole pages."""
    if value == "infinity":
        return "max"
    return str(int(value) // _PAGE * _PAGE) if prop.kind == "bytes" else value


def _shown(prop: Property, value: str) -> str:
    return show_size(int(value)) if prop.kind == "bytes" and value.isdigit() else value


def _apply(name: str) -> list[Action]:
    return [Command(("systemctl", "daemon-reload"), "let systemd read the limits"), _realize(name)]


def _realize(name: str) -> Action:
    """A reload alone leaves a running slice as it is until something starts or ends in it (seen with systemd 257)."""
    return Command(
        ("systemd-run", "--quiet", "--wait", "--collect", f"--slice={name}", "true"), "let systemd apply the limits now"
    )


def _rewrites(observed: dict[str, t.Any], values: dict[str, str], latencies: list[Latency]) -> list[Action]:
    """Put back what somebody changed below systemd: it takes the values for being in force, and writes nothing."""
    writes = []
    for name, value in values.items():
        prop = PROPERTIES[name]
        content = observed["files"][prop.file]
        wanted = _kernel_value(prop, value)
        if content is not None and _first_value(content) != wanted:
            writes.append(WriteKernel(f"{observed['cgroup']}/{prop.file}", wanted, f"put {name} back"))
    content = observed["files"][_LATENCY_FILE]
    for latency in latencies:
        if content is not None and latency.line not in content.splitlines():
            path = f"{observed['cgroup']}/{_LATENCY_FILE}"
            writes.append(WriteKernel(path, latency.line, f"put the latency target on {latency.disk} back"))
    return list(writes)


def _warnings(checks: list[Check]) -> tuple[str, ...]:
    unsupported = sorted({check.proof for check in checks if not check.supported})
    return tuple(f"this kernel has no {path}: systemd takes the setting and enforces nothing" for path in unsupported)


def _plan_absent(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    path = drop_in_path(wanted["name"])
    actions: list[Action] = []
    if observed["drop_in"] is not None:
        actions.append(RemoveFile(path, observed["drop_in"], f"take the limits of {wanted['name']} back"))
    if actions or path in observed["drop_ins"] or observed["unit"].get("NeedDaemonReload") == "yes":
        actions += _apply(wanted["name"])
    actions += iocost.disable(wanted["name"], observed["io_cost_unit"])
    found = "in force" if path in observed["drop_ins"] else "not there"
    return Plan(
        actions=tuple(actions),
        checks=(Check(f"limits of {wanted['name']}", "not there", found, path, found == "not there"),),
    )


# --- reading -------------------------------------------------------------------------------------


def _unit(host: Host, name: str) -> dict[str, str]:
    properties = "FragmentPath,DropInPaths,NeedDaemonReload"
    text = host.command(["systemctl", "show", f"--property={properties}", "--", name])
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _kernel_has_latency(host: Host, file: str, controllers: list[str]) -> bool | None:
    """Whether this kernel carries out latency targets; None if that cannot be told before the io controller is on."""
    if host.exists(file):
        return True
    if "io" in controllers:
        return False
    release = host.read("/proc/sys/kernel/osrelease")
    for config in (f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        text = host.read(config)
        if text is not None:
            return "CONFIG_BLK_CGROUP_IOLATENCY=y" in text
    return None


def cgroup_path(name: str) -> str:
    """The directory of a slice: a-b.slice lies in a.slice."""
    stem = name[: -len(".slice")] if name.endswith(".slice") else name
    if stem == "-":
        return CGROUPS
    parts = stem.split("-")
    return "/".join([CGROUPS, *("-".join(parts[: n + 1]) + ".slice" for n in range(len(parts)))])
