# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pool_sync against an API server and kubelets: reading, permissions, restarts, the playbook.

These are the lab's, as processes of this machine. What does no harm runs on all nodes of a real cluster instead where
HOSTPREP_TEST_KUBECONFIG names one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import kube_api as test_api
import kubernetes
import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.action import pool_sync
from ansible_collections.virt.hostprep.plugins.module_utils import pool
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.plugins.plugin_utils import kube_api
from lab import kubelet as lab_kubelet
from lab.kube import Api, certificates

Data = dict[str, t.Any]

ROOT = Path(__file__).parents[3]
NAMES = ["node-1", "node-2"]
WANTED = {"enableServer": True}  # or there would be no /configz: every pool is in sync with it
STAND_IN = Path(lab_kubelet.__file__).parent / "kubelet.py"

NODES_RULE = {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["nodes"]}
LEASES_RULE = {"verbs": ["list", "watch"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
PROXY_RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes/proxy"]}
CONFIGZ_RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes/configz"]}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Kubelet:
    """A kubelet stand-in as a process of this machine."""

    def __init__(self, name: str, api: Api, folder: Path, certificate_of: Path) -> None:
        self.name = name
        self._folder = folder
        self._certificate_of = certificate_of
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        (folder / "kubeconfig").write_text(api.node_kubeconfig(name, api.url))

    def start(self, **settings: t.Any) -> None:
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": self._port,
            "healthzPort": 0,
            "failSwapOn": False,
            "tlsCertFile": f"{self._certificate_of}/server.crt",
            "tlsPrivateKeyFile": f"{self._certificate_of}/server.key",
            **settings,
        }
        (self._folder / "config.yaml").write_text(yaml.safe_dump(config))
        flags = ["--config", self._folder / "config.yaml", "--kubeconfig", self._folder / "kubeconfig"]
        flags += ["--hostname-override", self.name, "--root-dir", self._folder / "root"]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, STAND_IN, *flags],
                stdout=log,
                stderr=log,
                env={**os.environ, "STANDIN_VERSION": "v1.33.1", "STANDIN_ADVERTISE": f"127.0.0.1:{self._port}"},
            )

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def restart(self, **settings: t.Any) -> None:
        self.stop()
        self.start(**settings)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Api]:
    started = Api.start(tmp_path_factory.mktemp("api"))
    yield started
    if started.running:
        started.stop()


