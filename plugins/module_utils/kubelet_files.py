# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which file a kubelet's setting goes into, and what the kubelet then makes of all its files. Pure.

The kubelet takes --config, merges each drop-in of --config-dir into it in the order of their paths (JSON merge
patch: mappings are merged, lists and scalars replaced), and then lets its other flags win: KEP-3983.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ansible_collections.virt.hostprep.plugins.module_utils import environment
from ansible_collections.virt.hostprep.plugins.module_utils.kubelet import (
    ConfigFile,
    Kubelet,
    expand,
    merged_environment,
)
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    HostprepError,
    Problem,
    RemoveFile,
    WriteFile,
)
from ansible_collections.virt.hostprep.plugins.module_utils.units import MARK
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_dump import dump
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_merge import merge, merge_patch
from ansible_collections.virt.hostprep.plugins.module_utils.yaml_text import YamlError, read

Config = dict[str, t.Any]
Leaf = tuple[str, ...]

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
ADDED_DIRECTORY = "/etc/kubernetes/kubelet.conf.d"

_EXTRA_ARGS = "KUBELET_EXTRA_ARGS"  # kubeadm's unit reads it last, and kubeadm never writes it
_EXTRA_FILES = ("/etc/default/kubelet", "/etc/sysconfig/kubelet")


def _text(value: str) -> t.Any:
    return value


def _pairs(value: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in value.split(",") if pair)


def _thresholds(value: str) -> dict[str, str]:
    return dict(pair.partition("<")[::2] for pair in value.split(",") if pair)


# Flags that set what a configuration can set, too. They win over every file. (kubelet --help)
_FLAGS: dict[str, tuple[str, t.Callable[[str], t.Any]]] = {
    "cgroup-driver": ("cgroupDriver", _text),
    "cgroup-root": ("cgroupRoot", _text),
    "cpu-manager-policy": ("cpuManagerPolicy", _text),
    "cpu-manager-policy-options": ("cpuManagerPolicyOptions", _pairs),
    "enforce-node-allocatable": ("enforceNodeAllocatable", lambda value: value.split(",")),
    "eviction-hard": ("evictionHard", _thresholds),
    "eviction-soft": ("evictionSoft", _thresholds),
    "eviction-soft-grace-period": ("evictionSoftGracePeriod", _pairs),
    "fail-swap-on": ("failSwapOn", lambda value: value.lower() in ("true", "t", "1")),
    "healthz-bind-address": ("healthzBindAddress", _text),
    "healthz-port": ("healthzPort", int),
    "kube-reserved": ("kubeReserved", _pairs),
    "kube-reserved-cgroup": ("kubeReservedCgroup", _text),
    "max-pods": ("maxPods", int),
    "memory-manager-policy": ("memoryManagerPolicy", _text),
    "reserved-cpus": ("reservedSystemCPUs", _text),
    "system-reserved": ("systemReserved", _pairs),
    "system-reserved-cgroup": ("systemReservedCgroup", _text),
    "topology-manager-policy-options": ("topologyManagerPolicyOptions", _pairs),
    "topology-manager-policy": ("topologyManagerPolicy", _text),
    "topology-manager-scope": ("topologyManagerScope", _text),
}


@dataclass(frozen=True)
class Rewriter:
    """The tool that writes a file anew, and what to tell it so that a setting stays."""

    tool: str
    remedy: str


@dataclass(frozen=True)
class Change:
    """What is to be written, and the kubelet's configuration before and after, flags included.

    overrides: settings that a flag or a later file would win over. sources: the files, as words.
    """

    path: str
    settings: Config
    writes: tuple[WriteFile | RemoveFile, ...]
    before: Config
    after: Config
    sources: str
    overrides: tuple[Problem, ...] = ()
    rewritten_by: Rewriter | None = None

    def in_words(self, config: Config) -> tuple[str, ...]:
        """The settings that this change is about, as they are in `config`."""
        return tuple(f"kubelet {'.'.join(leaf)}: {show(get(config, leaf))}" for leaf, _value in leaves(self.settings))


def change(found: Kubelet, settings: Config, config_dir: bool, absent: bool, order: int) -> Change:
    """config_dir: whether this release reads a drop-in directory without an alpha switch.

    Raises HostprepError when a file cannot be read as the kubelet would, or no file can carry the settings.
    """
    main = _main(found.config)
    drop_ins = _drop_ins(found, config_dir)
    own_way = None if found.config_dir or not config_dir else _own_way(found)
    before = _effective(main, drop_ins, found.flags)

    if config_dir and (found.config_dir or own_way):
        path = f"{found.config_dir or ADDED_DIRECTORY}/{order}-hostprep.conf"
        ours = drop_ins.get(path, {})
        content = merge_patch(ours, _removal(settings, ours) if absent else settings)
        writes = _write_drop_in(found, path, content)
        after_drop_ins = {
            **{key: data for key, data in drop_ins.items() if key != path},
            **({path: content} if content else {}),
        }
        if own_way and not absent:
            writes.append(own_way)
        after = _effective(main, after_drop_ins, found.flags)
    elif found.config is not None and found.config.text is not None:
        path = found.config.path
        patch = _removal(settings, main) if absent else settings
        writes = _write_in_place(found.config, patch)
        after_drop_ins = drop_ins
        after = _effective(merge_patch(main, patch), drop_ins, found.flags)
    else:
        raise HostprepError(_no_file(found))
    return Change(
        path=path,
        settings={} if absent else settings,
        writes=tuple(writes),
        before=before,
        after=after,
        sources=", ".join([*([found.config.path] if found.config else []), *drop_ins, "flags"]),
        overrides=() if absent else tuple(_overrides(settings, path, after, after_drop_ins, found.flags)),
        rewritten_by=_rewriter(found, [write.path for write in writes]),
    )


