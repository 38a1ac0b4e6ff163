"""The verbs on stored objects: create, get, list, update, patch, delete."""

from __future__ import annotations

from typing import Any

from lab.kube import budgets, objects, patches, selectors, statuses
from lab.kube.resources import BUDGETS, CRDS, NAMESPACES, PODS, Registry, Resource, of_definition
from lab.kube.statuses import Json
from lab.kube.store import Key, Store
from lab.kube.target import Target


def labels_of(obj: Json) -> dict[str, str]:
    """The labels of an object."""
    return obj["metadata"].get("labels") or {}


class Operations:
    """All of them hold the store's lock, so that reading, deciding and writing are one step."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.registry = Registry(lambda: [crd for _key, crd in store.select(CRDS.group, CRDS.plural)])
        if not store.select("", "namespaces"):
            for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
                namespace = objects.created(NAMESPACES, {"metadata": {"name": name}}, "")
                store.put(Key("", "namespaces", "", name), namespace)

    # --- reading ----------------------------------------------------------------------------------------------------

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object, or 404."""
        return _as_version(resource, self._stored(_key(resource, namespace, name)))

    def listed(self, resource: Resource, target: Target) -> Json:
        """A List object."""
        with self.store.changed:
            found = self._selected(resource, target)
            version = str(self.store.version)
        items = [_as_version(resource, obj) for _key, obj in found]
        if not resource.custom:  # as a real server does it: only custom resources name their kind in lists
            items = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
        return {
            "kind": resource.kind + "List",
            "apiVersion": resource.api_version,
            "metadata": {"resourceVersion": version},
            "items": items,
        }

    def _selected(self, resource: Resource, target: Target) -> list[tuple[Key, Json]]:
        matches = matcher(resource, target)
        return [
            (key, obj)
            for key, obj in self.store.select(resource.group, resource.plural, target.namespace)
            if matches(obj)
        ]

    # --- writing ----------------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, body: Json, dry_run: bool) -> Json:
        """A new object; 409 if it exists."""
        _check_identity(resource, namespace, "", body)
        with self.store.changed:
            obj = objects.created(resource, body, namespace)
            name = obj["metadata"]["name"]
            key = _key(resource, namespace, name)
            if resource.namespaced:
                self._check_namespace(resource, namespace, name)
            if self.store.get(key):
                raise statuses.already_exists(resource.group, resource.plural, name)
            return _as_version(resource, obj if dry_run else self._put(key, obj))

    def update(self, resource: Resource, target: Target, body: Json) -> Json:
        """PUT of the main endpoint or of /status."""
        _check_identity(resource, target.namespace, target.name, body)
        with self.store.changed:
            key = _key(resource, target.namespace, target.name)
            version = (body.get("metadata") or {}).get("resourceVersion")
            if not version and not resource.unconditional_update:
                why = "Invalid value: 0x0: must be specified for an update"
                raise statuses.invalid(resource.group, resource.kind, target.name, "metadata.resourceVersion", why)
            return self._replace(resource, key, self._stored(key), body, target)

    def patch(self, resource: Resource, target: Target, content_type: str, body: Any) -> tuple[int, Json]:
        """PATCH of the main endpoint or of /status; returns the HTTP code too, 201 where apply has created it."""
        accepted = [patches.JSON, patches.MERGE, patches.APPLY]
        if not resource.custom:
            accepted.insert(2, patches.STRATEGIC)
        if content_type not in accepted:
            raise statuses.unsupported_media_type(accepted)
        if content_type == patches.APPLY and not target.query.get("fieldManager"):
            why = "Required value: is required for apply patch"
            raise statuses.invalid("meta.k8s.io", "PatchOptions", "", "fieldManager", why, "FieldValueRequired")
        with self.store.changed:
            key = _key(resource, target.namespace, target.name)
            old = self.store.get(key)
            if old is None and content_type == patches.APPLY and not target.subresource:
                return 201, self.create(resource, target.namespace, body, target.dry_run)
            old = self._stored(key)
            new = _patched(resource, content_type, old, body)
            _check_identity(resource, target.namespace, target.name, new)
            return 200, self._replace(resource, key, old, new, target)

    def delete(self, resource: Resource, namespace: str, name: str, options: Json, dry_run: bool) -> Json:
        """Ask for the deletion of one object. Returns the object while something still holds it, else a Status."""
        with self.store.changed:
            key = _key(resource, namespace, name)
            old = self._stored(key)
            self._check_preconditions(resource, old, options.get("preconditions") or {})
            if dry_run or options.get("dryRun") == ["All"]:
                return _deleted(resource, old, held=False)
            last, held = self._delete(resource, key, old, options)
            return _deleted(resource, last, held)

    def delete_selected(self, resource: Resource, target: Target, options: Json) -> Json:
        """deletecollection."""
        with self.store.changed:
            found = self._selected(resource, target)
            if not target.dry_run:
                for key, obj in found:
                    self._delete(resource, key, obj, options)
        return self.listed(resource, target) if target.dry_run else statuses.success()

    def _replace(self, resource: Resource, key: Key, old: Json, body: Json, target: Target) -> Json:
        metadata = body.get("metadata") or {}
        if metadata.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise statuses.conflict(resource.group, resource.plural, key.name, _other_uid(metadata["uid"], old))
        if metadata.get("resourceVersion") not in (None, "", "0", old["metadata"]["resourceVersion"]):
            raise statuses.conflict(resource.group, resource.plural, key.name)
        change = objects.status_updated if target.subresource == "status" else objects.updated
        new = change(resource, old, body)
        if target.dry_run or new is old:
            return _as_version(resource, new)
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers"):
            return _as_version(resource, self._remove(key, new))
        return _as_version(resource, self._put(key, new))

    def _delete(self, resource: Resource, key: Key, old: Json, options: Json) -> tuple[Json, bool]:
        """Returns the object's last state and whether it is still there."""
        if resource == NAMESPACES:
            return self._delete_namespace(key, old)
        if resource == CRDS:
            for served in of_definition(old)[:1]:
                for instance, obj in self.store.select(served.group, served.plural):
                    self._delete(served, instance, obj, {})
        held = bool(old["metadata"].get("finalizers"))
        if "deletionTimestamp" not in old["metadata"] and (held or _graceful(resource, old)):
            old = self._put(key, objects.deleting(resource, old, _grace(resource, old, options)))
        if held:
            return old, True
        # a pod that is bound to a node ends at once: the lab has no containers to wait for
        return self._remove(key, old), False

    def _delete_namespace(self, key: Key, old: Json) -> tuple[Json, bool]:
        if "deletionTimestamp" not in old["metadata"]:
            terminating = objects.deleting(NAMESPACES, old, 0)
            old = self._put(key, {**terminating, "status": {**old["status"], "phase": "Terminating"}})
        for inside in self.store.inside(key.name):
            served = next(one for one in self.registry.all() if (one.group, one.plural) == inside[:2])
            if obj := self.store.get(inside):
                self._delete(served, inside, obj, {})
        return old, self._sweep(key.name)

    def _sweep(self, namespace: str) -> bool:
        """Remove a namespace that is being deleted once nothing is left in it; True while it is there."""
        key = Key("", "namespaces", "", namespace)
        found = self.store.get(key)
        if found and "deletionTimestamp" in found["metadata"] and not self.store.inside(namespace):
            self.store.remove(key)
            return False
        return found is not None

    def _put(self, key: Key, obj: Json) -> Json:
        stored = self.store.put(key, obj)
        self._follow(key)
        return self.store.get(key) or stored

    def _remove(self, key: Key, obj: Json) -> Json:
        last = self.store.remove(key) if self.store.get(key) is obj else self._removed_changed(key, obj)
        self._follow(key)
        if key.namespace:
            self._sweep(key.namespace)
        return last

    def _removed_changed(self, key: Key, obj: Json) -> Json:
        """Remove an object whose last update is also its end, as when the last finalizer goes."""
        self.store.put(key, obj)
        return self.store.remove(key)

    def _follow(self, key: Key) -> None:
        """What controllers would do after a change: the status of disruption budgets."""
        if (key.group, key.plural) not in ((PODS.group, PODS.plural), (BUDGETS.group, BUDGETS.plural)):
            return
        pods = [pod for _key, pod in self.store.select(PODS.group, PODS.plural, key.namespace)]
        for budget_key, budget in self.store.select(BUDGETS.group, BUDGETS.plural, key.namespace):
            status = budgets.status(budget, pods)
            if status != budget.get("status"):
                self.store.put(budget_key, {**budget, "status": status})

    # --- checks -----------------------------------------------------------------------------------------------------

    def _stored(self, key: Key) -> Json:
        found = self.store.get(key)
        if found is None:
            raise statuses.not_found(key.group, key.plural, key.name)
        return found

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        found = self._stored(Key("", "namespaces", "", namespace))
        if "deletionTimestamp" in found["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise statuses.forbidden(resource.group, resource.plural, name, why)

    @staticmethod
    def _check_preconditions(resource: Resource, old: Json, wanted: Json) -> None:
        metadata = old["metadata"]
        if wanted.get("uid", metadata["uid"]) != metadata["uid"]:
            raise statuses.conflict(resource.group, resource.plural, metadata["name"], _other_uid(wanted["uid"], old))
        if wanted.get("resourceVersion", metadata["resourceVersion"]) != metadata["resourceVersion"]:
            why = (
                f"Precondition failed: ResourceVersion in precondition: {wanted['resourceVersion']}, "
                f"ResourceVersion in object meta: {metadata['resourceVersion']}"
            )
            raise statuses.conflict(resource.group, resource.plural, metadata["name"], why)


def matcher(resource: Resource, target: Target) -> Any:
    """Whether an object is selected by the request's name, labelSelector and fieldSelector."""
    by_label = selectors.labels(target.query.get("labelSelector", ""))
    by_field = selectors.fields(target.query.get("fieldSelector", ""), resource.fields)
    return lambda obj: target.name in ("", obj["metadata"]["name"]) and by_label(labels_of(obj)) and by_field(obj)


def _key(resource: Resource, namespace: str, name: str) -> Key:
    return Key(resource.group, resource.plural, namespace if resource.namespaced else "", name)


def _as_version(resource: Resource, obj: Json) -> Json:
    """The object as the asked version shows it; versions of custom resources differ in their name only."""
    return obj if obj["apiVersion"] == resource.api_version else {**obj, "apiVersion": resource.api_version}


def _patched(resource: Resource, content_type: str, old: Json, body: Any) -> Json:
    if content_type == patches.JSON:
        return patches.json_patch(old, body)
    if not isinstance(body, dict):
        raise statuses.bad_request("error decoding patch: json: cannot unmarshal a value that is no object")
    if content_type == patches.STRATEGIC or (content_type == patches.APPLY and not resource.custom):
        patched = patches.strategic(old, body)
    else:
        patched = patches.merge(old, body)
    assert isinstance(patched, dict)
    return patched


def _check_identity(resource: Resource, namespace: str, name: str, body: Json) -> None:
    """The body has to be of the kind, name and namespace that the URL says; what it leaves out is taken from there."""
    metadata = body.get("metadata") or {}
    for key, wanted in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if body.get(key, wanted) != wanted:
            raise statuses.bad_request(
                f'{body.get("kind")} in version "{body.get("apiVersion")}" cannot be handled as a {resource.kind}: '
                f"expected {resource.api_version}, Kind={resource.kind}"
            )
    if name and metadata.get("name", name) != name:
        raise statuses.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )
    if resource.namespaced and (metadata.get("namespace") or namespace) != namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _other_uid(wanted: str, old: Json) -> str:
    return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {old['metadata']['uid']}"


def _graceful(resource: Resource, obj: Json) -> bool:
    return resource == PODS and bool(obj["spec"].get("nodeName"))


def _grace(resource: Resource, obj: Json, options: Json) -> int:
    if not _graceful(resource, obj):
        return 0
    grace: int = options.get("gracePeriodSeconds", obj["spec"]["terminationGracePeriodSeconds"])
    return grace


def _deleted(resource: Resource, last: Json, held: bool) -> Json:
    if held or resource.returns_deleted:
        return _as_version(resource, last)
    metadata = last["metadata"]
    return statuses.success(
        {**statuses.details(resource.group, resource.plural, metadata["name"]), "uid": metadata["uid"]}
    )