@pytest.fixture(scope="module")
def kubelets(api: Api, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[dict[str, Kubelet]]:
    """Two nodes. Their certificate, that of the API server, is signed by the CA of the kubeconfig for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("kubelets")
    found = {name: Kubelet(name, api, folder / name, certificate_of=api.folder) for name in NAMES}
    for one in found.values():
        one.start()
    wait_for(api.kubeconfig, NAMES, WANTED)
    yield found
    for one in found.values():
        one.stop()


class Pool(t.NamedTuple):
    """Nodes that are in sync with WANTED, in the lab or in a real cluster."""

    cluster: test_api.Cluster
    names: list[str]

    def look(self, kubeconfig: Path) -> Data:
        """What a user sees of the pool at once."""
        reader = kube_api.Api(str(kubeconfig), None)
        wait = pool_sync.Wait(reader, self.names, pool.Wanted(WANTED, {}), lambda _line: None, time.monotonic)
        try:
            wait.until(0)
        finally:
            reader.close()
        return wait.report()


@pytest.fixture(scope="module")
def some(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Pool]:
    if test_api.VARIABLE in os.environ:
        with test_api.cluster(tmp_path_factory.mktemp("real")) as real:
            reader = kube_api.Api(str(real.kubeconfig), None)
            names = sorted(reader.nodes())
            reader.close()
            yield Pool(real, names)
    else:
        request.getfixturevalue("kubelets")
        yield Pool(request.getfixturevalue("api"), NAMES)


@pytest.fixture
def reader(some: Pool) -> t.Iterator[kube_api.Api]:
    connected = kube_api.Api(str(some.cluster.kubeconfig), None)
    yield connected
    connected.close()


def wait_for(kubeconfig: Path, names: list[str], kubelet: Data, timeout: float = 60) -> list[str]:
    """As the action waits; returns what was said."""
    said: list[str] = []
    reader = kube_api.Api(str(kubeconfig), None)
    deadline = time.monotonic() + timeout
    try:
        while True:  # nodes that register themselves only now are no pool yet
            try:
                missing = set(names) - reader.nodes().keys()
            except kube_api.Unavailable:
                missing = set(names)
            if not missing or time.monotonic() > deadline:
                break
            reader.wait(0.5)
        wait = pool_sync.Wait(reader, names, pool.Wanted(kubelet, {}), said.append, time.monotonic)
        wait.until(timeout)
    finally:
        reader.close()
    return said


# --- reading ------------------------------------------------------------------------------------------------------


def test_everything_of_every_node(reader: kube_api.Api, some: Pool) -> None:
    nodes = reader.nodes()
    assert sorted(nodes) == some.names
    leases = reader.leases()
    assert leases is not None
    assert set(leases) >= set(some.names)
    assert abs(reader.now() - time.time()) < 5
    for answer in reader.configz([nodes[name] for name in some.names]):
        assert answer.config is not None
        assert (answer.source, answer.config["enableServer"]) == ("proxy", True)


def test_a_selector_that_selects_nothing(some: Pool) -> None:
    reader = kube_api.Api(str(some.cluster.kubeconfig), None, "no-such-label")
    assert reader.nodes() == {}
    reader.close()


def test_a_selector_that_is_none(some: Pool) -> None:
    reader = kube_api.Api(str(some.cluster.kubeconfig), None, "a in (")
    with pytest.raises(HostprepError) as raised:
        reader.nodes()
    assert "400" in raised.value.problems[0].found
    reader.close()


def test_changes_are_told_at_once(reader: kube_api.Api, some: Pool) -> None:
    reader.nodes()
    reader.leases()
    began = time.monotonic()
    changes = reader.wait(15)  # leases are renewed every 10 s
    assert time.monotonic() - began < 14
    assert changes[0].item["metadata"]["name"] in some.names


def test_a_kubelet_that_is_restarted_with_other_settings(api: Api, kubelets: dict[str, Kubelet]) -> None:
    timer = threading.Timer(1.0, kubelets["node-2"].restart, kwargs={"maxPods": 50})
    timer.start()
    try:
        kubelets["node-1"].restart(maxPods=50)
        said = wait_for(api.kubeconfig, NAMES, {"maxPods": 50})
        assert said[-1].startswith("pool_sync: 2/2 nodes run it")
    finally:
        timer.join()


# --- who may read -------------------------------------------------------------------------------------------------


def test_the_least_that_is_needed(some: Pool) -> None:
    nodes = some.look(some.cluster.user_kubeconfig("least", [NODES_RULE, LEASES_RULE, PROXY_RULE]))
    assert {node["source"] for node in nodes.values()} == {"proxy"}
    assert nodes[some.names[0]]["notes"] == []


def test_without_leases_it_is_said(some: Pool) -> None:
    nodes = some.look(some.cluster.user_kubeconfig("no-leases", [NODES_RULE, PROXY_RULE]))
    assert "its Lease cannot be read" in nodes[some.names[0]]["notes"][0]


def test_without_any_right_to_configz_the_missing_rule_is_named(some: Pool) -> None:
    with pytest.raises(HostprepError) as raised:
        some.look(some.cluster.user_kubeconfig("nothing", [NODES_RULE, LEASES_RULE]))
    problem = raised.value.problems[0]
    assert 'cannot get resource "nodes/proxy"' in problem.found
    assert "/configz: " in problem.found
    assert "user 'nothing' of context" in problem.wanted
    assert '{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}' in problem.remedy


def test_without_nodes_the_missing_rule_is_named(some: Pool) -> None:
    with pytest.raises(HostprepError) as raised:
        some.look(some.cluster.user_kubeconfig("no-nodes", [LEASES_RULE, PROXY_RULE]))
    problem = raised.value.problems[0]
    assert "may 'list' 'nodes'" in problem.wanted
    assert "resources: [nodes], verbs: [list, watch]" in problem.remedy


def test_a_watch_that_is_forbidden_is_no_reason_to_wait(some: Pool) -> None:
    rules = [{**NODES_RULE, "verbs": ["list"]}, LEASES_RULE, PROXY_RULE]
    with pytest.raises(HostprepError) as raised:
        wait_for(some.cluster.user_kubeconfig("no-watch", rules), some.names, {"maxPods": 7}, 30)
    assert "may 'watch' 'nodes'" in raised.value.problems[0].wanted


@pytest.mark.usefixtures("kubelets")
def test_without_the_proxy_each_kubelet_is_asked_itself(api: Api) -> None:
    nodes = Pool(api, NAMES).look(api.user_kubeconfig("configz", [NODES_RULE, LEASES_RULE, CONFIGZ_RULE]))
    assert [nodes[name]["source"] for name in NAMES] == ["node", "node"]
    assert nodes["node-1"]["kubelet_config"] == WANTED


def test_no_token_for_a_kubelet_whose_certificate_nobody_signed(api: Api, tmp_path: Path) -> None:
    certificates.make(tmp_path)  # of another CA
    kubelet = Kubelet("node-3", api, tmp_path / "node-3", certificate_of=tmp_path)
    kubelet.start()
    reader = kube_api.Api(str(api.user_kubeconfig("configz", [NODES_RULE, LEASES_RULE, CONFIGZ_RULE])), None)
    try:
        wait_for(api.kubeconfig, ["node-3"], WANTED)  # through the API server it works
        with pytest.raises(HostprepError) as raised:
            reader.configz([reader.nodes()["node-3"]])
        assert "CERTIFICATE_VERIFY_FAILED" in raised.value.problems[0].found
        assert "nodes/proxy" in raised.value.problems[0].remedy
    finally:
        reader.close()
        kubelet.stop()
        with kubernetes.config.new_client_from_config(str(api.kubeconfig)) as client:
            kubernetes.client.CoreV1Api(client).delete_node("node-3")


def kubeconfig_with(api: Api, tmp_path: Path, cluster: Data | None = None, user: Data | None = None) -> Path:
    """The administrator's kubeconfig with other parts."""
    config = yaml.safe_load(api.kubeconfig.read_text())
    config["clusters"][0]["cluster"].update(cluster or {})
    config["clusters"][0]["cluster"] = {
        key: value for key, value in config["clusters"][0]["cluster"].items() if value is not None
    }
    config["users"][0]["user"].update(user or {})
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_kubelet_is_not_asked_without_a_ca(api: Api, tmp_path: Path) -> None:
    """insecure-skip-tls-verify speaks of the API server; it is no leave to send the token to any node."""
    user = yaml.safe_load(api.user_kubeconfig("configz", [NODES_RULE, LEASES_RULE, CONFIGZ_RULE]).read_text())
    cluster: Data = dict.fromkeys(("certificate-authority", "certificate-authority-data"))
    cluster["insecure-skip-tls-verify"] = True
    path = kubeconfig_with(api, tmp_path, cluster, user["users"][0]["user"])
    reader = kube_api.Api(str(path), None)
    node = {
        "metadata": {"name": "node-1"},
        "status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]},
    }
    try:
        with pytest.warns(Warning, match="Unverified HTTPS request"), pytest.raises(HostprepError) as raised:
            reader.configz([node])
        assert "not asked: the kubeconfig has no CA to verify it by" in raised.value.problems[0].found
    finally:
        reader.close()


def test_a_token_that_has_expired(api: Api, tmp_path: Path) -> None:
    with pytest.raises(HostprepError) as raised:
        Pool(api, NAMES).look(kubeconfig_with(api, tmp_path, user={"token": "expired"}))
    problem = raised.value.problems[0]
    assert problem.found.startswith("the API server does not know us: 401")
    assert "of context" in problem.wanted


def test_an_api_server_of_another_ca(api: Api, tmp_path: Path) -> None:
    other = Api.start(tmp_path / "other")
    try:
        with pytest.raises(HostprepError) as raised:
            Pool(api, NAMES).look(kubeconfig_with(api, tmp_path, {"server": other.url}))
        assert "CERTIFICATE_VERIFY_FAILED" in raised.value.problems[0].found
    finally:
        other.stop()


# --- kubeconfigs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [None, "", "- a list\n", "words", "a: [", "apiVersion: v1\nkind: Config\n", "contexts: 5\ncurrent-context: x\n"],
)
def test_kubeconfigs_that_are_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(HostprepError) as raised:
        kube_api.Api(str(path), None)
    assert raised.value.problems[0].found.startswith(f"kubeconfig {path}: ")


