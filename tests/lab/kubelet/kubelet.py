"""The kubelet stand-in: everything of a kubelet that shows on a node and in the API when it is configured.

It runs no pods. What it does, and after which Kubernetes sources, is told in README.md beside this file. It runs in the
guest on Python 3.9 with the standard library and PyYAML. It is one file because it is copied there.

Modules that are slow to load under emulation (HTTP, TLS) are imported only where they are used, so that a kubelet
which refuses its configuration says so at once.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from functools import lru_cache
from typing import Any, Iterator, NamedTuple  # noqa: UP035 - what `typing` itself has loads faster

import yaml

Config = dict[str, Any]  # a KubeletConfiguration as decoded: durations in Go's own spelling, quantities as text


class Failed(Exception):
    """The kubelet cannot start; the text is the real kubelet's."""


# --- settings of the stand-in itself ------------------------------------------------------------------------------

_SETTINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings.json")


def setting(name: str, default: str) -> str:
    """What STANDIN_NAME says, else settings.json (written by install), else the default.

    version: of Kubernetes; advertise: ADDRESS:PORT told to the API; proc, sys: where /proc and /sys are.
    """
    if f"STANDIN_{name.upper()}" in os.environ:
        return os.environ[f"STANDIN_{name.upper()}"]
    return str(_settings().get(name, default))


@lru_cache(None)
def _settings() -> dict[str, Any]:
    return dict(json.loads(read(_SETTINGS))) if os.path.exists(_SETTINGS) else {}


def read(path: str) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8") as source:
        return source.read()


def write(path: str, text: str) -> None:
    """Replace a file that only root may read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as target:
        target.write(text)


def version() -> str:
    """The release that is stood in for: v1.34.1, v1.34.1+k3s1."""
    return setting("version", "v1.34.1")


@lru_cache(None)
def minor() -> int:
    """The minor number of the release, all that decides what a kubelet can do."""
    match = re.match(r"v1\.(\d+)\.", version())
    if match is None:
        raise Failed(f"stand-in: version {version()!r} is none; wanted one such as v1.34.1")
    return int(match[1])


# --- log ------------------------------------------------------------------------------------------------------------


def quoted(value: object) -> str:
    """A value as klog shows it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, Exception)) else str(value)