def effective(found: Kubelet, config_dir: bool) -> Config:
    """What the kubelet would run with if it started now."""
    return _effective(_main(found.config), _drop_ins(found, config_dir), found.flags)


def leaves(config: Config, above: Leaf = ()) -> t.Iterator[tuple[Leaf, t.Any]]:
    for key, value in config.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value


def get(config: Config, leaf: Leaf) -> t.Any:
    """The value at a path; None if it is not there."""
    value: t.Any = config
    for key in leaf:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def show(value: t.Any) -> str:
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _main(file: ConfigFile | None) -> Config:
    if file is None:
        return {}
    if file.text is None:
        raise HostprepError(
            Problem(
                found=f"the kubelet is told to read {file.path}, which is not there",
                wanted="the configuration file that --config names",
                remedy="have the tool that set this node up write it (kubeadm: kubeadm upgrade node)",
            )
        )
    return _content(_read(file))


def _drop_ins(found: Kubelet, config_dir: bool) -> dict[str, Config]:
    """What is read. While the directory is alpha (1.28, 1.29) we only read it: there, false does not override true."""
    return {file.path: _drop_in(file) for file in found.drop_ins} if config_dir or found.drop_in_alpha else {}


def _drop_in(file: ConfigFile) -> Config:
    data = _read(file)
    if data.get("apiVersion") != API_VERSION or data.get("kind") != KIND:
        raise HostprepError(
            Problem(
                found=f"{file.path} with apiVersion {data.get('apiVersion')!r} and kind {data.get('kind')!r}",
                wanted=f"apiVersion {API_VERSION} and kind {KIND} in every drop-in, or the kubelet does not start",
                remedy="correct or remove this file",
            )
        )
    return _content(data)


def _read(file: ConfigFile) -> Config:
    try:
        return read(file.text or "")
    except YamlError as error:
        raise HostprepError(
            Problem(
                found=f"{file.path}, line {error.line}: {error.found}",
                wanted=error.wanted,
                remedy="correct this file; the kubelet reads it, too",
            )
        ) from error


def _content(data: Config) -> Config:
    return {key: value for key, value in data.items() if key not in ("apiVersion", "kind")}


def _effective(main: Config, drop_ins: dict[str, Config], flags: dict[str, str]) -> Config:
    gates = {key: value == "true" for key, value in _pairs(flags.get("feature-gates", "")).items()}
    config = main
    for path in sorted(drop_ins):
        config = merge_patch(config, drop_ins[path])
    if gates:  # the one flag that is merged, gate by gate
        config = merge_patch(config, {"featureGates": gates})
    return {**config, **_of_flags(flags)}


def _of_flags(flags: dict[str, str]) -> Config:
    return {key: convert(flags[flag]) for flag, (key, convert) in _FLAGS.items() if flag in flags}


def _write_drop_in(found: Kubelet, path: str, content: Config) -> list[WriteFile | RemoveFile]:
    """Our file with this content; none without content."""
    there = next((file.text for file in found.drop_ins if file.path == path), None)
    if there is not None and not there.startswith(MARK):
        raise HostprepError(
            Problem(
                found=f"{path}, which was not written by us",
                wanted="a file of our own",
                remedy="rename it, or choose another order",
            )
        )
    if not content:
        return [] if there is None else [RemoveFile(path, there, "forget these settings")]
    text = f"{MARK} Changes are overwritten.\n{dump({'apiVersion': API_VERSION, 'kind': KIND, **content})}"
    if there is not None and _content(_read(ConfigFile(path, there, None))) == content:
        return []
    return [WriteFile(path, text, there or "", f"set {', '.join(content)} for the kubelet")]


def _write_in_place(file: ConfigFile, patch: Config) -> list[WriteFile | RemoveFile]:
    before = file.text or ""
    try:
        after = merge(before, patch)
    except YamlError as error:
        raise HostprepError(
            Problem(
                found=f"{file.path}, line {error.line}: {error.found}",
                wanted=error.wanted,
                remedy="write this file as block YAML, or run a kubelet of 1.30 or newer with --config-dir, "
                "so that the settings get a file of their own",
            )
        ) from error
    return [] if after == before else [WriteFile(file.path, after, before, f"set {', '.join(patch)} for the kubelet")]


