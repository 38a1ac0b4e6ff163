# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet of a node: who runs it, with which arguments, and which files it reads. Read-only.

What counts is the command line: the one that runs, and the one that systemd would start next. Where a
distribution "usually" keeps its files decides nothing.
"""

from __future__ import annotations

import re
import shlex
import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import environment, systemd
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem

CGROUPS = "/sys/fs/cgroup"
DROP_IN_ALPHA = "KUBELET_CONFIG_DROPIN_DIR_ALPHA"  # before 1.30 --config-dir is read only where this is set

_COMMANDS = ("kubelet", "kubelite", "k3s-agent", "k3s-server", "k3s", "rke2")
_CONTAINER = re.compile(r"kubepods|docker[-/]|libpod-|cri-containerd-|crio-")


@dataclass(frozen=True)
class Distribution:
    """How one kind of set-up runs its kubelet: the units, and the drop-in directory if it has one of its own."""

    name: str
    units: tuple[str, ...]
    config_dir: str = ""


# The first whose unit exists. kubeadm, kubespray and hand-made nodes share kubelet.service, see _flavour.
DISTRIBUTIONS = (
    Distribution("k3s", ("k3s.service", "k3s-agent.service"), "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"),
    Distribution(
        "rke2", ("rke2-server.service", "rke2-agent.service"), "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"
    ),
    Distribution("microk8s", ("snap.microk8s.daemon-kubelite.service",)),
    Distribution("k0s", ("k0sworker.service", "k0scontroller.service")),
    Distribution("kubelet", ("kubelet.service",)),
)

_PROPERTIES = ("ExecMainStartTimestamp", "ExecStart", "Environment", "EnvironmentFiles", "NeedDaemonReload")


@dataclass(frozen=True)
class ConfigFile:
    """A file that the kubelet reads, or would read at its next start; text is None if it is not there."""

    path: str
    text: str | None
    modified: float | None


@dataclass(frozen=True)
class Kubelet:
    """One kubelet. `argv` runs (empty: it does not), `next_argv` is what its unit would start.

    started: seconds since the epoch, None if it does not run. config_dir: "" if it reads none.
    environment: what the unit sets itself; environment_files: path and text of its files, which win, in order.
    version: such as v1.33.1. stale_unit: systemd has not read the unit as it is on disk.
    """

    distribution: str
    unit: str
    pid: int
    started: float | None
    argv: tuple[str, ...]
    next_argv: tuple[str, ...]
    version: str
    node_name: str
    config: ConfigFile | None
    config_dir: str
    drop_ins: tuple[ConfigFile, ...]
    environment: dict[str, str]
    environment_files: tuple[tuple[str, str | None], ...]
    exec_start: tuple[str, ...]
    drop_in_alpha: bool
    in_container: bool
    stale_unit: bool = False

    @property
    def running(self) -> bool:
        return self.pid > 0

    @property
    def flags(self) -> dict[str, str]:
        return flags(self.next_argv)


def find(host: Host) -> str | None:
    """The unit or the process by which a kubelet is recognised: the cheap question whether there is one."""
    unit = _unit(host)
    if unit:
        return unit[1]
    pid = _process(host)
    return f"process {pid}" if pid else None


def observe(host: Host) -> Kubelet | None:
    """Everything about the kubelet of this host; None if it has none. Raises HostprepError without systemd."""
    found = _unit(host)
    pid = _process(host)
    if found is None and not pid:
        return None
    cgroup = host.read(f"/proc/{pid}/cgroup") or "" if pid else ""
    if found is None:
        found = (DISTRIBUTIONS[-1], _unit_of(cgroup))
    distribution, unit = found
    shown = systemd.show(host, unit, _PROPERTIES) if unit.endswith(".service") else {}
    files = tuple((path, host.read_raw(path)) for path in _environment_files(shown))
    environment_of_unit = dict(word.partition("=")[::2] for word in _split(shown.get("Environment", ""), unit))
    variables = merged_environment(environment_of_unit, files)
    exec_start = _exec_start(shown)
    argv = tuple((host.read(f"/proc/{pid}/cmdline") or "").split("\0")) if pid else ()
    next_argv = expand(exec_start, variables, unit) if exec_start else argv
    named = flags(next_argv)
    # What k3s and RKE2 take as --config is their own configuration, with the token of the cluster in it.
    config = "" if distribution.config_dir else named.get("config", "")
    node_name = named.get("node-name") if distribution.config_dir else named.get("hostname-override")
    config_dir = named.get("config-dir", "")
    if distribution.config_dir and host.names(distribution.config_dir):
        config_dir = distribution.config_dir  # k3s and RKE2 hand it to the kubelet inside their own process
    return Kubelet(
        distribution=_flavour(host, distribution.name, files),
        unit=unit,
        pid=pid,
        started=systemd.timestamp(shown.get("ExecMainStartTimestamp", "")) if pid else None,
        argv=argv,
        next_argv=next_argv,
        version=_version(host, next_argv),
        node_name=node_name or (host.read("/proc/sys/kernel/hostname") or "").lower(),
        config=_file(host, config) if config else None,
        config_dir=config_dir,
        drop_ins=tuple(_file(host, path) for path in _drop_in_paths(host, config_dir)) if config_dir else (),
        environment=environment_of_unit,
        environment_files=files,
        exec_start=exec_start,
        drop_in_alpha=DROP_IN_ALPHA in variables,
        in_container=bool(_CONTAINER.search(cgroup)),
        stale_unit=shown.get("NeedDaemonReload") == "yes",
    )


def flags(argv: t.Sequence[str]) -> dict[str, str]:
    """--name=value, --name value and --name of a command line; the last of a name counts, as in the kubelet."""
    found: dict[str, str] = {}
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("-") else "true"
        found[name] = value
    return found


def _unit(host: Host) -> tuple[Distribution, str] | None:
    for distribution in DISTRIBUTIONS:
        for unit in distribution.units:
            if any(host.exists(f"{directory}/{unit}") for directory in systemd.UNIT_DIRECTORIES):
                return distribution, unit
    return None


def _process(host: Host) -> int:
    for pid in host.names("/proc"):
        if pid.isdigit() and (host.read(f"/proc/{pid}/comm") or "") in _COMMANDS:
            return int(pid)
    return 0


def _unit_of(cgroup: str) -> str:
    match = re.search(r"/([^/\s]+\.service)\s*$", cgroup)
    return match.group(1) if match else ""


def _flavour(host: Host, name: str, files: tuple[tuple[str, str | None], ...]) -> str:
    """Which tool set kubelet.service up, by the files that only this tool has its unit read."""
    if name != "kubelet":
        return name
    if host.exists("/etc/machine-config-daemon/currentconfig"):
        return "openshift"
    paths = [path for path, _text in files]
    if "/var/lib/kubelet/kubeadm-flags.env" in paths:
        return "kubeadm"
    if "/etc/kubernetes/kubelet.env" in paths:
        return "kubespray"
    return "bare"


def _file(host: Host, path: str) -> ConfigFile:
    return ConfigFile(path, host.read_raw(path), host.modified(path))


def _drop_in_paths(host: Host, directory: str) -> list[str]:
    """What the kubelet reads below --config-dir: names that end in .conf, sub-directories too, in order of path."""
    found = []
    for name in host.names(directory):
        path = f"{directory}/{name}"
        if name.endswith(".conf"):
            found.append(path)
        else:
            found += _drop_in_paths(host, path)
    return sorted(found)


def _exec_start(shown: dict[str, str]) -> tuple[str, ...]:
    """The words of ExecStart, before variables are filled in; of several the last."""
    commands = re.findall(r"argv\[\]=(.*?) ; ignore_errors=", shown.get("ExecStart", ""))
    return tuple(commands[-1].split()) if commands else ()


def _environment_files(shown: dict[str, str]) -> list[str]:
    return [line.split(" (")[0] for line in shown.get("EnvironmentFiles", "").splitlines() if line]


def merged_environment(unit: dict[str, str], files: t.Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Environment= first, then the files, the later ones win: systemd.exec(5)."""
    variables = dict(unit)
    for _path, text in files:
        variables.update(environment.parse(text or ""))
    return variables


def expand(words: t.Iterable[str], variables: dict[str, str], unit: str) -> tuple[str, ...]:
    """$NAME as a word of its own is split at blanks, ${NAME} is not: systemd.service(5). Raises HostprepError."""
    expanded: list[str] = []
    for word in words:
        if re.fullmatch(r"\$[A-Za-z_]\w*", word):
            expanded += _split(variables.get(word[1:], ""), unit)
        else:
            expanded.append(re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match.group(1), ""), word))
    return tuple(expanded)


def _split(text: str, unit: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise HostprepError(
            Problem(
                found=f"{text[:80]!r} in the environment of {unit} ({error})",
                wanted="words that systemd can tell apart",
                remedy=f"mend the quotes in the unit or its environment files ('systemctl cat {unit}' names them)",
            )
        ) from error


def _version(host: Host, argv: t.Sequence[str]) -> str:
    """The version alone: `Kubernetes v1.33.1` and `k3s version v1.33.1+k3s1 (0123abc)` both name it."""
    program = "kubelet" if host.recorded or not argv else argv[0]
    match = re.search(r"v\d+\.\d+\S*", host.command([program, "--version"]))
    return match.group() if match else ""