def log(severity: str, where: str, message: str, **values: object) -> None:
    """One line as klog writes it, to stderr. severity: I or E; where: FILE.go:LINE of the real kubelet."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    words = "".join(
        f" {key}={quoted(str(value) if isinstance(value, Exception) else value)}" for key, value in values.items()
    )
    sys.stderr.write(f"{severity}{stamp}.{int(now % 1 * 1e6):06d} {os.getpid():7d} {where}] {quoted(message)}{words}\n")
    sys.stderr.flush()


# --- the fields of KubeletConfiguration, kubelet.config.k8s.io/v1beta1 ----------------------------------------------

# NAME:TYPE[@MINOR that brought it], the types in Go's words; * is a pointer, which JSON shows also when it is zero.
_FIELDS = {
    "KubeletConfiguration": """
        kind:string apiVersion:string enableServer:*bool staticPodPath:string podLogsDir:string@30
        syncFrequency:duration fileCheckFrequency:duration httpCheckFrequency:duration staticPodURL:string
        staticPodURLHeader:map[string][]string address:string port:int32 readOnlyPort:int32 tlsCertFile:string
        tlsPrivateKeyFile:string tlsCipherSuites:[]string tlsCurvePreferences:[]int32@36 tlsMinVersion:string
        rotateCertificates:bool serverTLSBootstrap:bool authentication:KubeletAuthentication
        authorization:KubeletAuthorization registryPullQPS:*int32 registryBurst:int32
        imagePullCredentialsVerificationPolicy:string@33 preloadedImagesVerificationAllowlist:[]string@33
        eventRecordQPS:*int32 eventBurst:int32 enableDebuggingHandlers:*bool enableContentionProfiling:bool
        healthzPort:*int32 healthzBindAddress:string oomScoreAdj:*int32 clusterDomain:string clusterDNS:[]string
        streamingConnectionIdleTimeout:duration nodeStatusUpdateFrequency:duration
        nodeStatusReportFrequency:duration nodeLeaseDurationSeconds:int32 imageMinimumGCAge:duration
        imageMaximumGCAge:duration@29 imageGCHighThresholdPercent:*int32 imageGCLowThresholdPercent:*int32
        volumeStatsAggPeriod:duration kubeletCgroups:string systemCgroups:string cgroupRoot:string
        cgroupsPerQOS:*bool cgroupDriver:string cpuManagerPolicy:string singleProcessOOMKill:*bool@32
        cpuManagerPolicyOptions:map[string]string cpuManagerReconcilePeriod:duration memoryManagerPolicy:string
        topologyManagerPolicy:string topologyManagerScope:string topologyManagerPolicyOptions:map[string]string
        qosReserved:map[string]string runtimeRequestTimeout:duration hairpinMode:string maxPods:int32
        podCIDR:string podPidsLimit:*int64 resolvConf:*string runOnce:bool cpuCFSQuota:*bool
        cpuCFSQuotaPeriod:*duration nodeStatusMaxImages:*int32 maxOpenFiles:int64 contentType:string
        kubeAPIQPS:*int32 kubeAPIBurst:int32 serializeImagePulls:*bool maxParallelImagePulls:*int32
        evictionHard:map[string]string evictionSoft:map[string]string evictionSoftGracePeriod:map[string]string
        evictionPressureTransitionPeriod:duration evictionMaxPodGracePeriod:int32
        evictionMinimumReclaim:map[string]string mergeDefaultEvictionSettings:*bool@33 podsPerCore:int32
        enableControllerAttachDetach:*bool protectKernelDefaults:bool makeIPTablesUtilChains:*bool
        iptablesMasqueradeBit:*int32 iptablesDropBit:*int32 featureGates:map[string]bool failSwapOn:*bool
        memorySwap:MemorySwapConfiguration containerLogMaxSize:string containerLogMaxFiles:*int32
        containerLogMaxWorkers:*int32@30 containerLogMonitorInterval:*duration@30
        configMapAndSecretChangeDetectionStrategy:string systemReserved:map[string]string
        kubeReserved:map[string]string reservedSystemCPUs:string showHiddenMetricsForVersion:string
        systemReservedCgroup:string kubeReservedCgroup:string enforceNodeAllocatable:[]string
        allowedUnsafeSysctls:[]string volumePluginDir:string providerID:string kernelMemcgNotification:bool
        logging:any enableSystemLogHandler:*bool enableSystemLogQuery:*bool shutdownGracePeriod:duration
        shutdownGracePeriodCriticalPods:duration
        shutdownGracePeriodByPodPriority:[]ShutdownGracePeriodByPodPriority
        crashLoopBackOff:CrashLoopBackOffConfig@32 reservedMemory:[]MemoryReservation
        enableProfilingHandler:*bool enableDebugFlagsHandler:*bool seccompDefault:*bool
        memoryThrottlingFactor:*float64 memoryReservationPolicy:string@36 registerWithTaints:any
        registerNode:*bool tracing:any localStorageCapacityIsolation:*bool containerRuntimeEndpoint:string
        imageServiceEndpoint:string failCgroupV1:*bool@31 userNamespaces:*UserNamespaces@33""",
    "KubeletAuthentication": "x509:KubeletX509Authentication webhook:KubeletWebhookAuthentication"
    " anonymous:KubeletAnonymousAuthentication",
    "KubeletX509Authentication": "clientCAFile:string",
    "KubeletWebhookAuthentication": "enabled:*bool cacheTTL:duration",
    "KubeletAnonymousAuthentication": "enabled:*bool",
    "KubeletAuthorization": "mode:string webhook:KubeletWebhookAuthorization",
    "KubeletWebhookAuthorization": "cacheAuthorizedTTL:duration cacheUnauthorizedTTL:duration",
    "MemorySwapConfiguration": "swapBehavior:string",
    "MemoryReservation": "numaNode:int32 limits:map[string]quantity",
    "ShutdownGracePeriodByPodPriority": "priority:int32 shutdownGracePeriodSeconds:int64",
    "CrashLoopBackOffConfig": "maxContainerRestartPeriod:*duration",
    "UserNamespaces": "idsPerPod:*int64",
}
_SCALARS = {"bool": bool, "int32": int, "int64": int, "float64": (int, float), "string": str}

# fmt: off
_DEFAULTS: Config = {
    "enableServer": True, "syncFrequency": "1m0s", "fileCheckFrequency": "20s", "httpCheckFrequency": "20s",
    "address": "0.0.0.0", "port": 10250, "registryPullQPS": 5, "registryBurst": 10, "eventRecordQPS": 50,
    "eventBurst": 100, "enableDebuggingHandlers": True, "healthzPort": 10248, "healthzBindAddress": "127.0.0.1",
    "oomScoreAdj": -999, "streamingConnectionIdleTimeout": "4h0m0s", "nodeStatusReportFrequency": "5m0s",
    "nodeStatusUpdateFrequency": "10s", "nodeLeaseDurationSeconds": 40, "imageMinimumGCAge": "2m0s",
    "imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80, "volumeStatsAggPeriod": "1m0s",
    "cgroupsPerQOS": True, "cgroupDriver": "cgroupfs", "cpuManagerPolicy": "none", "cpuManagerReconcilePeriod": "10s",
    "memoryManagerPolicy": "None", "topologyManagerPolicy": "none", "topologyManagerScope": "container",
    "runtimeRequestTimeout": "2m0s", "hairpinMode": "promiscuous-bridge", "maxPods": 110, "podPidsLimit": -1,
    "resolvConf": "/etc/resolv.conf", "cpuCFSQuota": True, "cpuCFSQuotaPeriod": "100ms", "nodeStatusMaxImages": 50,
    "maxOpenFiles": 1000000, "contentType": "application/vnd.kubernetes.protobuf", "kubeAPIQPS": 50,
    "kubeAPIBurst": 100, "serializeImagePulls": True, "evictionPressureTransitionPeriod": "5m0s",
    "mergeDefaultEvictionSettings": False, "enableControllerAttachDetach": True, "makeIPTablesUtilChains": True,
    "iptablesMasqueradeBit": 14, "iptablesDropBit": 15, "failSwapOn": True, "containerLogMaxSize": "10Mi",
    "containerLogMaxFiles": 5, "containerLogMaxWorkers": 1, "containerLogMonitorInterval": "10s",
    "configMapAndSecretChangeDetectionStrategy": "Watch", "enforceNodeAllocatable": ["pods"],
    "volumePluginDir": "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/", "enableSystemLogHandler": True,
    "enableProfilingHandler": True, "enableDebugFlagsHandler": True, "seccompDefault": False, "failCgroupV1": False,
    "memoryThrottlingFactor": 0.9, "memoryReservationPolicy": "None", "registerNode": True,
    "localStorageCapacityIsolation": True, "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "podLogsDir": "/var/log/pods",
    "authentication": {"webhook": {"enabled": True, "cacheTTL": "2m0s"}, "anonymous": {"enabled": False}},
    "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"}},
}
# fmt: on
_EVICTION_HARD = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}


@lru_cache(None)
def fields(struct: str) -> dict[str, str]:
    """The fields that this release knows of a Go struct: name → type."""
    known = (re.fullmatch(r"(\w+):([^@]+)(?:@(\d+))?", word) for word in _FIELDS[struct].split())
    return {match[1]: match[2] for match in known if match and int(match[3] or 0) <= minor()}


class Decoder:
    """Turns JSON data into the settings that the Go struct would hold; raises Failed for a value of a wrong type.

    lenient: as encoding/json matches names: whatever their case, in the order of their bytes, and what is unknown is
    dropped without a word. Else names must be exact, and `unknown` lists the others.
    """

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient
        self.unknown: list[str] = []

    def struct(self, data: dict[str, Any], struct: str = "KubeletConfiguration", path: str = "") -> Config:
        """The fields of one Go struct."""
        known = fields(struct)
        folded = {name.lower(): name for name in known}
        result: Config = {}
        for key in sorted(data) if self.lenient else data:
            name = folded.get(key.lower()) if self.lenient else key
            if name is None or name not in known:
                self.unknown.append(f'unknown field "{path}{key}"')
            elif data[key] is not None:
                value = self._value(data[key], known[name].lstrip("*"), struct, path + name)
                both = isinstance(value, dict) and isinstance(result.get(name), dict)
                result[name] = {**result[name], **value} if both else value
        return result

    def _value(self, value: Any, kind: str, struct: str, path: str) -> Any:
        if kind == "any":
            return value
        if kind.startswith("[]"):
            self._require(value, list, kind, struct, path)
            return [self._value(item, kind[2:], struct, path) for item in value]
        if kind.startswith("map[string]"):
            self._require(value, dict, kind, struct, path)
            return {key: self._value(item, kind[len("map[string]") :], struct, path) for key, item in value.items()}
        if kind in _FIELDS:
            self._require(value, dict, f"v1beta1.{kind}", struct, path)
            return self.struct(value, kind, f"{path}.")
        if kind == "duration":
            if not isinstance(value, str):
                raise Failed(f"json: cannot unmarshal {_json_kind(value)} into Go value of type string")
            return go_duration(nanoseconds(value))
        if kind == "quantity":
            return str(value)
        self._require(value, _SCALARS[kind], kind, struct, path)
        return value

    def _require(self, value: Any, wanted: Any, kind: str, struct: str, path: str) -> None:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            found = _json_kind(value)
            if isinstance(value, float) and wanted is int:
                found = f"number {value}"
            raise Failed(f"json: cannot unmarshal {found} into Go struct field {struct}.{path} of type {kind}")


def _json_kind(value: Any) -> str:
    kinds: list[tuple[Any, str]] = [(bool, "bool"), ((int, float), "number"), (str, "string"), (list, "array")]
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def encode(config: Config, struct: str = "KubeletConfiguration") -> Config:
    """The settings as Go writes them as JSON: what is zero and no pointer is left out."""
    result: Config = {}
    for name, kind in fields(struct).items():
        value = config.get(name)
        if kind in _FIELDS:
            result[name] = encode(value or {}, kind)
        elif kind == "duration":
            result[name] = value or "0s"
        elif value is not None and (kind.startswith("*") or value or name == "containerRuntimeEndpoint"):
            result[name] = value
    return result


def set_defaults(config: Config, defaults: dict[str, Any] | None = None, struct: str = "KubeletConfiguration") -> None:
    """Fill in what is not set. For a field that is no pointer Go cannot tell zero from not set."""
    defaults = _DEFAULTS if defaults is None else defaults
    for name, kind in fields(struct).items():
        if isinstance(defaults.get(name), dict):
            set_defaults(config.setdefault(name, {}), defaults[name], kind)
        elif name in defaults and (config.get(name) is None or (kind[0] not in "*[" and config[name] in ("", 0, "0s"))):
            config[name] = defaults[name]
    if struct == "KubeletConfiguration" and minor() >= 35 and "failCgroupV1" not in config:
        config["failCgroupV1"] = True


_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}


def nanoseconds(text: str) -> int:
    """A Go duration such as 1m30s or 100ms; raises Failed as time.ParseDuration does."""
    if text in ("0", "+0", "-0"):
        return 0
    match = re.fullmatch(r"([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|h|m|s))+)", text)
    if match is None:
        lacks_unit = re.fullmatch(r"[-+]?\d+\.?\d*", text)
        raise Failed(f"time: {'missing unit in' if lacks_unit else 'invalid'} duration {quoted(text)}")
    parts = re.findall(r"([\d.]+)(ns|us|µs|ms|h|m|s)", match[2])
    total = sum(round(float(number) * _UNITS[unit]) for number, unit in parts)
    return -total if match[1] == "-" else total


def go_duration(value: int) -> str:
    """Nanoseconds in Go's own spelling: 0s, 100ms, 1m0s, 4h0m0s."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    if 0 < value < 10**9:
        unit = next(unit for unit in ("ms", "µs", "ns") if value >= _UNITS[unit])
        return f"{sign}{_decimal(value, _UNITS[unit])}{unit}"
    minutes, rest = divmod(value, _UNITS["m"])
    text = f"{_decimal(rest, 10**9)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text


def _decimal(value: int, unit: int) -> str:
    return f"{value / unit:.9f}".rstrip("0").rstrip(".")


# --- reading the configuration --------------------------------------------------------------------------------------


