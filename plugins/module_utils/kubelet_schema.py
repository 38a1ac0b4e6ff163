# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of KubeletConfiguration kubelet.config.k8s.io/v1beta1 and the type of each, by release.

A kubelet does not start over a value of the wrong type. A key that it does not know, or one in the wrong case, it
passes over with one line in its log: here both are problems. The table follows config/v1beta1/types.go of
kubernetes/kubelet v0.28 to v0.36, in its order; the bounds of a single value follow
pkg/kubelet/apis/config/validation, cm and eviction of Kubernetes.
What ties several values together is in kubelet_rules.py.
"""

from __future__ import annotations

import difflib
import re
import typing as t
from fractions import Fraction
from posixpath import normpath

from ansible_collections.virt.hostprep.plugins.module_utils import cpulist
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Problem
from ansible_collections.virt.hostprep.plugins.module_utils.releases import NEWEST, OLDEST, Release, kubernetes

_NUMBER = r"([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})"
_QUANTITY = re.compile(rf"([+-]?){_NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{{1,3}})?", re.ASCII)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PERCENT = re.compile(rf"{_NUMBER}%", re.ASCII)
_DURATION_PART = re.compile(rf"{_NUMBER}(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII)
_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),
    "\u03bcs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_CPUS = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*", re.ASCII)

# strconv.ParseBool, by which the managers read their options.
TRUE = ("true", "True", "TRUE", "t", "T", "1")
_FALSE = ("false", "False", "FALSE", "f", "F", "0")


def quantity(value: str | int | float) -> Fraction:
    """A quantity of Kubernetes, exactly: Ki is 1024, k and M are decimal, m is a thousandth. ValueError otherwise."""
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a quantity")
    sign, number, suffix = match.groups()
    amount = Fraction(number)
    if suffix in _BINARY:
        amount *= 1024 ** _BINARY[suffix]
    elif suffix:
        amount *= Fraction(10) ** (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))
    return -amount if sign == "-" else amount


def quantity_text(amount: Fraction) -> str:
    """The way a person would write a quantity: 1124Mi, 2, 500m."""
    if amount.denominator != 1:
        return f"{amount * 1000}m" if (amount * 1000).denominator == 1 else str(float(amount))
    for suffix, power in reversed(list(_BINARY.items())):
        if amount and amount % 1024**power == 0:
            return f"{amount // 1024**power}{suffix}"
    return str(amount)


def percent(value: str) -> Fraction | None:
    """10 for `10%`; None for what is not a percentage."""
    match = _PERCENT.fullmatch(value)
    return Fraction(match.group(1)) if match else None


def duration(value: str) -> Fraction:
    """Seconds of a duration as Go writes it: 1h30m, 10s, 1.5s, 0. ValueError otherwise."""
    sign, rest = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    parts = _DURATION_PART.findall(rest)
    if rest != "0" and (not parts or "".join(number + unit for number, unit in parts) != rest):
        raise ValueError(f"{value!r} is not a duration")
    seconds = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    return -seconds if sign == "-" else seconds


def cpu_set(value: str) -> frozenset[int]:
    """CPUs of reservedSystemCPUs: `0-3,8`. The kubelet takes no blanks and no patterns. ValueError otherwise."""
    if value and not _CPUS.fullmatch(value):
        raise ValueError(f"{value!r} is not a list of CPUs")
    return frozenset(cpulist.parse_list(value))


# The types. Each takes the path of a value, the value, and the release.

_Check = t.Callable[[str, t.Any, Release], "list[Problem]"]
_Fields = t.Mapping[str, _Check]


def _is(valid: t.Callable[[t.Any], bool], wanted: str, remedy: str) -> _Check:
    def check(path: str, value: t.Any, _release: Release) -> list[Problem]:
        return [] if valid(value) else [Problem(found=f"{path}: {_show(value)}", wanted=wanted, remedy=remedy)]

    return check


def _is_int(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _int(low: int = -(1 << 31), high: int = (1 << 31) - 1) -> _Check:
    return _is(
        lambda value: _is_int(value) and low <= value <= high,
        f"a whole number from {low} to {high}",
        "write a number of that range, without quotes and without a unit",
    )


def _parses(reader: t.Callable[[t.Any], t.Any], types: tuple[type, ...] = (str,)) -> t.Callable[[t.Any], bool]:
    def valid(value: t.Any) -> bool:
        if not isinstance(value, types):
            return False
        try:
            reader(value)
        except ValueError:
            return False
        return True

    return valid


def _duration(low: str, high: str) -> _Check:
    def within(value: str) -> None:
        if not duration(low) <= duration(value) <= duration(high):
            raise ValueError(value)

    return _is(_parses(within), f"a duration from {low} to {high}, as text", "write a duration of that range")


def _reserved_amount(value: str) -> None:
    if quantity(value) < 0:
        raise ValueError(value)


def _threshold(value: str) -> None:
    """A hard or soft eviction threshold: up to 100%, or a quantity above zero."""
    part = percent(value)
    if (part > 100) if part is not None else (quantity(value) <= 0):
        raise ValueError(value)


def _reclaim(value: str) -> None:
    part = percent(value)
    if (part <= 0) if part is not None else (quantity(value) < 0):
        raise ValueError(value)


def _whole_percent(value: str) -> None:
    part = percent(value)
    if part is None or part > 100 or "." in value:
        raise ValueError(value)


_IN_QUOTES = 'write it as text, in quotes, like "500Mi", "2" or "500m"'

_BOOL = _is(lambda value: isinstance(value, bool), "true or false", "write true or false, without quotes")
_TEXT = _is(lambda value: isinstance(value, str), "text", "write it in quotes")
_DIRECTORY = _is(
    lambda value: isinstance(value, str) and value.isascii() and value.startswith("/") and normpath(value) == value,
    "an absolute path in ASCII without . and ..",
    'write it like "/var/log/pods"',
)
_DURATION = _is(_parses(duration), "a duration with its unit, as text", 'write it like "30s", "5m" or "1h30m"')
_QUANTITY_TEXT = _is(_parses(_reserved_amount), "a quantity of zero or more, as text", _IN_QUOTES)
_AMOUNT = _is(_parses(quantity, (str, int, float)), "a quantity", 'write it like "1Gi" or "1124Mi"')
_THRESHOLD = _is(
    _parses(_threshold), "a quantity above zero or a percentage, as text", 'write it like "100Mi" or "10%"'
)
_RECLAIM = _is(_parses(_reclaim), "a quantity or a percentage above zero, as text", 'write it like "500Mi" or "5%"')
_WHOLE_PERCENT = _is(_parses(_whole_percent), "a whole percentage up to 100%, as text", 'write it like "50%"')
_CPU_LIST = _is(_parses(cpu_set), "CPUs and ranges of CPUs with commas and no blanks", 'write it like "0-1,32-33"')
_BOOL_TEXT = _is(lambda value: value in TRUE + _FALSE, 'the text "true" or "false"', 'write it in quotes: "true"')
_NUMA_LIMIT = _is(
    lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9]{1,4}", value, re.ASCII)) and int(value) >= 8,
    "a number of 8 or more, as text",
    'write it in quotes, like "16"',
)
_FACTOR = _is(
    lambda value: (_is_int(value) or isinstance(value, float)) and 0 < value <= 1,
    "a number above 0, up to 1",
    "write it like 0.9, without quotes",
)
_IDS_PER_POD = _is(
    lambda value: _is_int(value) and 0 < value < 1 << 32 and value % (1 << 16) == 0,
    "a multiple of 65536 below 2^32",
    "write a multiple of 65536, without quotes",
)
_ANY_MAPPING = _is(lambda value: isinstance(value, dict), "a mapping", "write keys below it")


def _one_of(*names: str) -> _Check:
    return _one_by_release(lambda _release: names)


def _one_by_release(names: t.Callable[[Release], t.Iterable[str]]) -> _Check:
    def check(path: str, value: t.Any, release: Release) -> list[Problem]:
        known = tuple(names(release))
        if isinstance(value, str) and value in known:
            return []
        wanted = " or ".join(name or '""' for name in known)
        near = _nearest(value, known)
        return [
            Problem(
                found=f"{path}: {_show(value)}",
                wanted=f"{wanted}, which Kubernetes {release} takes",
                remedy=f"write {near}" if near else "choose one of these",
            )
        ]

    return check


def _list(item: _Check) -> _Check:
    def check(path: str, value: t.Any, release: Release) -> list[Problem]:
        if not isinstance(value, list):
            return [Problem(f"{path}: {_show(value)}", "a list", "write it as a list, even for a single value")]
        return [problem for i, each in enumerate(value) for problem in item(f"{path}[{i}]", each, release)]

    return check


def _map(item: _Check) -> _Check:
    """A mapping with keys of the operator's choice."""

    def check(path: str, value: t.Any, release: Release) -> list[Problem]:
        if not isinstance(value, dict):
            return _ANY_MAPPING(path, value, release)
        found: list[Problem] = []
        for key, each in value.items():
            found += _TEXT(f"the key of {path}", key, release)
            found += [] if each is None else item(f"{path}.{key}", each, release)
        return found

    return check


