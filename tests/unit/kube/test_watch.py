"""Watches."""

from __future__ import annotations

from typing import Any

import pytest
from kube_api import eventually
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException


@pytest.fixture
def core(admin) -> client.CoreV1Api:
    return client.CoreV1Api(admin.client)


def collect(core: client.CoreV1Api, namespace: str, version: str, count: int, **options: Any) -> list[Any]:
    """The first `count` events, as (type, name, data), of ConfigMaps after a version."""
    stream = watch.Watch()
    found = []
    for event in stream.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=version,
        timeout_seconds=20,
        **options,
    ):
        raw = event["raw_object"]
        found.append((event["type"], raw["metadata"]["name"], raw.get("data")))
        if len(found) == count:
            stream.stop()
    return found


def test_a_watch_tells_what_happened_since(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "w"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("w", namespace, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("w", namespace)
    named = {"field_selector": "metadata.name=w"}
    assert collect(core, namespace, version, 3, **named) == [
        ("ADDED", "w", {"a": "1"}),
        ("MODIFIED", "w", {"a": "2"}),
        ("DELETED", "w", {"a": "2"}),
    ]


def test_what_leaves_the_selection_is_deleted_for_the_watch(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "w"}})
    core.patch_namespaced_config_map("w", namespace, {"metadata": {"labels": {"in": "yes"}}})
    core.patch_namespaced_config_map("w", namespace, {"metadata": {"labels": {"in": "no"}}})
    found = collect(core, namespace, version, 2, label_selector="in=yes")
    assert [event[:2] for event in found] == [("ADDED", "w"), ("DELETED", "w")]


def test_a_watch_without_a_version_begins_with_what_is_there(core, namespace):
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "w"}})
    assert collect(core, namespace, "", 1, field_selector="metadata.name=w") == [("ADDED", "w", None)]


def test_a_watch_ends_at_its_timeout_and_sends_a_bookmark_before(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    events = list(
        watch.Watch().stream(
            core.list_namespaced_config_map,
            namespace,
            resource_version=version,
            timeout_seconds=4,
            allow_watch_bookmarks=True,
            field_selector="metadata.name=none",
        )
    )
    assert [event["type"] for event in events] == ["BOOKMARK"]
    assert int(events[0]["raw_object"]["metadata"]["resourceVersion"]) >= int(version)


def test_too_old_a_version_is_gone(core, namespace):
    with pytest.raises(ApiException) as refused:
        collect(core, namespace, "1", 1)
    assert refused.value.status == 410
    assert "too old resource version: 1 (" in refused.value.reason


def test_a_watch_of_another_namespace_is_quiet(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "w"}})
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, "kube-public", resource_version=version, timeout_seconds=1
    )
    assert [event["raw_object"]["metadata"]["name"] for event in stream] == []
    eventually("the object is there", lambda: core.read_namespaced_config_map("w", namespace))