def parse_yaml(text: str) -> tuple[Any, list[str]]:
    """The first document, and the complaints about keys that stand twice (the last one wins). JSON is YAML too."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_node() if loader.check_node() else None
        repeated = list(_repeated(node)) if node is not None else []
        data = loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise Failed(f"yaml: {line}{getattr(error, 'problem', error)}") from error
    return data, ["yaml: unmarshal errors:\n" + "\n".join(repeated)] if repeated else []


def _repeated(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                yield f'  line {key.start_mark.line + 1}: key "{key.value}" already set in map'
            seen.add(key.value)
            yield from _repeated(value)


def _read_document(path: str, what: str) -> tuple[dict[str, Any], list[str]]:
    try:
        text = read(path)
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise Failed(f'failed to read {what} "{path}", error: open {path}: {reason}') from error
    if not text:
        raise Failed(f'kubelet config file "{path}" was empty')
    data, repeated = parse_yaml(text)
    if not isinstance(data, dict):
        raise Failed(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {_json_kind(data)} into Go value"
        )
    if not data.get("kind"):
        raise Failed(f"Object 'Kind' is missing in {json.dumps(json.dumps(data))}")
    return data, repeated


def load_file(path: str) -> Config:
    """The file that --config names. What only strict decoding refuses is a line in the log, and is ignored."""
    try:
        data, repeated = _read_document(path, "kubelet config file")
        kind = (data.get("apiVersion"), data["kind"])
        if not kind[0]:
            raise Failed(f"failed to decode: Object 'apiVersion' is missing in {json.dumps(json.dumps(data))}")
        if kind != ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"):
            raise Failed(f'failed to decode: no kind "{kind[1]}" is registered for version "{kind[0]}" in scheme')
        decoder = Decoder(lenient=False)
        try:
            config = decoder.struct(data)
        except Failed as error:
            raise Failed(f"failed to decode: {error}") from error
    except Failed as error:
        raise Failed(
            f"failed to load kubelet config file, path: {path}, error: "
            f"failed to load Kubelet config file {path}, error {error}"
        ) from error
    if repeated or decoder.unknown:
        problems = ", ".join([*repeated, *decoder.unknown])
        log(
            "I",
            "codec.go:104",
            "Using lenient decoding as strict decoding failed",
            err=f"strict decoding error: {problems}",
        )
    if "evictionHard" not in config:
        config["evictionHard"] = dict(_EVICTION_HARD)
    elif config.get("mergeDefaultEvictionSettings"):
        config["evictionHard"] = {**_EVICTION_HARD, **config["evictionHard"]}
    set_defaults(config)
    return config


def merge_patch(target: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def drop_ins(directory: str) -> Iterator[str]:
    """The files that count, in the order in which Go's WalkDir meets them."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if os.path.isdir(path) and not os.path.islink(path):
            yield from drop_ins(path)
        elif name.endswith(".conf"):
            yield path


def merge_directory(config: Config, directory: str) -> Config:
    """The configuration with the drop-ins of --config-dir merged in. Here a key that stands twice is an error."""
    if minor() < 30 and "KUBELET_CONFIG_DROPIN_DIR_ALPHA" not in os.environ:
        raise Failed(
            f"flag {directory} specified but environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA not set, "
            "cannot start kubelet"
        )
    try:
        merged = encode(config)
        for path in _walk(directory):
            merged = merge_patch(merged, _load_drop_in(path, directory))
        try:
            config = Decoder(lenient=True).struct(merged)
        except Failed as error:
            raise Failed(f"failed to unmarshal merged JSON into kubelet configuration: {error}") from error
    except Failed as error:
        raise Failed(f"failed to merge kubelet configs: {error}") from error
    set_defaults(config)
    return config


def _walk(directory: str) -> list[str]:
    try:
        return list(drop_ins(directory))
    except OSError as error:
        reason = f"lstat {error.filename}: {(error.strerror or '').lower()}"
        raise Failed(f'failed to walk through kubelet dropin directory "{directory}": {reason}') from error


def _load_drop_in(path: str, directory: str) -> dict[str, Any]:
    problem = (
        f'failed to walk through kubelet dropin directory "{directory}": '
        f"failed to load kubelet dropin file, path: {path}"
    )
    try:
        data, repeated = _read_document(path, "drop-in kubelet config file")
    except Failed as error:
        raise Failed(f"{problem}, error: {error}") from error
    if repeated:
        raise Failed(f"{problem}, error: strict decoding error: {', '.join(repeated)}")
    kind = (data.get("apiVersion") or "", data["kind"])
    if kind != ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration") and minor() >= 32:
        raise Failed(f"{problem}, unknown apiVersion/kind: {kind[0]}, Kind={kind[1]}")
    return data


# --- flags ----------------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Flags of KubeletConfiguration whose name does not follow from the field: flag → path of the field.
_RENAMED = {
    "anonymous-auth": "authentication.anonymous.enabled",
    "authentication-token-webhook": "authentication.webhook.enabled",
    "authentication-token-webhook-cache-ttl": "authentication.webhook.cacheTTL",
    "authorization-mode": "authorization.mode",
    "authorization-webhook-cache-authorized-ttl": "authorization.webhook.cacheAuthorizedTTL",
    "authorization-webhook-cache-unauthorized-ttl": "authorization.webhook.cacheUnauthorizedTTL",
    "cgroups-per-qos": "cgroupsPerQOS",
    "client-ca-file": "authentication.x509.clientCAFile",
    "cluster-dns": "clusterDNS",
    "contention-profiling": "enableContentionProfiling",
    "cpu-cfs-quota": "cpuCFSQuota",
    "cpu-cfs-quota-period": "cpuCFSQuotaPeriod",
    "event-qps": "eventRecordQPS",
    "fail-cgroupv1": "failCgroupV1",
    "http-check-frequency": "httpCheckFrequency",
    "image-gc-high-threshold": "imageGCHighThresholdPercent",
    "image-gc-low-threshold": "imageGCLowThresholdPercent",
    "kube-api-content-type": "contentType",
    "kube-api-qps": "kubeAPIQPS",
    "make-iptables-util-chains": "makeIPTablesUtilChains",
    "manifest-url": "staticPodURL",
    "manifest-url-header": "staticPodURLHeader",
    "minimum-image-ttl-duration": "imageMinimumGCAge",
    "pod-cidr": "podCIDR",
    "pod-manifest-path": "staticPodPath",
    "pod-max-pids": "podPidsLimit",
    "provider-id": "providerID",
    "registry-qps": "registryPullQPS",
    "reserved-cpus": "reservedSystemCPUs",
    "rotate-server-certificates": "serverTLSBootstrap",
    "runonce": "runOnce",
}
# Fields that have no flag.
_NO_FLAG = _words(
    """
    kind api-version authentication authorization memory-swap logging tracing static-pod-path
    max-parallel-image-pulls node-lease-duration-seconds node-status-report-frequency
    merge-default-eviction-settings shutdown-grace-period shutdown-grace-period-critical-pods
    shutdown-grace-period-by-pod-priority user-namespaces crash-loop-back-off enable-system-log-handler
    enable-system-log-query enable-profiling-handler enable-debug-flags-handler memory-throttling-factor
    memory-reservation-policy container-log-max-workers container-log-monitor-interval pod-logs-dir
    register-with-taints iptables-masquerade-bit iptables-drop-bit image-maximum-gc-age
    single-process-oom-kill preloaded-images-verification-allowlist
    config-map-and-secret-change-detection-strategy image-pull-credentials-verification-policy
    tls-curve-preferences
    """
)
# The kubelet's flags that are no settings: those that take a value, and those that need none.
_VALUE_FLAGS = _words(
    """
    config config-dir kubeconfig bootstrap-kubeconfig hostname-override node-ip cert-dir cloud-provider
    root-dir node-labels lock-file minimum-container-ttl-duration maximum-dead-containers-per-container
    maximum-dead-containers experimental-mounter-path runtime-cgroups image-credential-provider-config
    image-credential-provider-bin-dir register-with-taints v vmodule log-flush-frequency logging-format
    log-text-info-buffer-size log-json-info-buffer-size
    """
)
_SWITCHES = frozenset(["version", "help", "exit-on-lock-contention", "experimental-allocatable-ignore-eviction"])


