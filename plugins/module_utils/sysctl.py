# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel parameters in one sysctl.d file and live. The subject behind sysctl_settings.

The file and the kernel are looked at separately. The kernel takes a value first, and only then is it made
persistent: a value that it refuses never gets into a file, where it would spoil every later boot.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Plan,
    Problem,
    RemoveFile,
    WriteFile,
    WriteKernel,
    refusal,
)

MARK = "# Managed by virt.hostprep. Changes are overwritten."
DIRECTORY = "/etc/sysctl.d"

# sysctl.d(5): files are read in the order of their names; of equal names the one in the last directory counts.
_DIRECTORIES = ("/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", DIRECTORY)

# The kernel's own limits: (lowest, highest, kernel from which the highest holds, highest before).
_LIMITS: dict[str, tuple[int, int, tuple[int, int], int]] = {
    "vm.swappiness": (0, 200, (5, 8), 100),
    "vm.watermark_scale_factor": (1, 3000, (5, 17), 1000),
    "vm.page-cluster": (0, 31, (5, 9), 31),
}

ARGUMENT_SPEC: dict[str, t.Any] = {
    "file": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "settings": {"type": "dict", "default": {}},
}


def observe(host: Host, wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    host.require_root()
    return {
        "kernel": _release(host.read("/proc/sys/kernel/osrelease") or ""),
        "live": {name: host.read(_proc_path(name)) for name in wanted["settings"]},
        "file": host.read_raw(_file_path(wanted)),
        "others": _other_files(host, wanted["file"]),
    }


def plan(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> Plan:
    path = _file_path(wanted)
    have = observed["file"]
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z_.-]*\.conf", wanted["file"]):
        return refusal(
            Problem(
                found=f"file {wanted['file']!r}",
                wanted=f"the name of a file in {DIRECTORY} that ends in .conf",
                remedy='give only the name, like "90-hostprep-swap.conf"',
            )
        )
    if have is not None and not have.startswith(MARK):
        return refusal(
            Problem(
                found=f"{path} was not written by us",
                wanted="a file name that is free or ours",
                remedy="choose another file name, or move the file away",
            )
        )
    if wanted["state"] == "absent":
        removal = RemoveFile(path, have or "", "forget our settings; running values stay until the next boot")
        check = Check(f"{path}", "not there", "not there" if have is None else "there", path, have is None)
        return Plan(actions=() if have is None else (removal,), checks=(check,))

    settings = {name: _text(value) for name, value in sorted(wanted["settings"].items())}
    # Only knobs that this kernel has: a line for another one would be an error at every boot.
    present = {name: value for name, value in settings.items() if observed["live"][name] is not None}
    problems = _limit_problems(present, observed["kernel"]) + _later_problems(present, observed["others"], wanted)
    if problems:
        return refusal(*problems)
    text = "\n".join([MARK, *(f"{name} = {value}" for name, value in present.items()), ""])
    different = [name for name, value in present.items() if _text(observed["live"][name]) != value]
    actions: list[Action] = [WriteKernel(_proc_path(name), present[name], f"set {name} now") for name in different]
    if have != text:
        actions.append(WriteFile(path, text, have or "", "keep the settings over reboots"))
    return Plan(
        actions=tuple(actions),
        warnings=tuple(f"this kernel has no {name}: left out" for name in settings if name not in present),
        checks=(
            *(_check(name, value, observed) for name, value in settings.items()),
            Check(
                "settings at boot",
                "as asked",
                "as asked" if have == text else "otherwise",
                path,
                have == text,
            ),
        ),
        before=tuple(f"{name} = {_text(observed['live'][name])}" for name in present),
        after=tuple(f"{name} = {value}" for name, value in present.items()),
    )


def state(observed: dict[str, t.Any], wanted: dict[str, t.Any]) -> dict[str, t.Any]:
    """What sysctl_settings returns as `sysctl`."""
    return {"sysctl": {"file": _file_path(wanted), "live": observed["live"]}}


def _check(name: str, value: str, observed: dict[str, t.Any]) -> Check:
    live = observed["live"][name]
    return Check(
        name=name,
        wanted=value,
        found="not in this kernel" if live is None else _text(live),
        proof=_proc_path(name),
        ok=live is not None and _text(live) == value,
        supported=live is not None,
    )


def _limit_problems(settings: dict[str, str], kernel: tuple[int, int]) -> list[Problem]:
    problems = []
    for name, value in settings.items():
        if name not in _LIMITS:
            continue
        lowest, highest, since, before = _LIMITS[name]
        highest = highest if kernel >= since else before
        if not re.fullmatch(r"[0-9]+", value) or not lowest <= int(value) <= highest:
            problems.append(
                Problem(
                    found=f"{name}: {value}",
                    wanted=f"{lowest} to {highest}, the limits of this kernel ({kernel[0]}.{kernel[1]})",
                    remedy="choose a value in that range",
                )
            )
    return problems


def _later_problems(
    settings: dict[str, str], others: dict[str, dict[str, str]], wanted: dict[str, t.Any]
) -> list[Problem]:
    """A file that is read later sets the parameter again: our value would be gone after the next boot."""
    return [
        Problem(
            found=f"{path} sets {name} to {values[name]} and is read after our {wanted['file']}",
            wanted=f"{name} = {value} after every boot",
            remedy=f"take {name} out of {path}, or give file a name that sorts after it",
        )
        for path, values in others.items()
        for name, value in settings.items()
        if values.get(name, value) != value
    ]


def _other_files(host: Host, file: str) -> dict[str, dict[str, str]]:
    """The settings of every sysctl.d file that is read after ours, by path."""
    later = {
        name: f"{directory}/{name}"
        for directory in _DIRECTORIES
        for name in host.names(directory)
        if name.endswith(".conf") and name > file
    }
    return {path: parse(host.read(path) or "") for _name, path in sorted(later.items())}


def parse(text: str) -> dict[str, str]:
    """The settings of a sysctl.d file; a/b and a.b are the same, the last one counts."""
    settings = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        name = name.strip().lstrip("-").replace("/", ".")
        if equals and not name.startswith(("#", ";")):
            settings[name] = _text(value)
    return settings


def _file_path(wanted: dict[str, t.Any]) -> str:
    return f"{DIRECTORY}/{wanted['file']}"


def _proc_path(name: str) -> str:
    return f"/proc/sys/{name.replace('.', '/')}"


def _text(value: t.Any) -> str:
    """Values in one spelling: several numbers are separated by one blank."""
    return " ".join(str(value).split())


def _release(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)