def test_a_context_that_does_not_exist(api: Api) -> None:
    with pytest.raises(HostprepError) as raised:
        kube_api.Api(str(api.kubeconfig), "production")
    problem = raised.value.problems[0]
    assert problem.found.startswith("no context 'production' in ")
    assert problem.wanted == "one of lab"


def test_without_the_library_it_says_so_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(HostprepError) as raised:
        kube_api.Api("/no/such/kubeconfig", None)
    problem = raised.value.problems[0]
    assert sys.executable in problem.found
    assert "python3-kubernetes" in problem.remedy


# --- an API server that comes and goes ----------------------------------------------------------------------------


def in_background(api: Api, kubelet: Data) -> tuple[threading.Thread, list[str]]:
    said: list[str] = []
    reader = kube_api.Api(str(api.kubeconfig), None)

    def run() -> None:
        try:
            pool_sync.Wait(reader, NAMES, pool.Wanted(kubelet, {}), said.append, time.monotonic).until(90)
            said.append("in sync")
        finally:
            reader.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, said


def until_said(said: list[str], text: str) -> None:
    deadline = time.monotonic() + 30
    while not any(text in line for line in said):
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def test_an_api_server_that_cannot_now(api: Api, kubelets: dict[str, Kubelet]) -> None:
    api.fault(503, path="^/api")
    thread, said = in_background(api, {"maxPods": 60})
    try:
        until_said(said, "the API server is away, asking again (503 ")
        api.heal()
        for one in kubelets.values():
            one.restart(maxPods=60)
    finally:
        api.heal()
        thread.join()
    assert said[-1] == "in sync", said


