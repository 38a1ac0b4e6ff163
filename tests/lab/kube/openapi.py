"""As much OpenAPI as kubectl asks for: that PATCH of every kind takes dryRun. There are no schemas.

Without a schema kubectl skips its own validation; with the parameter it dares `--dry-run=server`. kubectl reads only
the protobuf form of OpenAPI v2 (OpenAPIv2.proto of gnostic; the numbers below are its field numbers).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from lab.kube.discovery import RELEASE
from lab.kube.protobuf import field, text
from lab.kube.resources import Resource
from lab.kube.statuses import Json

# asked for with an @ by old clients; in answers it is written as a media type has to be
ASKED = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
CONTENT_TYPE = ASKED[1]
_INFO = {"title": "Kubernetes", "version": RELEASE}


def document(resources: Iterable[Resource]) -> Json:
    """/openapi/v2 as JSON."""
    paths = {
        _path(resource): {
            "patch": {
                "parameters": [{"name": "dryRun", "in": "query", "type": "string"}],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-group-version-kind": _kind(resource),
            }
        }
        for resource in resources
    }
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": {}}


def protobuf(resources: Iterable[Resource]) -> bytes:
    """/openapi/v2 as protobuf."""
    info = text(1, _INFO["title"]) + text(2, _INFO["version"])
    paths = b"".join(field(2, _path_item(resource)) for resource in resources)
    return text(1, "2.0") + field(2, info) + field(8, paths)


def _path_item(resource: Resource) -> bytes:
    query = text(2, "query") + text(4, "dryRun") + text(6, "string")
    parameter = field(1, field(2, field(3, query)))
    yaml = json.dumps(_kind(resource))  # JSON is YAML
    extension = text(1, "x-kubernetes-group-version-kind") + field(2, text(2, yaml))
    operation = field(8, parameter) + field(13, extension)
    return text(1, _path(resource)) + field(2, field(8, operation))


def _path(resource: Resource) -> str:
    prefix = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    return f"{prefix}/{'namespaces/{namespace}/' if resource.namespaced else ''}{resource.plural}/{{name}}"


def _kind(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
