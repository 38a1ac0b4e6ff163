"""The kubelet stand-in as a process on this machine, without an API server: what it reads, refuses, says and serves."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
import yaml
from lab.errors import LabError
from lab.kubelet import LAYOUTS, install, kubelet
from lab.kubelet.install import merged, self_signed

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
OPEN = "authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n"
NO_SWAP = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
SWAP = NO_SWAP + "/dev/nvme0n1\t\t\t\tpartition\t1048572\t\t0\t\t100\n"
REFUSED = (
    "failed to run Kubelet: running with swap on is not supported, "
    "please disable swap or set --fail-swap-on flag to false"
)
# As the launcher that install writes: the program's name says what it is.
LAUNCHER = f"""import sys
sys.path.insert(0, {os.path.dirname(kubelet.__file__)!r})
import kubelet
sys.exit(kubelet.main())
"""
RUNNING = "Starting kubelet main sync loop"


def free_ports(count):
    probes = [socket.socket() for _index in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Node:
    """A directory that stands for a node: its /proc and /sys, and the stand-in that runs on it."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "kubelet"
        self.drop_ins = folder / "kubelet.conf.d"
        self.process = None
        self.port, self.healthz_port = free_ports(2)
        self.environment = {
            "PATH": os.environ["PATH"],
            "STANDIN_VERSION": "v1.34.1",
            "STANDIN_PROC": str(folder / "proc"),
            "STANDIN_SYS": str(folder / "sys"),
        }
        self.file("proc/swaps", NO_SWAP)
        self.file("proc/meminfo", "MemTotal:        4194304 kB\nSwapTotal:             0 kB\n")
        self.file("sys/devices/system/cpu/online", "0-3\n")
        for numa in (0, 1):
            self.file(f"sys/devices/system/node/node{numa}/meminfo", f"Node {numa} MemTotal: 2097152 kB\n")
            self.file(f"sys/devices/system/node/node{numa}/hugepages/hugepages-2048kB/nr_hugepages", "0\n")
        self.config("")
        for name, text in zip(("crt", "key"), self_signed("node"), strict=True):
            self.file(f"kubelet/pki/kubelet.{name}", text)

    def file(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def config(self, text, head=f"{HEAD}{OPEN}"):
        ports = f"port: {self.port}\nhealthzPort: {self.healthz_port}\naddress: 127.0.0.1\n"
        self.file("config.yaml", f"{head}{ports}{text}")

    def drop_in(self, name, text, head=HEAD):
        return self.file(f"kubelet.conf.d/{name}", head + text)

    def start(self, *flags, directory=False):
        """The whole log, once the kubelet runs or has ended."""
        words = [f"--config={self.folder}/config.yaml", f"--root-dir={self.root}"]
        if directory:
            self.drop_ins.mkdir(exist_ok=True)
            words.append(f"--config-dir={self.drop_ins}")
        return self.start_program(kubelet.__file__, *words, *flags)

    def start_program(self, *words):
        self.stop()
        log = self.folder / "log"
        with open(log, "w", encoding="utf-8") as target:
            self.process = subprocess.Popen([sys.executable, *words], stderr=target, env=self.environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            ended, text = self.process.poll() is not None, log.read_text(encoding="utf-8")
            if ended or RUNNING in text:
                return text
            time.sleep(0.02)
        raise AssertionError(f"neither ran nor ended: {text}")

    def runs(self, *flags, directory=False):
        text = self.start(*flags, directory=directory)
        assert RUNNING in text, text
        return text

    def fails(self, *flags, directory=False):
        """The error with which the kubelet ended."""
        text = self.start(*flags, directory=directory)
        assert self.process.wait(10) == 1, text
        text = (self.folder / "log").read_text(encoding="utf-8")
        last = text.splitlines()[-1]
        assert last.startswith("E"), text
        return json.loads(last.partition(" err=")[2])

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(10) == 0

    def get(self, path):
        context = ssl.create_default_context(cafile=str(self.root / "pki/kubelet.crt"))
        with urllib.request.urlopen(f"https://127.0.0.1:{self.port}{path}", context=context, timeout=10) as answer:
            return answer.read().decode()

    def configz(self):
        return json.loads(self.get("/configz"))["kubeletconfig"]


@pytest.fixture
def node(tmp_path):
    made = Node(tmp_path)
    yield made
    made.stop()


# --- swap -----------------------------------------------------------------------------------------------------------


def test_swap_on_is_refused_in_the_kubelets_own_words(node):
    node.file("proc/swaps", SWAP)
    assert node.fails() == REFUSED


def test_older_releases_say_it_in_other_words(node):
    node.environment["STANDIN_VERSION"] = "v1.30.14"
    node.file("proc/swaps", SWAP)
    error = node.fails()
    assert error.startswith(
        "failed to run Kubelet: running with swap on is not supported, please disable swap! "
        "or set --fail-swap-on flag to false. /proc/swaps contained: [Filename"
    )
    assert "/dev/nvme0n1" in error


def test_swap_on_is_no_matter_when_it_is_allowed(node):
    node.file("proc/swaps", SWAP)
    node.config("failSwapOn: false\n")
    node.runs()


def test_swap_is_looked_at_once(node):
    node.runs()
    node.file("proc/swaps", SWAP)
    assert node.get("/healthz") == "ok"
    assert node.fails() == REFUSED


@pytest.mark.parametrize(
    ("release", "behavior", "gate", "error"),
    [
        ("v1.28.0", "LimitedSwap", "", "cannot be set when NodeSwap feature flag is disabled"),
        ("v1.28.0", "UnlimitedSwap", "featureGates: {NodeSwap: true}\n", None),
        (
            "v1.29.0",
            "NoSwap",
            "featureGates: {NodeSwap: true}\n",
            'must be one of: "", "LimitedSwap", or "UnlimitedSwap"',
        ),
        ("v1.30.0", "LimitedSwap", "", None),
        ("v1.30.0", "UnlimitedSwap", "", '"UnlimitedSwap" must be one of: "", "LimitedSwap" or "NoSwap"'),
        (
            "v1.33.0",
            "NoSwap",
            "featureGates: {NodeSwap: false}\n",
            "cannot be set when NodeSwap feature flag is disabled",
        ),
        ("v1.34.0", "NoSwap", "", None),
        ("v1.34.0", "", "featureGates: {NodeSwap: false}\n", "feature is locked to true"),
    ],
)
def test_the_swap_behavior_that_a_release_knows(node, release, behavior, gate, error):
    node.environment["STANDIN_VERSION"] = release
    node.config(f'{gate}memorySwap: {{swapBehavior: "{behavior}"}}\n')
    if error:
        assert error in node.fails()
    else:
        node.runs()


# --- files, drop-ins, flags -----------------------------------------------------------------------------------------


def test_a_flag_wins_over_the_drop_in_and_the_drop_in_over_the_file(node):
    node.config("failSwapOn: true\nmaxPods: 10\n")
    node.drop_in("90.conf", "failSwapOn: false\nmaxPods: 20\n")
    node.runs(directory=True)
    assert (node.configz()["failSwapOn"], node.configz()["maxPods"]) == (False, 20)
    text = node.runs("--fail-swap-on", "--max-pods=30", directory=True)
    assert (node.configz()["failSwapOn"], node.configz()["maxPods"]) == (True, 30)
    assert "Flag --fail-swap-on has been deprecated" in text


def test_drop_ins_are_merged_in_the_order_of_their_names(node):
    node.config("evictionHard: {memory.available: 200Mi}\nclusterDNS: [10.0.0.1, 10.0.0.2]\nclusterDomain: a.b\n")
    node.drop_in("20.conf", "maxPods: 20\nclusterDNS: [10.9.9.9]\n")
    node.drop_in("10.conf", "maxPods: 10\nevictionHard: {nodefs.available: 5%}\nclusterDomain: null\n")
    node.drop_in("15.d/x.conf", "podsPerCore: 7\n")
    node.drop_in("99.yaml", "maxPods: 99\n")
    node.runs(directory=True)
    found = node.configz()
    assert (found["maxPods"], found["podsPerCore"], found["clusterDNS"]) == (20, 7, ["10.9.9.9"])
    assert found["evictionHard"] == {"memory.available": "200Mi", "nodefs.available": "5%"}
    assert "clusterDomain" not in found


def test_a_partial_eviction_hard_zeroes_the_rest_in_the_file_but_not_in_a_drop_in(node):
    node.config("")
    node.drop_in("90.conf", "evictionHard: {memory.available: 1Gi}\n")
    node.runs(directory=True)
    assert node.configz()["evictionHard"]["nodefs.available"] == "10%"
    node.config("evictionHard: {memory.available: 1Gi}\n")
    node.runs()
    assert node.configz()["evictionHard"] == {"memory.available": "1Gi"}


@pytest.mark.parametrize("release", ["v1.28.3", "v1.29.1"])
def test_old_releases_need_a_variable_for_drop_ins(node, release):
    node.environment["STANDIN_VERSION"] = release
    node.drop_in("90.conf", "maxPods: 20\n")
    assert "environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA not set, cannot start kubelet" in node.fails(
        directory=True
    )
    node.environment["KUBELET_CONFIG_DROPIN_DIR_ALPHA"] = ""
    node.runs(directory=True)
    assert node.configz()["maxPods"] == 20


@pytest.mark.parametrize(
    ("head", "text", "error"),
    [
        ("", "maxPods: 5\n", "Object 'Kind' is missing"),
        ("kind: KubeletConfiguration\n", "maxPods: 5\n", "unknown apiVersion/kind"),
        ("apiVersion: v1\nkind: ConfigMap\n", "maxPods: 5\n", "unknown apiVersion/kind: v1, Kind=ConfigMap"),
        (
            HEAD,
            "maxPods: 5\nmaxPods: 6\n",
            'strict decoding error: yaml: unmarshal errors:\n  line 4: key "maxPods" already',
        ),
        (
            HEAD,
            'failSwapOn: "false"\n',
            "cannot unmarshal string into Go struct field KubeletConfiguration.failSwapOn of type bool",
        ),
        (HEAD, "memorySwap: [\n", "yaml: line"),
        ("", "", "was empty"),
    ],
)
def test_a_bad_drop_in_ends_the_kubelet(node, head, text, error):
    path = node.drop_in("90.conf", text, head)
    found = node.fails(directory=True)
    assert found.startswith("failed to merge kubelet configs: ")
    assert error in found
    assert str(path) in found or "merged JSON" in found


def test_a_drop_in_may_name_what_does_not_exist(node):
    """encoding/json drops it without a word, and takes names in any case; then the right one is read later and wins."""
    node.drop_in("90.conf", "noSuchSetting: 1\nFailSwapOn: false\nMemorySwap: {SwapBehavior: LimitedSwap}\n")
    assert "lenient" not in node.runs(directory=True)
    assert node.configz()["failSwapOn"] is True
    assert node.configz()["memorySwap"] == {"swapBehavior": "LimitedSwap"}


def test_a_missing_directory_of_drop_ins_ends_the_kubelet(node):
    error = node.fails(f"--config-dir={node.folder}/nowhere")
    assert f"lstat {node.folder}/nowhere: no such file or directory" in error


def test_the_file_is_read_leniently_where_only_strictness_refuses_it(node):
    node.config("failSwapOn: true\nFailSwapOn: false\nmemorySwap: {behavior: x}\nmaxPods: 5\nmaxPods: 6\n")
    log = node.runs()
    assert "Using lenient decoding as strict decoding failed" in log
    for problem in (
        'key \\"maxPods\\" already set in map',
        'unknown field \\"FailSwapOn\\"',
        'unknown field \\"memorySwap.behavior\\"',
    ):
        assert problem in log.replace('\\\\"', '\\"')
    assert (node.configz()["failSwapOn"], node.configz()["maxPods"]) == (True, 6)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('maxPods: "5"\n', "cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"),
        (
            "failSwapOn: 0\n",
            "cannot unmarshal number into Go struct field KubeletConfiguration.failSwapOn of type bool",
        ),
        (
            "maxPods: 1.5\n",
            "cannot unmarshal number 1.5 into Go struct field KubeletConfiguration.maxPods of type int32",
        ),
        ("memorySwap: LimitedSwap\n", "Go struct field KubeletConfiguration.memorySwap of type v1beta1.MemorySwap"),
        (
            "memorySwap: {swapBehavior: true}\n",
            "Go struct field MemorySwapConfiguration.memorySwap.swapBehavior of type string",
        ),
        (
            "kubeReserved: {cpu: 1}\n",
            "cannot unmarshal number into Go struct field KubeletConfiguration.kubeReserved of type",
        ),
        ("syncFrequency: 60\n", "json: cannot unmarshal number into Go value of type string"),
        ("syncFrequency: '60'\n", 'time: missing unit in duration "60"'),
        ("maxPods: [5\n", "yaml: line"),
    ],
)
def test_a_file_that_cannot_be_decoded_ends_the_kubelet(node, text, error):
    node.config(text)
    found = node.fails()
    assert found.startswith(f"failed to load kubelet config file, path: {node.folder}/config.yaml, error: ")
    assert error in found