def test_connections_that_break(api: Api, kubelets: dict[str, Kubelet]) -> None:
    thread, said = in_background(api, {"maxPods": 61})
    try:
        until_said(said, "0/2 nodes run it")
        api.fault(None, path="^/api")
        until_said(said, "the API server is away")
        api.heal()
        for one in kubelets.values():
            one.restart(maxPods=61)
    finally:
        api.heal()
        thread.join()
    assert said[-1] == "in sync", said


def test_an_api_server_that_is_restarted(api: Api, kubelets: dict[str, Kubelet]) -> None:
    thread, said = in_background(api, {"maxPods": 70})
    try:
        until_said(said, "0/2 nodes run it")
        port = api.port
        api.stop()
        until_said(said, "the API server is away")
        Api.start(api.folder, port)
        for one in kubelets.values():
            one.restart(maxPods=70)
    finally:
        thread.join()
    assert said[-1] == "in sync", said


# --- as a user runs it --------------------------------------------------------------------------------------------

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - virt.hostprep.pool_sync: {options}
      register: synced
      run_once: true
    - ansible.builtin.debug:
        msg: "RESULT {{{{ synced | to_json }}}} END"
      run_once: true
"""


ROLE = """
- hosts: all
  gather_facts: false
  roles: [virt.hostprep.pool_sync]
"""


def playbook(tmp_path: Path, text: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run a play on hosts that nobody can reach."""
    path = tmp_path / "play.yml"
    path.write_text(text)
    program = Path(sys.executable).parent / "ansible-playbook"
    done = subprocess.run(
        [program, "-i", "192.0.2.1,192.0.2.2,", "-e", "ansible_ssh_timeout=1", path, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            **environment,
        },
    )
    return done.returncode, done.stdout + done.stderr


