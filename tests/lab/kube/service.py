"""One request: who asks, what for, may they, and the answer. Knows nothing of sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.kube import budgets, discovery, openapi, protobuf, proxy, reviews, statuses, watch
from lab.kube.faults import Faults
from lab.kube.operations import Operations
from lab.kube.resources import BUDGETS, NODES, PODS, Resource
from lab.kube.statuses import ApiError, Json
from lab.kube.store import Store
from lab.kube.target import Target, parse
from lab.kube.users import ADMIN, KUBELET_CLIENT, MASTERS, User, Users

_HEALTH = ("/healthz", "/livez", "/readyz")
_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
LAB = "/lab/"  # what tests tell the server itself; a fault does not hit it


@dataclass(frozen=True)
class Request:
    """A request as it came in; the names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """An answer: `body`, or for a watch a function that yields events until what it is given says True."""

    code: int
    body: bytes = b""
    content_type: str = "application/json"
    watch: Callable[[Callable[[], bool]], Iterator[Json]] | None = None


class Service:
    """The API server without its sockets."""

    def __init__(self, folder: Path) -> None:
        self.store = Store()
        self.faults = Faults()
        self.users = Users(folder / "users.json")
        self.admin_token = self.users.add(ADMIN, [MASTERS])
        self._kubelet_token = self.users.add(KUBELET_CLIENT, [MASTERS])
        self._state = folder / "state.json"
        if self._state.exists():
            self.store.load(json.loads(self._state.read_text(encoding="utf-8")))
        self._operations = Operations(self.store)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End all watches and keep the objects for the next start."""
        self._stopping.set()
        self._state.write_text(json.dumps(self.store.dump()), encoding="utf-8")
        with self.store.changed:
            self.store.changed.notify_all()

    def answer(self, request: Request) -> Response:
        """The answer to a request, errors included."""
        try:
            target = parse(request.method, request.url)
            user = self.users.authenticate(request.headers.get("authorization"))
            if not self.users.allowed(user, target.access()):
                raise target.access().refused(user)
            if target.path.startswith(LAB):
                return self._lab(target, _decoded(request))
            if not target.plural:
                return self._document(target, request.headers.get("accept", ""))
            return self._resource(target, user, request)
        except ApiError as error:
            return _json(error.body(), error.code)

    @staticmethod
    def sick(code: int) -> Response:
        """The answer of an API server that has a fault."""
        reason = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}.get(code, "")
        message = "the server is currently unable to handle the request"
        return _json(ApiError(code, reason, message, {}).body(), code)

    def _lab(self, target: Target, body: Json) -> Response:
        """The lab's own controls, for the administrator only."""
        if target.path == LAB + "faults" and target.method == "POST":
            self.faults.add(body)
            return _json(statuses.success())
        if target.path == LAB + "faults" and target.method == "DELETE":
            self.faults.clear()
            return _json(statuses.success())
        if target.path == LAB + "users" and target.method == "POST":
            token = self.users.add(body["name"], body.get("groups", ()), body.get("rules", ()))
            return _json({"token": token}, 201)
        raise statuses.page_not_found()

    def _document(self, target: Target, accept: str) -> Response:
        """Paths without a resource: health, version, discovery, OpenAPI."""
        if target.method not in ("GET", "HEAD"):
            raise statuses.method_not_allowed()
        if target.path.rstrip("/") in _HEALTH:
            return Response(200, b"ok", "text/plain; charset=utf-8")
        resources = self._operations.registry.all()
        if target.path == "/openapi/v2" and any(name in accept for name in openapi.ASKED):
            return Response(200, openapi.protobuf(resources), openapi.CONTENT_TYPE)
        found = _found_document(target.path, resources)
        if found is None:
            raise statuses.page_not_found()
        return _json(found)

    def _resource(self, target: Target, user: User, request: Request) -> Response:
        resource = self._operations.registry.find(target.group, target.version, target.plural)
        if resource is None:
            raise statuses.page_not_found()
        if resource.group in _REVIEWS and target.verb == "create":
            body = _decoded(request)
            kinds = {"apiVersion": resource.api_version, "kind": resource.kind}
            return _json({**reviews.answer(self.users, resource.kind, user, body), **kinds}, 201)
        if target.subresource:
            return self._subresource(resource, target, request)
        if target.verb not in resource.verbs or bool(target.namespace) > resource.namespaced:
            raise statuses.method_not_allowed()
        if target.verb not in ("list", "watch", "deletecollection") and resource.namespaced and not target.namespace:
            raise statuses.method_not_allowed()
        return self._object(resource, target, request)

    def _object(self, resource: Resource, target: Target, request: Request) -> Response:
        """The main endpoints."""
        operations = self._operations
        if target.verb == "watch" or (target.verb == "get" and target.watch):
            return self._watch(resource, target, request.url)
        if target.verb == "list":
            return _json(operations.listed(resource, target))
        if target.verb == "get":
            return _json(operations.get(resource, target.namespace, target.name))
        if target.verb == "deletecollection":
            return _json(operations.delete_selected(resource, target, _decoded(request)))
        if target.verb == "delete":
            options = _delete_options(target, _decoded(request))
            return _json(operations.delete(resource, target.namespace, target.name, options, target.dry_run))
        return self._write(resource, target, request)

    def _write(self, resource: Resource, target: Target, request: Request) -> Response:
        operations, body = self._operations, _decoded(request)
        if target.verb == "create":
            return _json(operations.create(resource, target.namespace, body, target.dry_run), 201)
        if target.verb == "update":
            return _json(operations.update(resource, target, body))
        if target.verb == "patch":
            code, patched = operations.patch(resource, target, _content_type(request), body)
            return _json(patched, code)
        raise statuses.method_not_allowed()

    def _watch(self, resource: Resource, target: Target, url: str) -> Response:
        if target.query.get("sendInitialEvents"):
            why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            raise statuses.invalid("meta.k8s.io", "ListOptions", "", "sendInitialEvents", why, "FieldValueForbidden")

        watched = watch.Watch(self.store, resource, target)

        def until(client_has_gone: Callable[[], bool]) -> Iterator[Json]:
            return watched.events(lambda: client_has_gone() or self._stopping.is_set() or self.faults.cuts(url))

        return Response(200, watch=until)

    def _subresource(self, resource: Resource, target: Target, request: Request) -> Response:
        if target.subresource == "status" and resource.status:
            if target.verb == "get":
                return _json(self._operations.get(resource, target.namespace, target.name))
            return self._write(resource, target, request)
        if resource == NODES and target.subresource == "proxy":
            node = self._operations.get(NODES, "", target.name)
            reply = proxy.forward(node, target, request.body, self._kubelet_token)
            return Response(reply.status, reply.body, reply.content_type)
        if resource == PODS and target.subresource == "eviction" and target.verb == "create":
            return self._evict(target, _decoded(request))
        raise statuses.page_not_found()

    def _evict(self, target: Target, body: Json) -> Response:
        options = body.get("deleteOptions") or {}
        with self.store.changed:
            pod = self._operations.get(PODS, target.namespace, target.name)
            found = self.store.select(BUDGETS.group, BUDGETS.plural, target.namespace)
            budgets.check_eviction(pod, [budget for _key, budget in found])
            self._operations.delete(PODS, target.namespace, target.name, options, target.dry_run)
        return _json(statuses.success(code=201), 201)