def test_a_field_is_known_from_its_release_on(node):
    node.config("mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}\n")
    node.environment["STANDIN_VERSION"] = "v1.32.9"
    assert 'unknown field \\"mergeDefaultEvictionSettings\\"' in node.runs()
    node.environment["STANDIN_VERSION"] = "v1.33.0"
    assert "unknown field" not in node.runs()
    assert node.configz()["evictionHard"]["nodefs.available"] == "10%"


def test_json_is_yaml(node):
    node.config("", head="")
    data = yaml.safe_load(HEAD + OPEN + (node.folder / "config.yaml").read_text(encoding="utf-8"))
    node.file("config.yaml", json.dumps({**data, "maxPods": 17}))
    node.runs()
    assert node.configz()["maxPods"] == 17


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--no-such-flag=1"], "failed to parse kubelet flag: unknown flag: --no-such-flag"),
        (["--fail-swap-on=nein"], 'invalid argument "nein" for "--fail-swap-on" flag: strconv.ParseBool'),
        (["--max-pods"], "flag needs an argument: --max-pods"),
        (["agent"], "unknown command agent"),
        (["--kubeconfig=/nowhere", "--bootstrap-kubeconfig=/none"], "unable to load bootstrap kubeconfig: stat /none"),
    ],
)
def test_flags_that_end_the_kubelet(node, flags, error):
    assert error in node.fails(*flags)


