"""What the server itself decides about an object: identity, times, generation, defaults. Pure functions."""

from __future__ import annotations

import base64
import copy
import datetime
import random
import re
import string
import uuid
from typing import Any

from lab.kube import statuses
from lab.kube.resources import CRDS, NAMESPACES, PODS, Resource
from lab.kube.statuses import Json

_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
# What an update cannot change; the values stay those of the stored object.
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
# Fields that Go writes although nobody has set them; typed clients insist on them.
_NODE_INFO = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
_DAEMON_COUNTS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
_ZERO: dict[str, Json] = {
    "DaemonSet": {"status": dict.fromkeys(_DAEMON_COUNTS, 0)},
    "Deployment": {"status": {}},
    "Node": {
        "spec": {},
        "status": {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": dict.fromkeys(_NODE_INFO, ""),
        },
    },
    "ReplicaSet": {"status": {"replicas": 0}},
}


def now(after: float = 0) -> str:
    """The time `after` seconds from now, as the API writes it: whole seconds, UTC."""
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=after)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def created(resource: Resource, body: Json, namespace: str) -> Json:
    """The object that a create request stores."""
    obj = copy.deepcopy(body)
    metadata = obj.setdefault("metadata", {})
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    if not metadata.get("name") and metadata.get("generateName"):
        suffix = "".join(random.choices(string.ascii_lowercase + string.digits, k=5))
        metadata["name"] = metadata["generateName"] + suffix
    _check_name(resource, metadata.get("name", ""))
    for key in (*_KEPT, "resourceVersion"):
        metadata.pop(key, None)
    if resource.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata.update(uid=str(uuid.uuid4()), creationTimestamp=now())
    if resource.generation:
        metadata["generation"] = 1
    if resource.status and not resource.status_on_create:
        obj.pop("status", None)
    return _defaulted(resource, obj)


def updated(resource: Resource, old: Json, body: Json) -> Json:
    """The object that a PUT or PATCH of the main endpoint stores; `old` itself when nothing has changed."""
    obj = copy.deepcopy(body)
    if resource.status:
        _carry(obj, old, "status")
    return _settled(resource, old, _defaulted(resource, obj))


def status_updated(resource: Resource, old: Json, body: Json) -> Json:
    """The same for the status subresource: only the status changes."""
    obj = copy.deepcopy(old)
    _carry(obj, copy.deepcopy(body), "status")
    return _settled(resource, old, _defaulted(resource, obj))


def deleting(resource: Resource, old: Json, grace: int) -> Json:
    """The object once its deletion has been asked for and while something still holds it."""
    metadata = {**old["metadata"], "deletionTimestamp": now(grace), "deletionGracePeriodSeconds": grace}
    if resource.generation:
        metadata["generation"] += 1
    return {**old, "metadata": metadata}


def _settled(resource: Resource, old: Json, obj: Json) -> Json:
    """With the metadata that no client can change, and the next generation if what is wanted has changed."""
    obj["apiVersion"], obj["kind"] = old["apiVersion"], old["kind"]
    metadata = obj.setdefault("metadata", {})
    for key in (*_KEPT, "name", "namespace", "resourceVersion"):
        _carry(metadata, old["metadata"], key)
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if not metadata.get(key):
            metadata.pop(key, None)
    if obj == old:
        return old
    if resource.generation and _wanted(resource, obj) != _wanted(resource, old):
        metadata["generation"] += 1
    return obj


def _wanted(resource: Resource, obj: Json) -> Json:
    """The part of an object that its generation counts."""
    ignored = ("metadata", "status") if resource.status else ("metadata",)
    return {key: value for key, value in obj.items() if key not in ignored}


def _carry(obj: Json, old: Json, key: str) -> None:
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)


def _check_name(resource: Resource, name: str) -> None:
    if not name:
        why = "Required value: name or generateName is required"
        raise statuses.invalid(resource.group, resource.kind, "", "metadata.name", why, reason="FieldValueRequired")
    if not _DNS_NAME.fullmatch(name) or len(name) > 253:
        why = f'Invalid value: "{name}": {_DNS_RULE}'
        raise statuses.invalid(resource.group, resource.kind, name, "metadata.name", why)


def _defaulted(resource: Resource, obj: Json) -> Json:
    """With the few defaults that clients of the lab look at."""
    if not resource.custom:
        _fill(obj, _ZERO.get(resource.kind, {}))
    if resource.group == "" and resource.kind == "Secret":
        for key, text in obj.pop("stringData", {}).items():
            obj.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()
        obj.setdefault("type", "Opaque")
    if resource == NAMESPACES:
        obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
        obj.setdefault("status", {}).setdefault("phase", "Active")
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    if resource == PODS:
        obj.setdefault("spec", {}).setdefault("terminationGracePeriodSeconds", 30)
        obj["spec"].setdefault("restartPolicy", "Always")
        obj.setdefault("status", {}).setdefault("phase", "Pending")
    if resource == CRDS:
        names = obj["spec"]["names"]
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
        obj["status"] = _established(obj)
    return obj


def _fill(obj: Json, defaults: Json) -> None:
    """Set what is missing, at all depths."""
    for key, value in defaults.items():
        if not isinstance(value, dict):
            obj.setdefault(key, value)
        elif isinstance(obj.setdefault(key, {}), dict):
            _fill(obj[key], value)


def _established(crd: Json) -> Json:
    """The status of a CustomResourceDefinition that is served."""
    given: Any = (crd.get("status") or {}).get("conditions")
    since = given[0]["lastTransitionTime"] if given else now()
    reasons = (("NamesAccepted", "NoConflicts", "no conflicts found"), ("Established", "InitialNamesAccepted", ""))
    return {
        "acceptedNames": crd["spec"]["names"],
        "storedVersions": [version["name"] for version in crd["spec"]["versions"] if version.get("storage")],
        "conditions": [
            {
                "type": condition,
                "status": "True",
                "reason": reason,
                "message": message or "the initial names have been accepted",
                "lastTransitionTime": since,
            }
            for condition, reason, message in reasons
        ],
    }