def _struct(fields: _Fields) -> _Check:
    return _struct_by_release(lambda _release: fields)


def _struct_by_release(fields: t.Callable[[Release], _Fields]) -> _Check:
    """A mapping with known keys. None is taken for every one: in a merge patch it removes the key."""

    def check(path: str, value: t.Any, release: Release) -> list[Problem]:
        if not isinstance(value, dict):
            return _ANY_MAPPING(path, value, release)
        known = fields(release)
        found: list[Problem] = []
        for key, each in value.items():
            where = f"{path}.{key}" if path else str(key)
            if key not in known:
                found.append(_unknown(where, key, fields, release))
            elif each is not None:
                found += known[key](where, each, release)
        return found

    return check


def _unknown(where: str, key: t.Any, fields: t.Callable[[Release], _Fields], release: Release) -> Problem:
    wanted = f"a key that the kubelet of Kubernetes {release} knows"
    for minor in range(release.minor + 1, NEWEST.minor + 1):
        if key in fields(Release(1, minor)):
            return Problem(
                found=f"the key '{where}', which came with Kubernetes 1.{minor}",
                wanted=wanted,
                remedy=f"leave it out for this node, or upgrade the node to 1.{minor} first",
            )
    near = _nearest(key, fields(release))
    if near:
        remedy = f"write {near}; upper and lower case count"
    elif release > NEWEST:
        remedy = f"leave it out: the table of this collection ends at {NEWEST}, a newer key needs a newer collection"
    else:
        remedy = "leave it out, or correct its name"
    return Problem(found=f"the key '{where}'", wanted=wanted, remedy=remedy)


