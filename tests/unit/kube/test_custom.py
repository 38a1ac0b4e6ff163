"""CustomResourceDefinitions: what they add is served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kube_api import eventually, status_of
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError, UnprocessibleEntityError

MERGE = "application/merge-patch+json"


def definition(group: str, scope: str, subresources: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": subresources}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"pools.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": "pools", "kind": "Pool", "shortNames": ["pl"]},
            "versions": [
                {**version, "name": "v1", "storage": True},
                {**version, "name": "v1alpha1", "storage": False},
            ],
        },
    }


@pytest.fixture(params=[{"status": {}}, {}], ids=["status", "no-status"])
def with_status(request) -> bool:
    return "status" in request.param


@pytest.fixture
def group(unique: str) -> str:
    return f"{unique}.example.com"


@pytest.fixture
def pools(admin: DynamicClient, group: str, with_status: bool) -> Iterator[Any]:
    """The resource of a new definition, cluster-scoped."""
    definitions = admin.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    definitions.create(definition(group, "Cluster", {"status": {}} if with_status else {}))

    def established() -> bool:
        conditions = definitions.get(name=f"pools.{group}").to_dict().get("status", {}).get("conditions", [])
        return {"type": "Established", "status": "True"}.items() <= max(
            conditions, key=lambda found: found["type"] == "Established", default={}
        ).items()

    eventually("the definition is established", established)
    yield admin.resources.get(api_version=f"{group}/v1", kind="Pool")
    definitions.delete(name=f"pools.{group}")


def test_a_custom_resource_is_served(admin, pools, group):
    made = pools.create({"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": "p"}, "spec": {"a": 1}})
    assert (made.metadata.generation, made.spec.a) == (1, 1)
    assert [(item.kind, item.metadata.name) for item in pools.get().items] == [("Pool", "p")]
    other = admin.resources.get(api_version=f"{group}/v1alpha1", kind="Pool").get(name="p")
    assert (other.apiVersion, other.metadata.uid) == (f"{group}/v1alpha1", made.metadata.uid)


def test_generation_and_status_of_a_custom_resource(pools, group, with_status):
    body = {"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": "p"}, "spec": {"a": 1}}
    made = pools.create({**body, "status": {"b": 1}}).to_dict()
    assert ("status" in made) is not with_status

    def patch(change: dict[str, Any]) -> Any:
        return pools.patch(change, name="p", content_type=MERGE).to_dict()

    assert patch({"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 1
    assert patch({"spec": {"a": 2}})["metadata"]["generation"] == 2
    assert patch({"other": {"a": 2}})["metadata"]["generation"] == 3
    changed = patch({"status": {"b": 2}})
    if not with_status:
        assert (changed["metadata"]["generation"], changed["status"]) == (4, {"b": 2})
        return
    assert (changed["metadata"]["generation"], "status" in changed) == (3, False)
    changed = pools.status.patch({"status": {"b": 2}, "spec": {"a": 9}}, name="p", content_type=MERGE).to_dict()
    assert (changed["metadata"]["generation"], changed["status"], changed["spec"]) == (3, {"b": 2}, {"a": 2})


def test_no_strategic_merge_for_custom_resources(pools, group):
    pools.create({"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": "p"}})
    with pytest.raises(DynamicApiError) as refused:
        pools.patch({"spec": {"a": 1}}, name="p", content_type="application/strategic-merge-patch+json")
    assert refused.value.status == 415
    assert status_of(refused.value)["reason"] == "UnsupportedMediaType"


def test_a_custom_resource_is_replaced_only_with_a_version(pools, group):
    body = {"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": "p"}, "spec": {"a": 1}}
    pools.create(body)
    with pytest.raises(UnprocessibleEntityError) as refused:
        pools.replace(body)
    assert "metadata.resourceVersion: Invalid value: " in status_of(refused.value)["message"]