def _removal(settings: Config, main: Config) -> Config:
    """The patch that takes out what the settings name, as far as it is there with our value."""
    patch: Config = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value and isinstance(main.get(key), dict):
            inner = _removal(value, main[key])
            if set(inner) == set(main[key]) and not any(isinstance(entry, dict) for entry in inner.values()):
                patch[key] = None
            elif inner:
                patch[key] = inner
        elif key in main and main[key] == value:
            patch[key] = None
    return patch


def _own_way(found: Kubelet) -> WriteFile | RemoveFile | None:
    """The environment file in which this set-up takes further flags, with --config-dir added to it.

    kubeadm: KUBELET_EXTRA_ARGS of /etc/default/kubelet or /etc/sysconfig/kubelet, whichever its unit reads.
    Others: the variable that carries --config. Raises HostprepError when that would change anything else.
    """
    place = _place_for_flags(found)
    if place is None:
        return None
    path, name = place
    texts = dict(found.environment_files)
    before = texts[path] or ""
    text = environment.append_word(before, name, f"--config-dir={ADDED_DIRECTORY}", found.environment.get(name, ""))
    files = [(file, text if file == path else content) for file, content in found.environment_files]
    argv = expand(found.exec_start, merged_environment(found.environment, files), found.unit)
    if sorted(argv) != sorted([*found.next_argv, f"--config-dir={ADDED_DIRECTORY}"]):
        raise HostprepError(
            Problem(
                found=f"{name} in the environment of {found.unit}, set in a way that would change with {path}",
                wanted="one place where the flag --config-dir can be added and nothing else changes",
                remedy=f"add --config-dir={ADDED_DIRECTORY} to the kubelet's flags by hand, and run again",
            )
        )
    return WriteFile(path, text, before, "let the kubelet read its drop-in directory")


def _place_for_flags(found: Kubelet) -> tuple[str, str] | None:
    """Path of an environment file, and the variable in it."""
    words = [word[1:] for word in found.exec_start if word.startswith("$")]
    assigned = [
        (path, name, value)
        for path, text in found.environment_files
        for name, value in environment.parse(text or "").items()
        if name in words
    ]
    if _EXTRA_ARGS in words:
        there = [path for path, name, _value in assigned if name == _EXTRA_ARGS]
        usual = [path for path, _text in found.environment_files if path in _EXTRA_FILES]
        if there or usual:
            return (there or usual)[-1], _EXTRA_ARGS
    carrying = [(path, name) for path, name, value in assigned if "--config=" in value]
    return carrying[-1] if carrying else None


def _rewriter(found: Kubelet, paths: list[str]) -> Rewriter | None:
    if found.distribution == "kubeadm" and "/var/lib/kubelet/config.yaml" in paths:
        return Rewriter(
            "kubeadm (upgrade node, from the ConfigMap kubelet-config)",
            "put the same keys into it: kubectl --namespace kube-system edit configmap kubelet-config",
        )
    if found.distribution == "kubespray" and {
        "/etc/kubernetes/kubelet.env",
        "/etc/kubernetes/kubelet-config.yaml",
    } & set(paths):
        return Rewriter(
            "kubespray",
            "set kubelet_fail_swap_on: false in its inventory, kubelet_swap_behavior and kubelet_config_extra_args "
            "for other keys, or kubelet_custom_flags: ['--config-dir=" + ADDED_DIRECTORY + "'] for all",
        )
    return None


def _overrides(
    settings: Config, path: str, after: Config, drop_ins: dict[str, Config], flags: dict[str, str]
) -> t.Iterator[Problem]:
    """after: what the kubelet would make of the change. A setting that is not in there has lost to a flag or a file."""
    by_flag = {key: flag for flag, (key, _convert) in _FLAGS.items() if flag in flags}
    for leaf, value in leaves(settings):
        name = ".".join(leaf)
        if get(after, leaf) == value:
            continue
        flag = by_flag.get(leaf[0])
        if flag:
            yield Problem(
                found=f"the flag --{flag}={flags[flag]}, which wins over every file",
                wanted=f"{name}: {show(value)}",
                remedy="take the flag out of the kubelet's unit or environment file",
            )
            continue
        # The file itself comes before every drop-in.
        later = [other for other in sorted(drop_ins) if leaf[0] in drop_ins[other] and other != path]
        winner = later[-1] if later else "the flag --feature-gates"
        yield Problem(
            found=f"{winner} sets {name} to {show(get(after, leaf))} and is read later than {path}",
            wanted=f"{name}: {show(value)}",
            remedy="take the key out there, or choose a higher order",
        )


def _no_file(found: Kubelet) -> Problem:
    remedies = {
        "k3s": "update to a release of k3s that reads agent/etc/kubelet.conf.d (2025 and newer)",
        "rke2": "update to a release of RKE2 that reads agent/etc/kubelet.conf.d (2025 and newer)",
    }
    return Problem(
        found=f"a kubelet without a configuration file: {' '.join(found.next_argv) or found.unit}",
        wanted="--config=FILE (or --config-dir from 1.30) on its command line",
        remedy=remedies.get(found.distribution, "give its unit --config=FILE and start it so"),
    )