def test_flags_of_all_kinds(node):
    node.config("featureGates: {A: true, B: true}\n")
    node.runs(
        *["--feature-gates", "B=false,C=true", "--system-reserved=cpu=500m,memory=1Gi", "-v=2"],
        *["--eviction-hard=memory.available<300Mi", "--cluster-dns=1.2.3.4,1.2.3.5", "--sync_frequency=90s"],
        *["--reserved-memory=0:memory=1Gi;1:memory=2Gi", "--image-gc-high-threshold=90"],
    )
    found = node.configz()
    assert found["featureGates"] == {"A": True, "B": False, "C": True}
    assert found["systemReserved"] == {"cpu": "500m", "memory": "1Gi"}
    assert found["evictionHard"] == {"memory.available": "300Mi"}
    assert found["clusterDNS"] == ["1.2.3.4", "1.2.3.5"]
    assert (found["syncFrequency"], found["imageGCHighThresholdPercent"]) == ("1m30s", 90)
    assert found["reservedMemory"][1] == {"numaNode": 1, "limits": {"memory": "2Gi"}}


def test_reserved_cpus_and_a_cgroup_exclude_each_other(node):
    node.config("reservedSystemCPUs: 0-1\nsystemReservedCgroup: /system.slice\n")
    assert "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup" in node.fails()