def _nearest(name: t.Any, known: t.Iterable[str]) -> str | None:
    by_case = {each.lower(): each for each in known if each}
    matches = difflib.get_close_matches(str(name).lower(), by_case, n=1, cutoff=0.8)
    return by_case[matches[0]] if matches else None


def _show(value: t.Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'the text "{value}"'
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "nothing"


# The table.

_INT = _int()
_COUNT = _int(0)
_PORT = _int(0, 65535)
_PERCENT_NUMBER = _int(0, 100)
_INT64 = _int(-(1 << 63), (1 << 63) - 1)
_COUNT64 = _int(0, (1 << 63) - 1)
_TEXTS = _list(_TEXT)

_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
    "pid.available",
)


def _per_signal(check: _Check) -> _Check:
    return _struct_by_release(lambda release: {name: check for name in _SIGNALS if _since(name) <= release})


_RESERVED = _struct(dict.fromkeys(("cpu", "memory", "ephemeral-storage", "pid"), _QUANTITY_TEXT))

_CPU_OPTIONS = _struct_by_release(lambda release: dict.fromkeys(kubernetes(release).cpu_manager_options, _BOOL_TEXT))
_TOPOLOGY_OPTIONS = _struct_by_release(
    lambda release: {
        name: _NUMA_LIMIT if name == "max-allowable-numa-nodes" else _BOOL_TEXT
        for name in kubernetes(release).topology_manager_options
    }
)

# What is not named here was there before the oldest release; nothing was removed since.
_SINCE = {
    "containerfs.available": 29,
    "containerfs.inodesFree": 29,
    "imageMaximumGCAge": 29,
    "podLogsDir": 30,
    "containerLogMaxWorkers": 30,
    "containerLogMonitorInterval": 30,
    "failCgroupV1": 31,
    "singleProcessOOMKill": 32,
    "crashLoopBackOff": 32,
    "imagePullCredentialsVerificationPolicy": 33,
    "preloadedImagesVerificationAllowlist": 33,
    "mergeDefaultEvictionSettings": 33,
    "userNamespaces": 33,
    "tlsCurvePreferences": 36,
    "memoryReservationPolicy": 36,
}