def flag_paths() -> dict[str, str]:
    """The flags that are settings: flag → path of the field."""
    renamed = set(_RENAMED.values())
    own = {
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower(): name
        for name in fields("KubeletConfiguration")
        if name not in renamed
    }
    return {**{flag: name for flag, name in own.items() if flag not in _NO_FLAG}, **_RENAMED}


class Flags(NamedTuple):
    """A command line: `settings` as (flag, path of the field, text), `other` flags by name."""

    settings: list[tuple[str, str, str]]
    other: dict[str, str]


def parse_flags(words: list[str]) -> Flags:
    """Read a command line as pflag does: --flag=value, --flag value, --switch, -v=2."""
    paths, flags, rest = flag_paths(), Flags([], {}), list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not word.startswith("-"):
            raise Failed(f"unknown command {word}")
        if name not in paths and name not in _VALUE_FLAGS and name not in _SWITCHES:
            raise Failed(f"failed to parse kubelet flag: unknown flag: --{name}")
        if not equals:
            if name in _SWITCHES or (name in paths and _field_type(paths[name]) == "bool"):
                value = "true"
            elif not rest:
                raise Failed(f"failed to parse kubelet flag: flag needs an argument: --{name}")
            else:
                value = rest.pop(0)
        if name in paths:
            flags.settings.append((name, paths[name], value))
        else:
            flags.other[name] = value
    return flags


def _field_type(path: str) -> str:
    struct = "KubeletConfiguration"
    for name in path.split("."):
        struct = fields(struct)[name].lstrip("*")
    return struct


def apply_flags(config: Config, flags: Flags) -> None:
    """Lay the flags over the configuration: they win. Feature gates are merged one by one."""
    gates = config.get("featureGates", {})
    for flag, path, text in flags.settings:
        sys.stderr.write(
            f"Flag --{flag} has been deprecated, This parameter should be set via the config file specified by the "
            "Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ "
            "for more information.\n"
        )
        value = _flag_value(flag, text, _field_type(path))
        *parents, name = path.split(".")
        target = config
        for parent in parents:
            target = target.setdefault(parent, {})
        target[name] = {**gates, **value} if name == "featureGates" else value


def _flag_value(flag: str, text: str, kind: str) -> Any:
    try:
        return _READERS[kind](text)
    except (ValueError, Failed) as error:
        raise Failed(f'failed to parse kubelet flag: invalid argument "{text}" for "--{flag}" flag: {error}') from error


def _read_bool(text: str) -> bool:
    if text not in _words("1 t T true TRUE True 0 f F false FALSE False"):
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return text[0] in "1tT"


def _read_map(text: str) -> dict[str, str]:
    """a=1,b=2, or for thresholds a<1,b<2."""
    pairs = [re.split("[=<]", word, maxsplit=1) for word in text.split(",") if word]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"malformed pair, expect string=string: {text}")
    return {key.strip(): value.strip() for key, value in pairs}


def _read_reserved_memory(text: str) -> list[dict[str, Any]]:
    """0:memory=1Gi,hugepages-2Mi=64Mi;1:memory=1Gi"""
    entries = [part.partition(":") for part in text.split(";") if part]
    return [{"numaNode": int(node), "limits": _read_map(limits)} for node, _colon, limits in entries]


_READERS: dict[str, Any] = {
    "bool": _read_bool,
    "int32": int,
    "int64": int,
    "string": str,
    "duration": lambda text: go_duration(nanoseconds(text)),
    "[]string": lambda text: text.split(","),
    "map[string]string": _read_map,
    "map[string]bool": lambda text: {key: _read_bool(value) for key, value in _read_map(text).items()},
    "map[string][]string": lambda text: {text.partition(":")[0]: text.partition(":")[2].split(",")},
    "[]MemoryReservation": _read_reserved_memory,
}


def load(flags: Flags) -> Config:
    """The configuration in force: file, then drop-ins, then flags."""
    if flags.other.get("config"):
        config = load_file(flags.other["config"])
    else:
        config = {"evictionHard": dict(_EVICTION_HARD)}
        set_defaults(config)
    if flags.other.get("config-dir"):
        config = merge_directory(config, flags.other["config-dir"])
    apply_flags(config, flags)
    validate(config)
    return config


# --- validation -----------------------------------------------------------------------------------------------------


def node_swap(config: Config) -> bool:
    """Is the feature gate NodeSwap on?"""
    wanted = config.get("featureGates", {}).get("NodeSwap")
    if minor() >= 34 and wanted is False:
        raise Failed(
            "failed to set feature gates from initial flags-based config: "
            "cannot set feature gate NodeSwap to false, feature is locked to true"
        )
    return bool(minor() >= 30 if wanted is None else wanted)


def validate(config: Config) -> None:
    """Refuse what the kubelet's own validation refuses, as far as this project's settings go."""
    checks = (_swap_problems, _cpu_problems, _enforcement_problems, _choice_problems, _number_problems)
    problems = [f"invalid configuration: {problem}" for check in checks for problem in check(config)]
    problems += _reserved_memory_problems(config)
    if problems:
        shown = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise Failed(f"failed to validate kubelet configuration, error: {shown}, path: &TypeMeta{{Kind:,APIVersion:,}}")


def _swap_problems(config: Config) -> Iterator[str]:
    behavior = config.get("memorySwap", {}).get("swapBehavior", "")
    if not node_swap(config):
        if behavior:
            yield "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    elif minor() < 30 and behavior not in ("", "LimitedSwap", "UnlimitedSwap"):
        yield f'memorySwap.swapBehavior "{behavior}" must be one of: "", "LimitedSwap", or "UnlimitedSwap"'
    elif minor() >= 30 and behavior not in ("", "LimitedSwap", "NoSwap"):
        yield f'memorySwap.swapBehavior "{behavior}" must be one of: "", "LimitedSwap" or "NoSwap"'


