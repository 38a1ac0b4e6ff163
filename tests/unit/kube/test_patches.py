"""PATCH: JSON, merge, strategic merge, apply."""

from __future__ import annotations

from typing import Any

import pytest
from kube_api import status_of
from kubernetes.dynamic.exceptions import DynamicApiError, UnprocessibleEntityError

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def nodes(admin) -> Any:
    return admin.resources.get(api_version="v1", kind="Node")


@pytest.fixture
def configmap(admin, namespace) -> Any:
    """patch(body, content_type) of a ConfigMap {a: 1, b: 2}; returns its data."""
    configmaps = admin.resources.get(api_version="v1", kind="ConfigMap")
    configmaps.create({"metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}, namespace=namespace)

    def patch(body: Any, content_type: str, **options: Any) -> dict[str, str]:
        return configmaps.patch(body, name="c", namespace=namespace, content_type=content_type, **options).to_dict()[
            "data"
        ]

    return patch


def test_merge_patch(configmap):
    assert configmap({"data": {"a": None, "c": "3"}}, MERGE) == {"b": "2", "c": "3"}


def test_json_patch(configmap):
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/b"},
        {"op": "add", "path": "/data/c", "value": "3"},
    ]
    assert configmap(operations, JSON) == {"a": "9", "c": "3"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "other"},
        {"op": "remove", "path": "/data/none"},
        {"op": "replace", "path": "/data/none/deeper", "value": "1"},
    ],
)
def test_a_json_patch_that_does_not_fit(configmap, operation):
    with pytest.raises(UnprocessibleEntityError):
        configmap([operation], JSON)


def test_unknown_patch_type(configmap):
    with pytest.raises(DynamicApiError) as refused:
        configmap({"data": {}}, "application/json")
    assert refused.value.status == 415
    assert "accepted media types include: application/json-patch+json, " in status_of(refused.value)["message"]


def test_apply_creates_and_merges(admin, namespace):
    configmaps = admin.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    made = configmaps.server_side_apply(body, namespace=namespace, field_manager="one")
    assert made.data.to_dict() == {"a": "1"}
    other = {**body, "data": {"b": "2"}}
    merged = configmaps.server_side_apply(other, namespace=namespace, field_manager="two")
    assert merged.data.to_dict() == {"a": "1", "b": "2"}


def test_strategic_merge_of_conditions_is_by_type(nodes, node):
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready"}
    pressure = {"type": "MemoryPressure", "status": "False", "reason": "Enough", "message": ""}
    nodes.status.patch({"status": {"conditions": [ready, pressure]}}, name=node, content_type=STRATEGIC)
    nodes.status.patch(
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, name=node, content_type=STRATEGIC
    )
    found = {item["type"]: item for item in nodes.get(name=node).to_dict()["status"]["conditions"]}
    assert set(found) == {"Ready", "MemoryPressure"}
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "KubeletReady")


def test_merge_patch_replaces_lists(nodes, node):
    nodes.status.patch({"status": {"conditions": [{"type": "A", "status": "True"}]}}, name=node, content_type=MERGE)
    nodes.status.patch({"status": {"conditions": [{"type": "B", "status": "True"}]}}, name=node, content_type=MERGE)
    assert [item["type"] for item in nodes.get(name=node).to_dict()["status"]["conditions"]] == ["B"]


def test_taints_are_replaced_by_a_strategic_merge_too(nodes, node):
    def taint(key: str) -> list[dict[str, str]]:
        return nodes.patch(
            {"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}}, name=node, content_type=STRATEGIC
        ).to_dict()["spec"]["taints"]

    taint("one")
    assert [found["key"] for found in taint("two")] == ["two"]


def test_strategic_merge_directives(admin, namespace):
    deployments = admin.resources.get(api_version="apps/v1", kind="Deployment")
    containers = [{"name": name, "image": "registry.invalid/none"} for name in ("a", "b", "c")]
    deployments.create(
        {
            "metadata": {"name": "d", "finalizers": ["example.com/one", "example.com/two"]},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}},
            },
        },
        namespace=namespace,
    )
    changed = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "b", "$patch": "delete"}, {"name": "a", "env": [{"name": "X", "value": "1"}]}],
    }
    patched = deployments.patch(
        {
            "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/one", "example.com/two"]},
            "spec": {"template": {"spec": changed}},
        },
        name="d",
        namespace=namespace,
        content_type=STRATEGIC,
    ).to_dict()
    found = patched["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in found] == ["c", "a"]
    assert (found[1]["image"], found[1]["env"]) == ("registry.invalid/none", [{"name": "X", "value": "1"}])
    assert "finalizers" not in patched["metadata"]