def _found_document(path: str, resources: list[Resource]) -> Json | None:
    """The document behind a path; None if there is none."""
    fixed: dict[str, Callable[[], Json]] = {
        "/version": lambda: discovery.VERSION,
        "/api": lambda: discovery.CORE,
        "/apis": lambda: discovery.groups(resources),
        "/openapi/v2": lambda: openapi.document(resources),
        "/openapi/v3": lambda: {"paths": {}},
    }
    if path.rstrip("/") in fixed:
        return fixed[path.rstrip("/")]()
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) == 2:
        return discovery.resource_list(resources, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        return discovery.group(resources, parts[1])
    if parts[0] == "apis" and len(parts) == 3:
        return discovery.resource_list(resources, parts[1], parts[2])
    return None


def _json(data: Json, code: int = 200) -> Response:
    return Response(code, json.dumps(data).encode())


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def _decoded(request: Request) -> Any:
    """The body's data: JSON, or YAML or protobuf where it says so; an empty body is an empty object."""
    if not request.body:
        return {}
    if _content_type(request) == protobuf.CONTENT_TYPE:
        return protobuf.decode(request.body)
    try:
        if "yaml" in _content_type(request):
            return yaml.safe_load(request.body)
        return json.loads(request.body)
    except (ValueError, yaml.YAMLError) as error:
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type JSON or YAML): {error}"
        ) from error


def _delete_options(target: Target, body: Json) -> Json:
    if "gracePeriodSeconds" in target.query:
        return {"gracePeriodSeconds": int(target.query["gracePeriodSeconds"]), **body}
    return body