def _since(name: str) -> Release:
    return Release(1, _SINCE.get(name, OLDEST.minor))


_FIELDS: _Fields = {
    "enableServer": _BOOL,
    "staticPodPath": _TEXT,
    "podLogsDir": _DIRECTORY,
    "syncFrequency": _DURATION,
    "fileCheckFrequency": _DURATION,
    "httpCheckFrequency": _DURATION,
    "staticPodURL": _TEXT,
    "staticPodURLHeader": _map(_TEXTS),
    "address": _TEXT,
    "port": _PORT,
    "readOnlyPort": _PORT,
    "tlsCertFile": _TEXT,
    "tlsPrivateKeyFile": _TEXT,
    "tlsCipherSuites": _TEXTS,
    "tlsCurvePreferences": _list(_INT),
    "tlsMinVersion": _one_of("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"),
    "rotateCertificates": _BOOL,
    "serverTLSBootstrap": _BOOL,
    "authentication": _struct(
        {
            "x509": _struct({"clientCAFile": _TEXT}),
            "webhook": _struct({"enabled": _BOOL, "cacheTTL": _DURATION}),
            "anonymous": _struct({"enabled": _BOOL}),
        }
    ),
    "authorization": _struct(
        {
            "mode": _one_of("", "AlwaysAllow", "Webhook"),
            "webhook": _struct({"cacheAuthorizedTTL": _DURATION, "cacheUnauthorizedTTL": _DURATION}),
        }
    ),
    "registryPullQPS": _COUNT,
    "registryBurst": _COUNT,
    "imagePullCredentialsVerificationPolicy": _one_of(
        "", "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"
    ),
    "preloadedImagesVerificationAllowlist": _TEXTS,
    "eventRecordQPS": _COUNT,
    "eventBurst": _COUNT,
    "enableDebuggingHandlers": _BOOL,
    "enableContentionProfiling": _BOOL,
    "healthzPort": _PORT,
    "healthzBindAddress": _TEXT,
    "oomScoreAdj": _int(-1000, 1000),
    "clusterDomain": _TEXT,
    "clusterDNS": _TEXTS,
    "streamingConnectionIdleTimeout": _DURATION,
    "nodeStatusUpdateFrequency": _DURATION,
    "nodeStatusReportFrequency": _DURATION,
    "nodeLeaseDurationSeconds": _COUNT,
    "imageMinimumGCAge": _DURATION,
    "imageMaximumGCAge": _DURATION,
    "imageGCHighThresholdPercent": _PERCENT_NUMBER,
    "imageGCLowThresholdPercent": _PERCENT_NUMBER,
    "volumeStatsAggPeriod": _DURATION,
    "kubeletCgroups": _TEXT,
    "systemCgroups": _TEXT,
    "cgroupRoot": _TEXT,
    "cgroupsPerQOS": _BOOL,
    "cgroupDriver": _one_of("", "cgroupfs", "systemd"),
    "cpuManagerPolicy": _one_of("", "none", "static"),
    "singleProcessOOMKill": _BOOL,
    "cpuManagerPolicyOptions": _CPU_OPTIONS,
    "cpuManagerReconcilePeriod": _DURATION,
    "memoryManagerPolicy": _one_of("", "None", "Static"),
    "topologyManagerPolicy": _one_of("", "none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": _one_of("", "container", "pod"),
    "topologyManagerPolicyOptions": _TOPOLOGY_OPTIONS,
    "qosReserved": _struct({"memory": _WHOLE_PERCENT}),
    "runtimeRequestTimeout": _DURATION,
    "hairpinMode": _one_of("", "none", "hairpin-veth", "promiscuous-bridge"),
    "maxPods": _COUNT,
    "podCIDR": _TEXT,
    "podPidsLimit": _INT64,
    "resolvConf": _TEXT,
    "runOnce": _BOOL,
    "cpuCFSQuota": _BOOL,
    "cpuCFSQuotaPeriod": _duration("1ms", "1s"),
    "nodeStatusMaxImages": _int(-1),
    "maxOpenFiles": _COUNT64,
    "contentType": _TEXT,
    "kubeAPIQPS": _COUNT,
    "kubeAPIBurst": _COUNT,
    "serializeImagePulls": _BOOL,
    "maxParallelImagePulls": _int(1),
    "evictionHard": _per_signal(_THRESHOLD),
    "evictionSoft": _per_signal(_THRESHOLD),
    "evictionSoftGracePeriod": _per_signal(_DURATION),
    "evictionPressureTransitionPeriod": _DURATION,
    "evictionMaxPodGracePeriod": _INT,
    "evictionMinimumReclaim": _per_signal(_RECLAIM),
    "mergeDefaultEvictionSettings": _BOOL,
    "podsPerCore": _COUNT,
    "enableControllerAttachDetach": _BOOL,
    "protectKernelDefaults": _BOOL,
    "makeIPTablesUtilChains": _BOOL,
    "iptablesMasqueradeBit": _int(0, 31),
    "iptablesDropBit": _int(0, 31),
    "featureGates": _map(_BOOL),
    "failSwapOn": _BOOL,
    "memorySwap": _struct({"swapBehavior": _one_by_release(lambda release: ("", *kubernetes(release).swap_behaviors))}),
    "containerLogMaxSize": _QUANTITY_TEXT,
    "containerLogMaxFiles": _int(2),
    "containerLogMaxWorkers": _int(1),
    "containerLogMonitorInterval": _duration("3s", "24h"),
    "configMapAndSecretChangeDetectionStrategy": _one_of("", "Get", "Cache", "Watch"),
    "systemReserved": _RESERVED,
    "kubeReserved": _RESERVED,
    "reservedSystemCPUs": _CPU_LIST,
    "showHiddenMetricsForVersion": _TEXT,
    "systemReservedCgroup": _TEXT,
    "kubeReservedCgroup": _TEXT,
    "enforceNodeAllocatable": _list(_one_by_release(lambda release: kubernetes(release).enforcements)),
    "allowedUnsafeSysctls": _TEXTS,
    "volumePluginDir": _TEXT,
    "providerID": _TEXT,
    "kernelMemcgNotification": _BOOL,
    "logging": _ANY_MAPPING,
    "enableSystemLogHandler": _BOOL,
    "enableSystemLogQuery": _BOOL,
    "shutdownGracePeriod": _DURATION,
    "shutdownGracePeriodCriticalPods": _DURATION,
    "shutdownGracePeriodByPodPriority": _list(_struct({"priority": _INT, "shutdownGracePeriodSeconds": _COUNT64})),
    "crashLoopBackOff": _struct({"maxContainerRestartPeriod": _duration("1s", "300s")}),
    "reservedMemory": _list(_struct({"numaNode": _COUNT, "limits": _map(_AMOUNT)})),
    "enableProfilingHandler": _BOOL,
    "enableDebugFlagsHandler": _BOOL,
    "seccompDefault": _BOOL,
    "memoryThrottlingFactor": _FACTOR,
    "memoryReservationPolicy": _one_of("", "None", "TieredReservation"),
    "registerWithTaints": _list(
        _struct({"key": _TEXT, "value": _TEXT, "effect": _one_of("NoSchedule", "PreferNoSchedule", "NoExecute")})
    ),
    "registerNode": _BOOL,
    "tracing": _ANY_MAPPING,
    "localStorageCapacityIsolation": _BOOL,
    "containerRuntimeEndpoint": _TEXT,
    "imageServiceEndpoint": _TEXT,
    "failCgroupV1": _BOOL,
    "userNamespaces": _struct({"idsPerPod": _IDS_PER_POD}),
}

_CONFIGURATION = _struct_by_release(
    lambda release: {name: check for name, check in _FIELDS.items() if _since(name) <= release}
)


def problems(settings: dict[str, t.Any], release: Release) -> list[Problem]:
    """What a kubelet of that release would not take among settings that are to be merged into its configuration.

    HostprepError for a release older than the table.
    """
    kubernetes(release)
    header = [
        Problem(
            found=f"the key '{key}' among the settings",
            wanted="fields of KubeletConfiguration only",
            remedy="leave it out; apiVersion and kind are written without being asked for",
        )
        for key in ("apiVersion", "kind")
        if key in settings
    ]
    fields = {key: value for key, value in settings.items() if key not in ("apiVersion", "kind")}
    return header + _CONFIGURATION("", fields, release)