def _cpu_problems(config: Config) -> Iterator[str]:
    cpus = config.get("reservedSystemCPUs")
    if not cpus:
        return
    if config.get("systemReservedCgroup") or config.get("kubeReservedCgroup"):
        yield (
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
            "or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
    try:
        parse_cpus(cpus)
    except ValueError as error:
        yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {error}"


def _enforcement_problems(config: Config) -> Iterator[str]:
    option = "enforceNodeAllocatable (--enforce-node-allocatable)"
    for name in config.get("enforceNodeAllocatable", []):
        owner = name.partition("-")[0]
        if name not in ("none", "pods", "") and owner not in ("system", "kube"):
            valid = '"pods", "system-reserved", "kube-reserved" or "none"'
            yield f'option "{name}" specified for {option}. Valid options are {valid}'
        elif owner in ("system", "kube") and not config.get(f"{owner}ReservedCgroup"):
            yield (
                f"{owner}ReservedCgroup (--{owner}-reserved-cgroup) must be specified when "
                f'"{name}" contained in {option}'
            )


def _choice_problems(config: Config) -> Iterator[str]:
    for name, flag, choices in (
        ("topologyManagerPolicy", "topology-manager-policy", ("none", "best-effort", "restricted", "single-numa-node")),
        ("topologyManagerScope", "topology-manager-scope", ("container", "pod")),
    ):
        if config[name] not in choices:
            shown = " ".join(quoted(choice) for choice in choices)
            yield f"{name} (--{flag}) {quoted(config[name])} must be one of: [{shown}]"


def _number_problems(config: Config) -> Iterator[str]:
    for name, flag in (("maxPods", "max-pods"), ("podsPerCore", "pods-per-core"), ("kubeAPIQPS", "kube-api-qps")):
        if config.get(name, 0) < 0:
            yield f"{name} (--{flag}) {config[name]} must not be a negative number"
    if not 1 <= config["port"] <= 65535:
        yield f"port (--port) {config['port']} must be between 1 and 65535, inclusive"
    if config["imageGCLowThresholdPercent"] >= config["imageGCHighThresholdPercent"]:
        low, high = config["imageGCLowThresholdPercent"], config["imageGCHighThresholdPercent"]
        yield (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        )


def _reserved_memory_problems(config: Config) -> list[str]:
    seen: set[tuple[int, str]] = set()
    problems = []
    for entry in config.get("reservedMemory", []):
        node = entry.get("numaNode", 0)
        for name, text in entry.get("limits", {}).items():
            if name != "memory" and not name.startswith("hugepages-"):
                problems.append(
                    f'invalid configuration: the limit type "{name}" for NUMA node {node} is not supported, '
                    "only [memory hugepages-<HugePageSize>] is accepted"
                )
            if quantity(text) == 0:
                problems.append(
                    f'invalid configuration: reserved memory may not be zero for NUMA node {node} and resource "{name}"'
                )
            if (node, name) in seen:
                problems.append(
                    "invalid configuration: the reserved memory has a duplicate value for "
                    f'NUMA node {node} and resource "{name}"'
                )
            seen.add((node, name))
    return problems


# --- the machine ----------------------------------------------------------------------------------------------------

_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SUFFIXES.update({"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40})


def quantity(text: str) -> float:
    """A Kubernetes quantity (500m, 1.5Gi, 2) in its unit; raises Failed if it is none."""
    match = re.fullmatch(r"([+-]?\d+\.?\d*|\.\d+)(m|[kMGT]|[KMGT]i)?", text)
    if match is None:
        raise Failed("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    number = float(match[1])
    return number / 1000 if match[2] == "m" else number * _SUFFIXES[match[2] or ""]


def binary(size: int) -> str:
    """A size in bytes as a quantity with the largest binary suffix that leaves a whole number: 2Mi, 1Gi."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        if size and size % _SUFFIXES[suffix] == 0:
            return f"{size // _SUFFIXES[suffix]}{suffix}"
    return str(size)


def parse_cpus(text: str) -> frozenset[int]:
    """A CPU list such as 0-3,8; ValueError if it is none."""
    cpus: set[int] = set()
    for word in text.strip().split(",") if text.strip() else []:
        first, _dash, last = word.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def cpu_list(cpus: frozenset[int]) -> str:
    """A set of CPUs as the kernel and the kubelet write it: 0-3,8."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


class Memory(NamedTuple):
    """Memory of the machine or of a NUMA node in bytes; huge pages: size in bytes → how many."""

    total: int
    huge_pages: dict[int, int]


class Machine(NamedTuple):
    """What the kubelet reads once, at its start, and keeps until it ends. `swap` is in bytes."""

    cpus: frozenset[int]
    memory: Memory
    swap: int
    nodes: dict[int, Memory]

    @staticmethod
    def look() -> Machine:
        """Read it from /proc and /sys."""
        proc, sys_ = setting("proc", "/proc"), setting("sys", "/sys")
        meminfo = _meminfo(f"{proc}/meminfo")
        nodes = {}
        base = f"{sys_}/devices/system/node"
        for name in sorted(os.listdir(base)) if os.path.isdir(base) else []:
            if re.fullmatch(r"node\d+", name):
                total = _meminfo(f"{base}/{name}/meminfo")["MemTotal"]
                nodes[int(name[4:])] = Memory(total, _huge_pages(f"{base}/{name}/hugepages"))
        cpus = parse_cpus(read(f"{sys_}/devices/system/cpu/online"))
        memory = Memory(meminfo["MemTotal"], _huge_pages(f"{sys_}/kernel/mm/hugepages"))
        return Machine(cpus, memory, meminfo.get("SwapTotal", 0), nodes or {0: memory})


def _meminfo(path: str) -> dict[str, int]:
    """Name → bytes; a NUMA node's lines begin with "Node N"."""
    return {name: int(value) << 10 for name, value in re.findall(r"(\w+):\s+(\d+) kB", read(path))}


def _huge_pages(path: str) -> dict[int, int]:
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    sizes = [(name, re.fullmatch(r"hugepages-(\d+)kB", name)) for name in names]
    return {int(match[1]) << 10: int(read(f"{path}/{name}/nr_hugepages")) for name, match in sizes if match}


def refuse_swap(config: Config) -> None:
    """Fail as the kubelet does when swap is on: more than the head line in /proc/swaps."""
    path = os.path.join(setting("proc", "/proc"), "swaps")
    lines = read(path).strip().split("\n") if os.path.exists(path) else []
    if len(lines) < 2:
        return
    if minor() >= 31:
        log("I", "swap_util.go:119", "Swap is on", **{"/proc/swaps contents": "\n".join(lines)})
    if config["failSwapOn"] and minor() >= 31:
        raise Failed("running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")
    if config["failSwapOn"]:
        raise Failed(
            "running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false. "
            f"/proc/swaps contained: [{' '.join(lines)}]"
        )


# --- CPU manager and memory manager: their start and their state files ----------------------------------------------


def _reserved(config: Config, resource: str) -> float:
    """systemReserved + kubeReserved of one resource."""
    return sum(quantity(config.get(owner, {}).get(resource, "0")) for owner in ("systemReserved", "kubeReserved"))


def checksum(data: dict[str, Any]) -> int:
    """FNV-1a of the content. The kubelet's own sum is over the printed Go struct and cannot be had here."""
    value = 2166136261
    for byte in json.dumps({**data, "checksum": 0}, sort_keys=True).encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


class Manager:
    """What the CPU and the memory manager have in common: a policy and a state file that must fit it."""

    what = ""
    file = ""
    prefix = ""

    def __init__(self, policy: str, state_directory: str) -> None:
        self.policy = policy
        self.path = os.path.join(state_directory, self.file)

    def empty(self) -> dict[str, Any]:
        """The state of a node without pods, before the policy has had a look at it."""
        raise NotImplementedError

    def check(self, state: dict[str, Any]) -> None:
        """Fail when the state cannot be continued; fill in an empty one."""
        raise NotImplementedError

    def start(self) -> None:
        """Read or make the state file; fail as the kubelet does when it is another policy's or does not fit."""
        try:
            state = self._restore() if os.path.exists(self.path) else self.empty()
        except Failed as error:
            raise Failed(
                f"could not restore state from checkpoint: {error}, please drain this node and delete the "
                f'{self.what} checkpoint file "{self.path}" before restarting Kubelet'
            ) from error
        before = dict(state)
        self.check(state)
        if state != before or not os.path.exists(self.path):
            state["checksum"] = checksum(state)
            write(self.path, json.dumps(state, separators=(",", ":")))

    def _restore(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads(read(self.path))
        except ValueError as error:
            raise Failed(f"unexpected end of JSON input ({error})") from error
        if state.get("checksum") != checksum(state):
            raise Failed("checkpoint is corrupted")
        if state["policyName"] != self.policy:
            raise Failed(
                f'{self.prefix}configured policy "{self.policy}" differs from state checkpoint policy '
                f'"{state["policyName"]}"'
            )
        return state


class CpuManager(Manager):
    """pkg/kubelet/cm/cpumanager"""

    what, file = "CPU manager", "cpu_manager_state"

    def __init__(self, config: Config, machine: Machine, state_directory: str) -> None:
        super().__init__(config["cpuManagerPolicy"], state_directory)
        self.all = machine.cpus
        self.strict = config.get("cpuManagerPolicyOptions", {}).get("strict-cpu-reservation") == "true"
        named = parse_cpus(config.get("reservedSystemCPUs", ""))
        if not named <= machine.cpus:
            raise Failed(f"reserved-cpus: {cpu_list(named)} is not a subset of online-cpus: {cpu_list(machine.cpus)}")
        count = len(named) if named else -int(-_reserved(config, "cpu") // 1)
        self.reserved = named or frozenset(sorted(machine.cpus)[:count])
        if self.policy not in ("none", "static"):
            raise Failed(f'unknown policy: "{self.policy}"')
        if self.policy == "static" and count <= 0:
            raise Failed(
                "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
            )
        if self.policy == "static" and len(self.reserved) != count:
            raise Failed(
                "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
                f"(size of {cpu_list(self.reserved)} did not equal {count})"
            )

    def empty(self) -> dict[str, Any]:
        return {"policyName": self.policy, "defaultCpuSet": "", "checksum": 0}

    def check(self, state: dict[str, Any]) -> None:
        if self.policy == "none":
            return
        default = parse_cpus(state["defaultCpuSet"])
        if not default:
            state["defaultCpuSet"] = cpu_list(self.all - self.reserved if self.strict else self.all)
            return
        if self.strict and self.reserved & default:
            raise Failed(
                f'some of strictly reserved cpus: "{cpu_list(self.reserved & default)}" are present in '
                f'defaultCpuSet: "{cpu_list(default)}"'
            )
        if not self.strict and not self.reserved <= default:
            raise Failed(
                f'not all reserved cpus: "{cpu_list(self.reserved)}" are present in '
                f'defaultCpuSet: "{cpu_list(default)}"'
            )
        if default != self.all:
            raise Failed(
                f'current set of available CPUs "{cpu_list(self.all)}" doesn\'t match with CPUs in state '
                f'"{cpu_list(default)}"'
            )


class MemoryManager(Manager):
    """pkg/kubelet/cm/memorymanager"""

    what, file, prefix = "memory manager", "memory_manager_state", "[memorymanager] "

    def __init__(self, config: Config, machine: Machine, state_directory: str) -> None:
        super().__init__(config["memoryManagerPolicy"], state_directory)
        self.nodes = machine.nodes
        self.limits: dict[int, dict[str, int]] = {node: {} for node in machine.nodes}
        if self.policy not in ("None", "Static"):
            raise Failed(f'unknown policy: "{self.policy}"')
        if self.policy == "Static":
            self._reserve(config, machine)

    def _reserve(self, config: Config, machine: Machine) -> None:
        """Check that what is reserved on the NUMA nodes adds up to what is reserved on the node."""
        totals = {"memory": 0}
        for entry in config.get("reservedMemory", []):
            node = entry.get("numaNode", 0)
            if node not in self.limits:
                raise Failed(
                    f"the reserved memory configuration references a NUMA node {node} "
                    "that does not exist on this machine"
                )
            for name, text in entry["limits"].items():
                self.limits[node][name] = int(quantity(text))
                totals[name] = totals.get(name, 0) + int(quantity(text))
        hard = config.get("evictionHard", {}).get("memory.available", "0")
        eviction = machine.memory.total * float(hard[:-1]) / 100 if hard.endswith("%") else quantity(hard)
        for name, found in totals.items():
            wanted = int(_reserved(config, "memory") + eviction) if name == "memory" else 0
            if found != wanted:
                raise Failed(
                    f'the total amount "{binary(found)}" of type "{name}" is not equal to the value "{binary(wanted)}" '
                    "determined by Node Allocatable feature"
                )
        if not totals["memory"]:
            raise Failed("[memorymanager] you should specify the system reserved memory")

    def empty(self) -> dict[str, Any]:
        return {"policyName": self.policy, "machineState": {}, "checksum": 0}

    def check(self, state: dict[str, Any]) -> None:
        if self.policy == "None":
            return
        machine_state = {str(node): self._node_state(node, memory) for node, memory in self.nodes.items()}
        if not state["machineState"]:
            state["machineState"] = machine_state
        elif state["machineState"] != machine_state:
            raise Failed("[memorymanager] the expected machine state is different from the real one")

    def _node_state(self, node: int, memory: Memory) -> dict[str, Any]:
        huge = {f"hugepages-{binary(size)}": size * count for size, count in memory.huge_pages.items()}
        table = {}
        for name, total in {**huge, "memory": memory.total}.items():
            reserved = self.limits[node].get(name, 0)
            free = total - reserved - (sum(huge.values()) if name == "memory" else 0)
            table[name] = {"total": total, "systemReserved": reserved, "allocatable": free, "reserved": 0, "free": free}
        return {"numberOfAssignments": 0, "memoryMap": table, "cells": [node]}


# --- the API --------------------------------------------------------------------------------------------------------


class Unreachable(Exception):
    """The API server cannot be talked to, or has answered with something that is no JSON object."""


class Api:
    """The API server that a kubeconfig names; only bearer tokens are known."""

    def __init__(self, kubeconfig: str) -> None:
        import base64
        import ssl

        data = yaml.safe_load(read(kubeconfig))
        named = {kind: {entry["name"]: entry for entry in data[kind]} for kind in ("contexts", "clusters", "users")}
        context = named["contexts"][data["current-context"]]["context"]
        cluster = named["clusters"][context["cluster"]]["cluster"]
        self.server = cluster["server"].rpartition("//")[2].rstrip("/")
        self.token = named["users"][context["user"]]["user"].get("token", "")
        self.tls = ssl.create_default_context(
            cafile=cluster.get("certificate-authority"),
            cadata=base64.b64decode(cluster.get("certificate-authority-data", "")).decode() or None,
        )

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """One request on a connection of its own: the status code and the object."""
        import http.client

        connection = http.client.HTTPSConnection(self.server, context=self.tls, timeout=10)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type, "Accept": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            data = json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{method} https://{self.server}{path}: {error}") from error
        finally:
            connection.close()
        if not isinstance(data, dict):
            raise Unreachable(f"{method} https://{self.server}{path}: {data!r} is no object")
        return answer.status, data

    def need(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> dict[str, Any]:
        """The object of a request that must succeed."""
        status, data = self.request(method, path, body, content_type)
        if status >= 300:
            raise Unreachable(f"{method} {path}: {status} {data.get('message', '')}")
        return data


def now(micro: bool = False) -> str:
    """The time as the API writes it."""
    moment = time.time()
    fraction = f".{int(moment % 1 * 1e6):06d}" if micro else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + fraction + "Z"


class Node:
    """Keeps the Node and its Lease in the API."""

    def __init__(self, api: Api, name: str, config: Config, machine: Machine, labels: dict[str, str]) -> None:
        self.api = api
        self.name = name
        self.config = config
        self.machine = machine
        self.labels = labels
        self.registered = False
        self.reported = 0.0

    def keep(self) -> None:
        """One round: register if that is still to be done, renew the Lease, report a status that has changed."""
        try:
            if not self.registered:
                self._register()
            self._renew_lease()
            self._report()
        except Unreachable as error:
            log("E", "kubelet_node_status.go:549", "Error updating node status, will retry", err=error)

    def _register(self) -> None:
        log("I", "kubelet_node_status.go:75", "Attempting to register node", node=self.name)
        labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            **self.labels,
        }
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"taints": self.config.get("registerWithTaints") or []},
            "status": self._status({}, ready=False),
        }
        if self.config["registerNode"]:
            status, data = self.api.request("POST", "/api/v1/nodes", body)
            if status not in (200, 201, 409):
                message = f"{status} {data.get('message', '')}"
                log(
                    "E",
                    "kubelet_node_status.go:107",
                    "Unable to register node with API server",
                    node=self.name,
                    err=message,
                )
                raise Unreachable(message)
        log("I", "kubelet_node_status.go:78", "Successfully registered node", node=self.name)
        self.registered = True

    def _report(self) -> None:
        path = f"/api/v1/nodes/{self.name}"
        before = self.api.need("GET", path).get("status") or {}
        after = self._status(before, ready=True)
        due = time.monotonic() - self.reported > nanoseconds(self.config["nodeStatusReportFrequency"]) / 1e9
        changed = any(_without_times(before.get(key)) != _without_times(value) for key, value in after.items())
        if due or changed or not self.reported:
            self.api.need("PATCH", f"{path}/status", {"status": after}, "application/merge-patch+json")
            self.reported = time.monotonic()

    def _renew_lease(self) -> None:
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {
            "holderIdentity": self.name,
            "leaseDurationSeconds": self.config["nodeLeaseDurationSeconds"],
            "renewTime": now(micro=True),
        }
        status, lease = self.api.request("GET", f"{leases}/{self.name}")
        if status == 404:
            metadata = {"name": self.name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            self.api.need("POST", leases, lease)
        else:
            self.api.need("PUT", f"{leases}/{self.name}", {**lease, "spec": {**lease.get("spec", {}), **spec}})

    def _status(self, before: dict[str, Any], ready: bool) -> dict[str, Any]:
        address, _colon, port = setting("advertise", "").rpartition(":")
        return {
            "conditions": self._conditions(before.get("conditions") or [], ready),
            "addresses": [
                {"type": "InternalIP", "address": address or "127.0.0.1"},
                {"type": "Hostname", "address": self.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": int(port or self.config["port"])}},
            "nodeInfo": {**(before.get("nodeInfo") or {}), **self._info()},
            **self._resources(),
        }

    def _conditions(self, before: list[dict[str, Any]], ready: bool) -> list[dict[str, Any]]:
        wanted = [
            (f"{kind}Pressure", "False", f"KubeletHas{reason}", f"kubelet has {text}")
            for kind, reason, text in (
                ("Memory", "SufficientMemory", "sufficient memory available"),
                ("Disk", "NoDiskPressure", "no disk pressure"),
                ("PID", "SufficientPID", "sufficient PID available"),
            )
        ]
        if ready:
            wanted.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
        else:
            text = "container runtime status check may not have completed yet"
            wanted.append(("Ready", "False", "KubeletNotReady", text))
        found = {condition["type"]: condition for condition in before}
        moment = now()
        for kind, status, reason, message in wanted:
            old = found.get(kind, {})
            since = old["lastTransitionTime"] if old.get("status") == status and "lastTransitionTime" in old else moment
            found[kind] = {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": moment,
                "lastTransitionTime": since,
            }
        found["Ready"] = found.pop("Ready")  # always the last
        return list(found.values())

    def _info(self) -> dict[str, Any]:
        """nodeInfo. A swap capacity of 0 is not written: what is there stays, as with the real kubelet."""
        system = os.uname()
        names = re.findall(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"), re.MULTILINE)
        info: dict[str, Any] = {
            "machineID": read("/etc/machine-id").strip() if os.path.exists("/etc/machine-id") else "",
            "systemUUID": "",
            "bootID": read("/proc/sys/kernel/random/boot_id").strip(),
            "kernelVersion": system.release,
            "osImage": names[0] if names else "",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kubeletVersion": version(),
            "kubeProxyVersion": version() if minor() < 33 else "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        }
        if minor() >= 33 and node_swap(self.config) and self.machine.swap:
            info["swap"] = {"capacity": self.machine.swap}
        return info

    def _resources(self) -> dict[str, Any]:
        memory = self.machine.memory
        huge = {f"hugepages-{binary(size)}": size * count for size, count in memory.huge_pages.items()}
        common = {"ephemeral-storage": "4Gi", "pods": str(self.config["maxPods"])}
        common.update({name: binary(size) for name, size in huge.items()})
        hard = self.config.get("evictionHard", {}).get("memory.available", "0")
        eviction = memory.total * float(hard[:-1]) / 100 if hard.endswith("%") else quantity(hard)
        free = memory.total - int(_reserved(self.config, "memory") + eviction) - sum(huge.values())
        reserved_cpus = len(parse_cpus(self.config.get("reservedSystemCPUs", "")))
        cpus = len(self.machine.cpus) * 1000 - (reserved_cpus * 1000 or round(_reserved(self.config, "cpu") * 1000))
        return {
            "capacity": {"cpu": str(len(self.machine.cpus)), "memory": f"{memory.total >> 10}Ki", **common},
            "allocatable": {"cpu": f"{cpus}m", "memory": f"{free >> 10}Ki", **common},
        }


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in ("lastHeartbeatTime", "lastTransitionTime")}
    return value


# --- the servers ----------------------------------------------------------------------------------------------------


class Gate:
    """Who may ask this kubelet what (pkg/kubelet/server/auth.go); nothing is cached."""

    def __init__(self, api: Api | None, node: str, config: Config) -> None:
        self.api = api
        self.node = node
        self.anonymous = config["authentication"]["anonymous"]["enabled"]
        self.webhook = config["authentication"]["webhook"]["enabled"]
        self.always = config["authorization"]["mode"] == "AlwaysAllow"
        if api is None and (self.webhook or not self.always):
            what = "authentication" if self.webhook else "authorization"
            raise Failed(f"no client provided, cannot use webhook {what}")

    def answer(self, verb: str, path: str, authorization: str) -> tuple[int, str]:
        """200, or 401, 403 or 500 with what to say."""
        try:
            user = self._user(authorization)
            if user is None:
                return 401, "Unauthorized"
            resources = self._subresources(path)
            if self.always or any(self._allowed(user, verb, subresource) for subresource in resources):
                return 200, ""
        except Unreachable as error:
            log("E", "server.go:310", "Unable to authenticate the request due to an error", err=error)
            return 401, "Unauthorized"
        names = " ".join(resources)
        return 403, f"Forbidden (user={user['username']}, verb={verb}, resource=nodes, subresource(s)=[{names}])\n"

    def _user(self, authorization: str) -> dict[str, Any] | None:
        scheme, _space, token = authorization.partition(" ")
        if self.webhook and self.api and scheme.lower() == "bearer" and token:
            kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
            review = self.api.need(
                "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {**kind, "spec": {"token": token}}
            )
            if review.get("status", {}).get("authenticated"):
                user: dict[str, Any] = review["status"]["user"]
                return user
        return {"username": "system:anonymous", "groups": ["system:unauthenticated"]} if self.anonymous else None

    @staticmethod
    def _subresources(path: str) -> list[str]:
        """The subresources of nodes of which one must be allowed; finer ones than proxy count from 1.33 on."""
        top = path.split("/")[1]
        if top in ("stats", "metrics", "logs", "checkpoint"):
            return ["log" if top == "logs" else top]
        finer = {"pods": "pods", "runningpods": "pods", "healthz": "healthz", "configz": "configz"}
        return [finer[top], "proxy"] if minor() >= 33 and top in finer else ["proxy"]

    def _allowed(self, user: dict[str, Any], verb: str, subresource: str) -> bool:
        assert self.api is not None
        attributes = {
            "verb": verb,
            "version": "v1",
            "resource": "nodes",
            "subresource": subresource,
            "name": self.node,
        }
        spec = {
            "user": user["username"],
            "groups": user.get("groups", []),
            "uid": user.get("uid", ""),
            "resourceAttributes": attributes,
        }
        review = self.api.need(
            "POST",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec},
        )
        return bool(review.get("status", {}).get("allowed"))


def content(path: str, config: Config) -> tuple[int, str, str]:
    """What the kubelet has to say at a path: status code, content type, text."""
    plain = "text/plain; charset=utf-8"
    if path == "/healthz":
        return 200, plain, "ok"
    if path == "/pods":
        pods: Config = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": None}
        return 200, "application/json", json.dumps(pods)
    if path == "/configz" and not config["enableDebuggingHandlers"]:
        return 405, plain, "Debug endpoints are disabled.\n"
    if path == "/configz":
        shown = encode({key: value for key, value in config.items() if key not in ("kind", "apiVersion")})
        if minor() >= 36:
            shown = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", **shown}
        return 200, "application/json", json.dumps({"kubeletconfig": shown})
    return 404, plain, "404 page not found\n"


def serve(config: Config, gate: Gate, certificates: str) -> None:
    """Begin to serve: HTTPS on the kubelet's port behind the gate, and plain HTTP for /healthz on this machine."""
    import http.server
    import ssl
    import threading

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        secure = False

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            status, kind, text = 404, "text/plain; charset=utf-8", "404 page not found\n"
            if self.secure:
                status, text = gate.answer("get", path, self.headers.get("Authorization", ""))
            if status == 200 or (not self.secure and path == "/healthz"):
                status, kind, text = content(path, config)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """The real kubelet does not log requests either."""

    class SecureHandler(Handler):
        secure = True

    def listen(address: str, port: int, handler: type[Handler]) -> http.server.ThreadingHTTPServer:
        try:
            server = http.server.ThreadingHTTPServer((address, port), handler)
        except OSError as error:
            raise Failed(f"listen tcp {address}:{port}: bind: {(error.strerror or '').lower()}") from error
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    if config["enableServer"]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(
            config.get("tlsCertFile") or f"{certificates}/kubelet.crt",
            config.get("tlsPrivateKeyFile") or f"{certificates}/kubelet.key",
        )
        server = listen(config["address"], config["port"], SecureHandler)
        # The handshake is left to the first read, in the thread of the connection: it must not hold up the others.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    if config["healthzPort"]:
        listen(config["healthzBindAddress"], config["healthzPort"], Handler)


# --- programs -------------------------------------------------------------------------------------------------------


def run_kubelet(words: list[str]) -> None:
    """The kubelet with these flags, until SIGTERM; raises Failed when it cannot start or go on."""
    import signal
    import threading

    flags = parse_flags(words)
    if flags.other.get("version"):
        print(f"Kubernetes {version()}")
        return
    config = load(flags)
    log("I", "server.go:525", "Kubelet version", kubeletVersion=version())
    name = flags.other.get("hostname-override") or os.uname().nodename.lower()
    root = flags.other.get("root-dir", "/var/lib/kubelet")
    os.makedirs(root, exist_ok=True)
    try:
        api = _api(flags)
        machine = Machine.look()
        gate = Gate(api, name, config)
        refuse_swap(config)
        managers = [manager(config, machine, root) for manager in (CpuManager, MemoryManager)]
    except Failed as error:
        raise Failed(f"failed to run Kubelet: {error}") from error

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_arguments: stop.set())
    signal.signal(signal.SIGINT, lambda *_arguments: stop.set())
    serve(config, gate, flags.other.get("cert-dir", f"{root}/pki"))
    log("I", "kubelet.go:2442", "Starting kubelet main sync loop")
    # The state files are looked at only now, when the ports answer already: a healthz that says ok proves nothing.
    for manager in managers:
        try:
            manager.start()
        except Failed as error:
            what = "cpu" if isinstance(manager, CpuManager) else "memory"
            log("E", "kubelet.go:1839", "Failed to start ContainerManager", err=f"start {what} manager error: {error}")
            sys.exit(1)
    node = Node(api, name, config, machine, _read_map(flags.other.get("node-labels", ""))) if api else None
    while not stop.is_set():
        if node:
            node.keep()
        stop.wait(10 if node is None or node.registered else 2)


def _api(flags: Flags) -> Api | None:
    path = flags.other.get("kubeconfig")
    if not path:
        log("I", "server.go:655", "Standalone mode, no API client")
        return None
    bootstrap = flags.other.get("bootstrap-kubeconfig")
    if os.path.exists(path):
        return Api(path)
    if bootstrap:
        raise Failed(f"unable to load bootstrap kubeconfig: stat {bootstrap}: no such file or directory")
    raise Failed(f"invalid kubeconfig: stat {path}: no such file or directory")


def run_k3s(words: list[str]) -> None:
    """`k3s agent`: a process that holds a kubelet, with a configuration of its own and defaults of its own."""
    if words[:1] in (["--version"], ["-v"]):
        print(f"k3s version {version()} (0f1e2d3c)\ngo version go1.24.6")
        return
    if words[:1] != ["agent"]:
        raise Failed(f"stand-in: k3s {' '.join(words)} is not imitated; wanted k3s agent")
    options = dict(word.lstrip("-").partition("=")[::2] for word in words[1:])
    settings = k3s_settings(options.get("config", "/etc/rancher/k3s/config.yaml"))
    settings.update(options)
    data = settings.get("data-dir", "/var/lib/rancher/k3s")
    extra = settings.get("kubelet-arg", [])
    arguments = k3s_arguments(
        f"{data}/agent", settings.get("node-name", ""), [extra] if isinstance(extra, str) else extra
    )
    flags = [f"--{name}={value}" for name, value in sorted(arguments.items())]
    moment = now()
    sys.stderr.write(f'time="{moment}" level=info msg="Starting k3s agent {version()} (0f1e2d3c)"\n')
    sys.stderr.write(f'time="{moment}" level=info msg="Running kubelet {" ".join(flags)}"\n')
    sys.stderr.flush()
    try:
        run_kubelet(flags)
    except Failed as error:
        sys.stderr.write(f'time="{now()}" level=fatal msg={quoted(f"kubelet exited: {error}")}\n')
        sys.exit(1)


def k3s_settings(path: str) -> dict[str, Any]:
    """config.yaml and then config.yaml.d/*.yaml; a key with a + is added to the list that is there."""
    folder = f"{path}.d"
    more = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    files = [path, *(f"{folder}/{name}" for name in more if name.endswith((".yaml", ".yml")))]
    settings: dict[str, Any] = {}
    for file in files:
        for key, value in (yaml.safe_load(read(file)) or {}).items() if os.path.exists(file) else ():
            if key.endswith("+"):
                old = settings.get(key[:-1], [])
                value = [*([old] if isinstance(old, str) else old), *([value] if isinstance(value, str) else value)]
            settings[key.rstrip("+")] = value
    return settings


def k3s_arguments(agent: str, node: str, extra: list[str]) -> dict[str, str]:
    """The kubelet's flags as k3s makes them; from 1.32 on most of them are a drop-in that k3s writes at each start."""
    arguments = {"kubeconfig": f"{agent}/kubelet.kubeconfig", "read-only-port": "0"}
    if node:
        arguments["hostname-override"] = node
    directory = f"{agent}/etc/kubelet.conf.d"
    serving = {"tlsCertFile": f"{agent}/serving-kubelet.crt", "tlsPrivateKeyFile": f"{agent}/serving-kubelet.key"}
    if minor() >= 32:
        arguments["config-dir"] = directory
        os.makedirs(directory, exist_ok=True)
        defaults = {**_K3S_DEFAULTS, **serving}
        write(f"{directory}/00-k3s-defaults.conf", yaml.safe_dump(defaults, default_flow_style=False))
    else:
        arguments.update({"fail-swap-on": "false", "anonymous-auth": "false", "authorization-mode": "Webhook"})
        arguments.update({"eviction-hard": "imagefs.available<5%,nodefs.available<5%", "cgroup-driver": "systemd"})
        arguments.update(
            {"tls-cert-file": serving["tlsCertFile"], "tls-private-key-file": serving["tlsPrivateKeyFile"]}
        )
    for word in extra:
        name, _equals, value = word.removeprefix("--").partition("=")
        if name == "config" and minor() >= 32:
            write(f"{directory}/10-cli-config.conf", read(value))
        elif name == "config-dir" and minor() >= 32:
            os.makedirs(f"{directory}/20-cli-config-dir", exist_ok=True)
            for file in sorted(os.listdir(value)):
                write(f"{directory}/20-cli-config-dir/{file}", read(f"{value}/{file}"))
        else:
            arguments[name] = value
    return arguments


_K3S_DEFAULTS: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"cacheTTL": "2m0s", "enabled": True}},
    "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"}},
    "cgroupDriver": "systemd",
    "clusterDNS": ["10.43.0.10"],
    "clusterDomain": "cluster.local",
    "containerRuntimeEndpoint": "unix:///run/k3s/containerd/containerd.sock",
    "cpuManagerReconcilePeriod": "10s",
    "evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"},
    "evictionMinimumReclaim": {"imagefs.available": "10%", "nodefs.available": "10%"},
    "evictionPressureTransitionPeriod": "5m0s",
    "failSwapOn": False,
    "healthzBindAddress": "127.0.0.1",
    "logging": {"flushFrequency": "5s", "format": "text", "verbosity": 0},
    "memorySwap": {},
    "serializeImagePulls": False,
    "shutdownGracePeriod": "0s",
    "shutdownGracePeriodCriticalPods": "0s",
}


