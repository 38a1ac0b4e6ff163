"""The node proxy of the lab's API, with a kubelet in the test that asks who is calling. Not for a real cluster: it
would have to reach the test's loopback."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from kube_api import connected, status_of
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from lab.kube import Api, certificates


class Kubelet(BaseHTTPRequestHandler):
    """Answers what it was asked and by whom, after a TokenReview and a SubjectAccessReview with the node's rights."""

    api: client.ApiClient

    def do_GET(self) -> None:
        token = self.headers["Authorization"].removeprefix("Bearer ")
        user = client.AuthenticationV1Api(self.api).create_token_review({"spec": {"token": token}}).status.user
        asked = {"verb": "get", "resource": "nodes", "subresource": "proxy", "name": "n1"}
        spec = {"user": user.username, "groups": user.groups, "resourceAttributes": asked}
        review = client.AuthorizationV1Api(self.api).create_subject_access_review({"spec": spec})
        answer = json.dumps({"path": self.path, "user": user.username, "allowed": review.status.allowed}).encode()
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words: Any) -> None:
        """Quiet."""


@pytest.fixture
def core(lab_api: Api, tmp_path: Path) -> Iterator[client.CoreV1Api]:
    with connected(lab_api.kubeconfig, tmp_path) as found:
        yield client.CoreV1Api(found.client)


@pytest.fixture
def kubelet_port(lab_api: Api, tmp_path: Path) -> Iterator[int]:
    certificates.make(tmp_path)
    kubeconfig = tmp_path / "node.kubeconfig"
    kubeconfig.write_text(lab_api.node_kubeconfig("n1", lab_api.url), encoding="utf-8")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    with HTTPServer(("127.0.0.1", 0), Kubelet) as server, config.new_client_from_config(str(kubeconfig)) as api:
        Kubelet.api = api
        server.socket = context.wrap_socket(server.socket, server_side=True)
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server.server_port
        server.shutdown()
        serving.join()


def register(core: client.CoreV1Api, port: int) -> None:
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    core.create_node({"metadata": {"name": "n1"}, "status": status})


def get(core: client.CoreV1Api, path: str, **query: str) -> Any:
    answer = core.api_client.rest_client.request(
        "GET",
        f"{core.api_client.configuration.host}/api/v1/nodes/n1/proxy/{path}?"
        + "&".join(f"{k}={v}" for k, v in query.items()),
        headers={"Authorization": core.api_client.configuration.get_api_key_with_prefix("BearerToken")},
    )
    answer.read()
    return answer.status, json.loads(answer.data)


def test_the_kubelet_is_asked_by_the_api_server(core, kubelet_port):
    register(core, kubelet_port)
    code, answer = get(core, "configz")
    assert (code, answer["path"], answer["allowed"]) == (200, "/configz", True)
    assert answer["user"] == "kube-apiserver-kubelet-client"
    assert get(core, "a/b", x="1", y="2")[1]["path"] == "/a/b?x=1&y=2"
    assert get(core, "none")[0] == 404


def test_a_kubelet_that_does_not_answer(core):
    register(core, 1)
    with pytest.raises(ApiException) as refused:
        core.connect_get_node_proxy_with_path("n1", "configz")
    status = status_of(refused.value)
    assert (status["code"], status["reason"]) == (503, "ServiceUnavailable")
    assert status["message"] == "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"


def test_a_node_without_an_address(core):
    core.create_node({"metadata": {"name": "n1"}})
    with pytest.raises(ApiException) as refused:
        core.connect_get_node_proxy_with_path("n1", "configz")
    assert status_of(refused.value)["message"] == "no preferred addresses found; known addresses: []"


def test_a_node_does_what_kubelets_do_and_no_more(lab_api, tmp_path):
    kubeconfig = tmp_path / "node.kubeconfig"
    kubeconfig.write_text(lab_api.node_kubeconfig("n1", lab_api.url), encoding="utf-8")
    with config.new_client_from_config(str(kubeconfig)) as api:
        core, leases = client.CoreV1Api(api), client.CoordinationV1Api(api)
        core.create_node({"metadata": {"name": "n1"}})
        core.patch_node_status("n1", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        leases.create_namespaced_lease("kube-node-lease", {"metadata": {"name": "n1"}, "spec": {}})
        with pytest.raises(ApiException) as refused:
            core.delete_node("n1")
    message = 'nodes "n1" is forbidden: User "system:node:n1" cannot delete resource "nodes" in API group ""'
    assert status_of(refused.value)["message"].startswith(message)