# --- CPU manager and memory manager ---------------------------------------------------------------------------------

STATIC = "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}\n"


def test_the_cpu_managers_state_belongs_to_its_policy(node):
    node.runs()
    state = node.root / "cpu_manager_state"
    node.config(STATIC)
    assert node.fails() == (
        'start cpu manager error: could not restore state from checkpoint: configured policy "static" differs '
        'from state checkpoint policy "none", please drain this node and delete the CPU manager checkpoint file '
        f'"{state}" before restarting Kubelet'
    )
    state.unlink()
    node.runs()
    assert json.loads(state.read_text(encoding="utf-8"))["defaultCpuSet"] == "0-3"


def test_it_is_written_only_when_it_changes(node):
    node.config(STATIC)
    node.runs()
    before = (node.root / "cpu_manager_state").stat()
    node.runs()
    assert (node.root / "cpu_manager_state").stat().st_mtime_ns == before.st_mtime_ns


def test_other_cpus_do_not_fit_the_state(node):
    node.config(STATIC)
    node.runs()
    node.file("sys/devices/system/cpu/online", "0-7\n")
    assert 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-3"' in node.fails()


def test_strict_reservation_does_not_fit_a_state_without(node):
    options = "reservedSystemCPUs: 0-1\ncpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n"
    node.config(STATIC)
    node.runs()
    node.config(f"cpuManagerPolicy: static\n{options}")
    assert 'some of strictly reserved cpus: "0-1" are present in defaultCpuSet: "0-3"' in node.fails()