def returned(output: str) -> Data:
    text = output[output.index("RESULT ") + 7 : output.index(" END")]
    found: Data = json.loads(text.replace('\\"', '"').replace("\\\\", "\\"))
    return found


def options(**values: t.Any) -> str:
    return json.dumps(values)


def test_a_playbook_needs_no_connection_to_the_hosts(some: Pool, tmp_path: Path) -> None:
    wanted = options(kubeconfig=str(some.cluster.kubeconfig), nodes=some.names, kubelet=WANTED, timeout=30)
    code, output = playbook(tmp_path, PLAY.format(options=wanted))
    assert code == 0, output
    assert f"pool_sync: {len(some.names)}/{len(some.names)} nodes run it" in output
    assert "UNREACHABLE" not in output
    result = returned(output)
    assert (result["changed"], sorted(result["nodes"])) == (False, some.names)


def test_check_mode_says_what_it_would_wait_for(some: Pool, tmp_path: Path) -> None:
    wanted = options(kubeconfig=str(some.cluster.kubeconfig), nodes=some.names, kubelet={"maxPods": 9}, timeout=20)
    code, output = playbook(tmp_path, PLAY.format(options=wanted), "--check")
    assert code == 0, output
    count = len(some.names)
    assert (
        f"pool_sync: would wait. after 0s {count} of {count} nodes are not in sync; {some.names[0]}: maxPods:" in output
    )
    assert returned(output)["nodes"][some.names[-1]]["waiting_for"][0].startswith("maxPods: wanted 9")


def test_the_role_fails_with_the_state_of_each_node(some: Pool, tmp_path: Path) -> None:
    variables = {
        "hostprep_kubeconfig": str(some.cluster.kubeconfig),
        "pool_sync_nodes": some.names,
        "pool_sync_kubelet": {"maxPods": 9},
        "pool_sync_timeout": 2,
    }
    code, output = playbook(tmp_path, ROLE, "-e", json.dumps(variables))
    assert code != 0, output
    assert f"after 2s {len(some.names)} of {len(some.names)} nodes are not in sync" in output
    assert '"waiting_for": [' in output


def test_the_role_with_a_selector(some: Pool, tmp_path: Path) -> None:
    variables = {
        "hostprep_kubeconfig": str(some.cluster.kubeconfig),
        "pool_sync_label_selector": "kubernetes.io/os=linux",
        "pool_sync_kubelet": WANTED,
        "pool_sync_timeout": 60,
    }
    code, output = playbook(tmp_path, ROLE, "-e", json.dumps(variables))
    assert code == 0, output
    assert "nodes run it" in output


def test_the_role_without_any_kubelet_in_the_play(tmp_path: Path) -> None:
    code, output = playbook(tmp_path, ROLE)
    assert code == 0, output
    assert "No host of this play has a kubelet" in output


def test_a_play_without_the_library(tmp_path: Path) -> None:
    package = tmp_path / "kubernetes"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('not installed')\n")
    code, output = playbook(tmp_path, PLAY.format(options=options(nodes=NAMES)), PYTHONPATH=str(tmp_path))
    assert code != 0
    assert f"does not load in {sys.executable}" in output.replace("\n", " ").replace("  ", " ")
    assert "changed=0" in output


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({}, "one of the following is required: nodes, label_selector"),
        ({"nodes": ["a"], "label_selector": "b"}, "parameters are mutually exclusive: nodes|label_selector"),
        ({"nodes": ["a"], "node": "b"}, "Unsupported parameters"),
        ({"nodes": ["a"], "timeout": "soon"}, "timeout"),
    ],
)
def test_options_that_the_module_does_not_take(tmp_path: Path, wanted: Data, message: str) -> None:
    code, output = playbook(tmp_path, PLAY.format(options=options(**wanted)), "--check")
    assert code != 0
    assert message in output