def look_real(program: str) -> None:
    """Let /proc/PID/cmdline and comm show the program and its flags, without the Python in front of them.

    Who looks for a kubelet's flags there must find them as with the real one.
    """
    words = read("/proc/self/cmdline").split("\0")
    skipped = sum(len(os.fsencode(word)) + 1 for word in words[: words.index(program)])
    if not skipped or os.geteuid() != 0:
        return
    import ctypes

    start = int(read("/proc/self/stat").rpartition(")")[2].split()[45])  # field 48, arg_start
    pr_set_mm, pr_set_mm_arg_start = 35, 8
    libc = ctypes.CDLL(None, use_errno=True)
    unused = ctypes.c_ulong(0)
    if libc.prctl(pr_set_mm, ctypes.c_ulong(pr_set_mm_arg_start), ctypes.c_ulong(start + skipped), unused, unused) != 0:
        log("I", "stand-in", "The command line shows Python", err=os.strerror(ctypes.get_errno()))
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(os.path.basename(program)[:15])


def main() -> int:
    """kubelet or k3s, by the name of the program: the exit status."""
    try:
        if os.path.basename(sys.argv[0]) == "k3s":
            run_k3s(sys.argv[1:])
        else:
            run_kubelet(sys.argv[1:])
    except Failed as error:
        log("E", "run.go:72", "command failed", err=error)
        return 1
    return 0


def installed() -> int:
    """What the launcher calls that install puts in the place of the real program."""
    look_real(sys.argv[0])
    return main()


if __name__ == "__main__":
    sys.exit(main())