def test_the_static_policy_needs_a_reservation(node):
    node.config("cpuManagerPolicy: static\n")
    assert node.fails() == (
        "failed to run Kubelet: [cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu "
        "to be greater than zero"
    )


MEMORY = "memoryManagerPolicy: Static\nkubeReserved: {memory: 412Mi}\n"
RESERVED = "reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'the total amount "0" of type "memory" is not equal to the value "512Mi"'),
        ("reservedMemory: [{numaNode: 7, limits: {memory: 512Mi}}]\n", "references a NUMA node 7 that does not exist"),
        ("reservedMemory: [{numaNode: 0, limits: {memory: 0}}]\n", "reserved memory may not be zero for NUMA node 0"),
        (
            "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]\n",
            'the limit type "cpu" for NUMA node 0 is not supported',
        ),
    ],
)
def test_reserved_memory_that_does_not_add_up(node, text, error):
    node.config(MEMORY + text)
    assert error in node.fails()


def test_huge_pages_are_part_of_the_memory_managers_state(node):
    node.config(MEMORY + RESERVED)
    node.runs()
    node.file("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "64\n")
    assert "[memorymanager] the expected machine state is different from the real one" in node.fails()
    (node.root / "memory_manager_state").unlink()
    node.runs()
    state = json.loads((node.root / "memory_manager_state").read_text(encoding="utf-8"))["machineState"]
    assert state["1"]["memoryMap"]["hugepages-2Mi"]["total"] == 64 << 21


# --- what it serves and reports -------------------------------------------------------------------------------------


def test_the_configuration_is_shown_as_go_writes_it(node):
    node.config("protectKernelDefaults: false\nsyncFrequency: 5m\nmemorySwap: {}\nnodeStatusUpdateFrequency: 0s\n")
    node.runs()
    found = node.configz()
    assert "protectKernelDefaults" not in found  # false and no pointer
    assert (found["failSwapOn"], found["memorySwap"], found["syncFrequency"]) == (True, {}, "5m0s")
    assert found["nodeStatusUpdateFrequency"] == "10s"
    assert found["authentication"]["anonymous"] == {"enabled": True}


def test_healthz_is_plain_http_for_this_machine(node):
    node.runs()
    with urllib.request.urlopen(f"http://127.0.0.1:{node.healthz_port}/healthz", timeout=10) as answer:
        assert answer.read() == b"ok"
    assert json.loads(node.get("/pods"))["kind"] == "PodList"


def test_who_is_not_known_gets_no_answer(node):
    node.config("authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}\n", head=HEAD)
    node.runs("--authorization-mode=AlwaysAllow")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        node.get("/configz")


def test_webhooks_need_an_api_server(node):
    node.config("", head=HEAD)
    assert node.fails() == "failed to run Kubelet: no client provided, cannot use webhook authentication"


def test_debugging_handlers_can_be_off(node):
    node.config("enableDebuggingHandlers: false\n")
    node.runs()
    with pytest.raises(urllib.error.HTTPError, match="405"):
        node.get("/configz")


@pytest.mark.parametrize(
    ("release", "swap", "reported"), [("v1.32.0", 8, None), ("v1.33.0", 8, {"capacity": 8 << 10}), ("v1.33.0", 0, None)]
)
def test_the_nodes_status(node, monkeypatch, release, swap, reported):
    node.file("proc/meminfo", f"MemTotal: 4194304 kB\nSwapTotal: {swap} kB\n")
    for name in ("PROC", "SYS"):
        monkeypatch.setenv(f"STANDIN_{name}", node.environment[f"STANDIN_{name}"])
    monkeypatch.setenv("STANDIN_VERSION", release)
    monkeypatch.setenv("STANDIN_ADVERTISE", "127.0.0.1:40001")
    for cached in (kubelet.minor, kubelet.fields):
        monkeypatch.setattr(kubelet, cached.__name__, cached.__wrapped__)
    config = kubelet.load(kubelet.parse_flags(["--kube-reserved=cpu=1,memory=924Mi"]))
    machine = kubelet.Machine.look()
    status = kubelet.Node(None, "n1", config, machine, {})._status({}, ready=True)
    assert status["nodeInfo"].get("swap") == reported
    assert status["nodeInfo"]["kubeletVersion"] == release
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 40001}}
    assert status["addresses"][0] == {"type": "InternalIP", "address": "127.0.0.1"}
    assert status["conditions"][-1]["type"] == "Ready"
    assert status["conditions"][-1]["status"] == "True"
    assert (status["capacity"]["memory"], status["allocatable"]["memory"]) == ("4194304Ki", "3145728Ki")
    assert (status["capacity"]["cpu"], status["allocatable"]["cpu"]) == ("4", "3000m")


