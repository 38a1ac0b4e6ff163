"""kubectl on the API: what operators type."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest


def pod(namespace: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "registry.invalid/none"}],
        },
    }


def test_apply(kubectl, namespace):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}}

    def apply(data: dict[str, str], *options: str) -> str:
        return kubectl("apply", *options, "-f", "-", stdin=json.dumps({**manifest, "data": data})).stdout.strip()

    assert apply({"a": "1"}, "--dry-run=server") == "configmap/c created (server dry run)"
    assert apply({"a": "1"}) == "configmap/c created"
    assert apply({"a": "1"}) == "configmap/c unchanged"
    assert apply({"b": "2"}) == "configmap/c configured"
    found = kubectl("get", "configmap", "c", "--namespace", namespace, "--output=jsonpath={.data}").stdout
    assert json.loads(found) == {"b": "2"}
    assert apply({"b": "2"}, "--server-side", "--force-conflicts") == "configmap/c serverside-applied"
    assert kubectl("delete", "configmap", "c", "--namespace", namespace).stdout.startswith('configmap "c" deleted')


def test_apply_of_a_workload_changes_one_field(kubectl, namespace):
    def apply(image: str) -> str:
        containers = [{"name": "main", "image": image, "env": [{"name": "A", "value": "1"}]}]
        manifest = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"app": "d"}},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"nodeSelector": {"no": "node"}, "containers": containers},
                },
            },
        }
        return kubectl("apply", "-f", "-", stdin=json.dumps(manifest)).stdout.strip()

    assert apply("registry.invalid/one") == "daemonset.apps/d created"
    assert apply("registry.invalid/two") == "daemonset.apps/d configured"
    found = json.loads(kubectl("get", "daemonset", "d", "--namespace", namespace, "--output=json").stdout)
    assert [item["image"] for item in found["spec"]["template"]["spec"]["containers"]] == ["registry.invalid/two"]
    assert found["metadata"]["generation"] == 2


def test_a_node_is_drained_and_taken_back(kubectl, namespace, node):
    kubectl("create", "-f", "-", stdin=json.dumps(pod(namespace, node)))
    assert f"node/{node} cordoned" in kubectl("cordon", node).stdout
    assert kubectl("get", "node", node, "--output=jsonpath={.spec.unschedulable}").stdout == "true"
    drained = kubectl("drain", node, "--force", "--ignore-daemonsets", "--timeout=60s")
    assert "pod/p evicted" in drained.stdout
    assert kubectl("get", "pods", "--namespace", namespace, "--output=name").stdout == ""
    assert f"node/{node} uncordoned" in kubectl("uncordon", node).stdout
    kubectl("taint", "nodes", node, "example.com/a=b:NoSchedule")
    taints = kubectl("get", "node", node, "--output=jsonpath={.spec.taints[*].key}").stdout
    assert "example.com/a" in taints


def test_wait_sees_a_condition_come(kubectl, admin, node):
    waiting = subprocess.Popen(
        [*kubectl("version", "--client").args[:3], "wait", f"node/{node}", "--for=condition=Example", "--timeout=60s"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        admin.resources.get(api_version="v1", kind="Node").status.patch(
            {"status": {"conditions": [{"type": "Example", "status": "True"}]}}, name=node
        )
        said, _errors = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
    assert said == f"node/{node} condition met\n"


def test_what_a_user_may_not(kubectl, api, unique):
    kubeconfig = api.user_kubeconfig(unique, [{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}])
    failed = kubectl("get", "nodes", kubeconfig=kubeconfig, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error from server (Forbidden): nodes is forbidden: User ")
    can = kubectl("auth", "can-i", "list", "nodes", kubeconfig=kubeconfig, check=False)
    assert (can.stdout.strip(), can.returncode) == ("no", 1)
    assert kubectl("auth", "can-i", "get", "nodes", kubeconfig=kubeconfig).stdout.strip() == "yes"


@pytest.mark.parametrize("kind", ["nodes", "pods", "daemonsets.apps", "pdb", "leases.coordination.k8s.io", "crds"])
def test_kinds_are_discovered(kubectl, kind):
    assert kubectl("get", kind, "--all-namespaces", "--output=name").returncode == 0
