"""Discovery documents: which groups, versions and resources there are."""

from __future__ import annotations

from collections.abc import Iterable

from lab.kube.resources import Resource
from lab.kube.statuses import Json

RELEASE = "v1.34.1"
VERSION: Json = {
    "major": "1",
    "minor": "34",
    "gitVersion": RELEASE,
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
CORE: Json = {
    "kind": "APIVersions",
    "versions": ["v1"],
    "serverAddressByClientCIDRs": [],
}


def groups(resources: Iterable[Resource]) -> Json:
    """/apis: the named groups, the first version of each preferred."""
    versions: dict[str, list[str]] = {}
    for resource in resources:
        known = versions.setdefault(resource.group, [])
        if resource.version not in known:
            known.append(resource.version)
    versions.pop("", None)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*item) for item in versions.items()]}


def group(resources: Iterable[Resource], name: str) -> Json | None:
    """/apis/GROUP; None if there is no such group."""
    for found in groups(resources)["groups"]:
        if found["name"] == name:
            return {"kind": "APIGroup", "apiVersion": "v1", **found}
    return None


def resource_list(resources: Iterable[Resource], name: str, version: str) -> Json | None:
    """/api/v1 and /apis/GROUP/VERSION; None if there is no such version."""
    found = [resource for resource in resources if (resource.group, resource.version) == (name, version)]
    if not found:
        return None
    entries: list[Json] = []
    for resource in found:
        entries.append(_entry(resource))
        if resource.status:
            entries.append(_subentry(resource, "status", resource.kind, ["get", "patch", "update"]))
        if resource.qualified == "nodes":
            verbs = ["create", "delete", "get", "patch", "update"]
            entries.append(_subentry(resource, "proxy", "NodeProxyOptions", verbs))
        if resource.qualified == "pods":
            eviction = _subentry(resource, "eviction", "Eviction", ["create"])
            entries.append({**eviction, "group": "policy", "version": "v1"})
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}" if name else version,
        "resources": entries,
    }


def _group(name: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _entry(resource: Resource) -> Json:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular or resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _subentry(resource: Resource, name: str, kind: str, verbs: list[str]) -> Json:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": verbs,
    }