def test_it_ends_by_sigterm(node):
    node.runs()
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(10) == 0


def test_versions(node):
    for program, version, wanted in (
        ("kubelet", "v1.33.1", "Kubernetes v1.33.1\n"),
        ("k3s", "v1.33.1+k3s1", "k3s version v1.33.1+k3s1 (0f1e2d3c)\ngo version go1.24.6\n"),
    ):
        path = node.file(f"bin/{program}", LAUNCHER)
        done = subprocess.run(
            [sys.executable, str(path), "--version"],
            env={**node.environment, "STANDIN_VERSION": version},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == wanted


# --- k3s ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def k3s(node):
    """A function that starts `k3s agent` with the text of its config.yaml, and gives its log."""
    program = node.file("bin/k3s", LAUNCHER)
    agent = node.folder / "rancher/agent"
    for name in ("crt", "key"):
        text = (node.root / f"pki/kubelet.{name}").read_text(encoding="utf-8")
        node.file(f"rancher/agent/serving-kubelet.{name}", text)
    node.file(
        "rancher/agent/kubelet.kubeconfig",
        "current-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: t}}]\n",
    )
    ports = f"port: {node.port}\nhealthzPort: {node.healthz_port}\naddress: 127.0.0.1\n"
    node.drop_ins = agent / "etc/kubelet.conf.d"
    node.file("rancher/agent/etc/kubelet.conf.d/50.conf", HEAD + OPEN + ports)

    def start(config="{}\n"):
        node.file("config.yaml", config)
        node.file("config.yaml.d/90.yaml", f"kubelet-arg+: [root-dir={node.root}]\n")
        options = [f"--config={node.folder}/config.yaml", f"--data-dir={node.folder}/rancher"]
        return node.start_program(str(program), "agent", *options)

    return start


def test_k3s_allows_swap_by_itself(node, k3s):
    node.file("proc/swaps", SWAP)
    assert RUNNING in k3s()
    assert node.configz()["failSwapOn"] is False
    assert "failSwapOn: false" in (node.drop_ins / "00-k3s-defaults.conf").read_text(encoding="utf-8")


def test_an_argument_of_k3s_wins(node, k3s):
    node.file("proc/swaps", SWAP)
    log = k3s("node-name: n1\nkubelet-arg:\n- fail-swap-on=true\n")
    assert node.process.wait(10) == 1
    assert f'level=fatal msg="kubelet exited: {REFUSED}"' in log
    assert "--hostname-override=n1" in log


def test_k3s_before_1_32_knows_flags_only(node, k3s):
    node.environment["STANDIN_VERSION"] = "v1.31.9+k3s1"
    node.file("proc/swaps", SWAP)
    log = k3s(f"kubelet-arg: [port={node.port}, healthz-port={node.healthz_port}, address=127.0.0.1]\n")
    assert RUNNING in log
    assert "--fail-swap-on=false" in log
    assert "--config-dir" not in log


# --- layouts and their installation ---------------------------------------------------------------------------------


class Host:
    """A lab that keeps what it is told."""

    def __init__(self, forwards):
        self.forwards = forwards
        self.config = SimpleNamespace(name="k1")
        self.commands = []
        self.files = {}

    def run(self, command, input=None):
        self.commands.append(" ".join(command))
        if input:
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(input))) as archive:
                for entry in archive:
                    text = archive.extractfile(entry).read().decode() if entry.isfile() else entry.linkname
                    self.files[f"/{entry.name}"] = (entry.mode, text)


class Server:
    port = 6443

    def node_kubeconfig(self, node, server):
        return f"{node} {server}"


