"""What no client asks of the server in the other tests: rare directives, selectors of objects, protobuf."""

from __future__ import annotations

import pytest
from lab.kube import patches, protobuf, selectors
from lab.kube.statuses import ApiError


def test_strategic_merge_directives():
    old = {"a": {"x": 1, "y": 2}, "volumes": [{"name": "v", "emptyDir": {}}], "keep": 1}
    patch = {
        "a": {"$patch": "replace", "z": 3},
        "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}],
    }
    assert patches.strategic(old, patch) == {
        "a": {"z": 3},
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
        "keep": 1,
    }
    assert old["volumes"] == [{"name": "v", "emptyDir": {}}]
    replaced = patches.strategic({"env": [{"name": "A"}]}, {"env": [{"$patch": "replace"}, {"name": "B"}]})
    assert replaced == {"env": [{"name": "B"}]}
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        patches.strategic({"env": []}, {"env": [{"value": "1"}]})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
    ],
)
def test_label_selector_objects(selector, matches):
    assert selectors.label_object(selector)({"a": "1"}) is matches


def wrapped(api_version: str, kind: str, raw: bytes) -> bytes:
    """A request body as kubectl sends it."""
    kinds = protobuf.text(1, api_version) + protobuf.text(2, kind)
    return b"k8s\x00" + protobuf.field(1, kinds) + protobuf.field(2, raw) + protobuf.text(3, "") + protobuf.text(4, "")


def test_protobuf_of_an_eviction():
    metadata = protobuf.text(1, "p" * 200) + protobuf.text(2, "") + protobuf.text(3, "ns")
    options = b"\x08\xac\x02" + protobuf.text(5, "All")  # gracePeriodSeconds: 300
    body = wrapped("policy/v1", "Eviction", protobuf.field(1, metadata) + protobuf.field(2, options))
    assert protobuf.decode(body) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p" * 200, "namespace": "ns"},
        "deleteOptions": {"gracePeriodSeconds": 300, "dryRun": ["All"]},
    }


def test_protobuf_of_a_kind_without_a_table():
    with pytest.raises(ApiError, match="reads Pod as JSON only"):
        protobuf.decode(wrapped("v1", "Pod", b""))
