"""Lists: selectors, and deleting what they select."""

from __future__ import annotations

from typing import Any

import pytest
from kube_api import status_of
from kubernetes.dynamic.exceptions import BadRequestError


@pytest.fixture
def configmaps(admin, namespace) -> Any:
    found = admin.resources.get(api_version="v1", kind="ConfigMap")
    for name, labels in (("a", {"tier": "one", "x": ""}), ("b", {"tier": "two"}), ("c", {})):
        found.create({"metadata": {"name": name, "labels": {"test": "lists", **labels}}}, namespace=namespace)
    return found


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", "abc"),
        ("tier=one", "a"),
        ("tier==one", "a"),
        ("tier!=one", "bc"),
        ("tier in (one, two)", "ab"),
        ("tier notin (one)", "bc"),
        ("tier", "ab"),
        ("!tier", "c"),
        ("x=", "a"),
        ("tier in (one,two),tier!=two", "a"),
    ],
)
def test_label_selectors(configmaps, namespace, selector, names):
    selector = ",".join(filter(None, ("test=lists", selector)))
    found = configmaps.get(namespace=namespace, label_selector=selector)
    assert "".join(item.metadata.name for item in found.items) == names


def test_a_bad_label_selector(configmaps, namespace):
    with pytest.raises(BadRequestError) as refused:
        configmaps.get(namespace=namespace, label_selector="a=b=c")
    assert "unable to parse requirement" in status_of(refused.value)["message"]


def test_a_list_has_a_version_that_is_no_older_than_its_items(configmaps, namespace):
    found = configmaps.get(namespace=namespace).to_dict()
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    newest = max(int(item["metadata"]["resourceVersion"]) for item in found["items"])
    assert int(found["metadata"]["resourceVersion"]) >= newest


def test_field_selectors(admin, namespace, node):
    pods = admin.resources.get(api_version="v1", kind="Pod")
    containers = [{"name": "main", "image": "registry.invalid/none"}]
    pods.create({"metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": containers}}, namespace=namespace)

    def names(selector: str) -> list[str]:
        return [item.metadata.name for item in pods.get(field_selector=selector).items]

    assert names(f"spec.nodeName={node}") == ["p"]
    assert names(f"metadata.name=p,metadata.namespace={namespace},status.phase=Pending") == ["p"]
    assert names(f"spec.nodeName={node},metadata.name!=p") == []
    with pytest.raises(BadRequestError) as refused:
        names("spec.priority=1")
    assert "field label not supported: spec.priority" in status_of(refused.value)["message"]


def test_delete_what_a_selector_selects(configmaps, namespace):
    configmaps.delete(namespace=namespace, label_selector="tier")
    left = configmaps.get(namespace=namespace, label_selector="test=lists")
    assert [item.metadata.name for item in left.items] == ["c"]