@pytest.fixture
def host():
    return Host({10250: 40001})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_joins_the_api(host, layout):
    installed = install(host, layout, "v1.34.1", Server(), node="n1")
    place = LAYOUTS[layout]
    assert host.files[place.kubeconfig] == (0o600, "n1 https://10.0.2.2:6443")
    assert host.files[installed.program][0] == 0o755
    settings = json.loads(host.files["/usr/local/lib/kubelet-standin/settings.json"][1])
    assert settings["advertise"] == "127.0.0.1:40001"
    assert settings["version"].startswith("v1.34.1")
    assert "/usr/local/lib/kubelet-standin/yaml/reader.py" in host.files
    unit = next(text for path, (_mode, text) in host.files.items() if path.endswith(f"/{installed.unit}"))
    assert installed.program in unit
    assert "@" not in unit
    assert host.commands[1:] == [f"systemctl enable {installed.unit}", f"systemctl restart {installed.unit}"]


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "k3s"])
@pytest.mark.parametrize("release", ["v1.28.0", "v1.36.0"])
def test_a_layouts_configuration_is_one_that_its_kubelet_takes(host, layout, release, monkeypatch):
    monkeypatch.setenv("STANDIN_VERSION", release)
    for cached in (kubelet.minor, kubelet.fields):
        monkeypatch.setattr(kubelet, cached.__name__, cached.__wrapped__)
    installed = install(host, layout, release, Server())
    data, repeated = kubelet.parse_yaml(host.files[installed.config][1])
    decoder = kubelet.Decoder(lenient=False)
    config = decoder.struct(data)
    kubelet.set_defaults(config)
    kubelet.validate(config)
    assert not repeated
    assert not decoder.unknown
    assert config["failSwapOn"] is True


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "k3s"])
def test_without_an_api_anyone_may_ask(host, layout):
    installed = install(host, layout, "v1.34.1", config={"failSwapOn": False, "memorySwap": {"swapBehavior": "NoSwap"}})
    found = yaml.safe_load(host.files[installed.config][1])
    assert found["authorization"]["mode"] == "AlwaysAllow"
    assert found["memorySwap"] == {"swapBehavior": "NoSwap"}


@pytest.mark.parametrize(
    ("layout", "path"),
    [
        ("kubeadm", "/etc/default/kubelet"),
        ("kubespray", "/etc/kubernetes/kubelet.env"),
        ("bare", "/etc/systemd/system/kubelet.service"),
        ("k3s", "/etc/rancher/k3s/config.yaml"),
    ],
)
def test_flags_stand_where_the_layout_has_them(host, layout, path):
    install(host, layout, "v1.34.1", Server(), flags=["--fail-swap-on=true"], start=False)
    assert "fail-swap-on=true" in host.files[path][1]
    assert host.commands[-1] == f"systemctl enable {LAYOUTS[layout].unit}"


@pytest.mark.parametrize(
    ("layout", "release", "reads"),
    [("bare", "v1.29.9", False), ("bare", "v1.30.0", True), ("kubeadm", "v1.34.0", False)],
)
def test_a_directory_of_drop_ins_is_named_only_where_it_is_read(host, layout, release, reads):
    installed = install(host, layout, release, Server())
    unit = next(text for path, (_mode, text) in host.files.items() if path.endswith("system/kubelet.service"))
    assert (installed.config_dir is not None) == reads == ("--config-dir=" in unit)


def test_kubespray_masks_swap(host):
    install(host, "kubespray", "v1.34.1", Server())
    assert host.files["/etc/systemd/system/swap.target"][1] == "/dev/null"


def test_a_file_nobody_changes_keeps_its_comments():
    assert merged("a: 1  # why\n", {}) == "a: 1  # why\n"


@pytest.mark.parametrize(
    ("layout", "release", "api", "forwards", "error"),
    [
        ("rke", "v1.34.1", None, {}, "layout 'rke' is not known; wanted one of kubeadm"),
        ("bare", "1.34", None, {}, "release '1.34' is none; wanted one such as v1.34.1"),
        (
            "bare",
            "v1.34.1",
            Server(),
            {},
            r"does not forward port 10250; make it with Lab.up\('k1', forward=\[10250\]\)",
        ),
        ("k3s", "v1.31.1", None, {}, "reads no drop-ins"),
    ],
)
def test_what_cannot_be_installed(layout, release, api, forwards, error):
    host = Host(forwards)
    with pytest.raises(LabError, match=error):
        install(host, layout, release, api)
    assert not host.commands
