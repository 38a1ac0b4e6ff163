"""The four kinds of PATCH, as functions on data. None of them changes what it is given."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch

from lab.kube.statuses import ApiError, Json, bad_request

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

# Lists that a strategic merge patch merges, by the name of their field; the first key that an item has is its
# merge key. All others are replaced, also a Node's taints (source: patchStrategy and patchMergeKey in k8s.io/api).
_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port"),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_MERGED_PRIMITIVES = ("finalizers", "podCIDRs")


def merge(target: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = copy.deepcopy(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def json_patch(target: Json, operations: Any) -> Json:
    """JSON patch, RFC 6902. A failed test or a missing path is 422, a malformed patch 400."""
    try:
        patched = jsonpatch.apply_patch(target, operations)
    except (jsonpatch.InvalidJsonPatch, jsonpatch.JsonPointerException, TypeError) as error:
        if isinstance(operations, list) and isinstance(error, jsonpatch.JsonPointerException):
            raise _unprocessable(error) from error
        raise bad_request(f"error decoding patch: {error}") from error
    except jsonpatch.JsonPatchException as error:
        raise _unprocessable(error) from error
    if not isinstance(patched, dict):
        raise bad_request("error decoding patch: the patched object is no object")
    return patched


def _unprocessable(error: Exception) -> ApiError:
    causes = [{"reason": "UnexpectedServerResponse", "message": str(error)}]
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, {"causes": causes})


def strategic(target: Any, patch: Any) -> Any:
    """Strategic merge patch with its directives ($patch, $setElementOrder, $deleteFromPrimitiveList, $retainKeys)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") in ("delete", "replace"):
        return {} if patch["$patch"] == "delete" else _plain(patch)
    merged = copy.deepcopy(target) if isinstance(target, dict) else {}
    if "$retainKeys" in patch:
        merged = {key: value for key, value in merged.items() if key in patch["$retainKeys"]}
    for field, unwanted in _directives(patch, "$deleteFromPrimitiveList/"):
        merged[field] = [item for item in merged.get(field) or [] if item not in unwanted]
    _merge_fields(merged, {key: value for key, value in patch.items() if not key.startswith("$")})
    for field, order in _directives(patch, "$setElementOrder/"):
        merged[field] = _ordered(field, merged.get(field) or [], order)
    return merged


def _merge_fields(merged: Json, patch: Json) -> None:
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _strategic_list(key, merged.get(key) or [], value)
        else:
            merged[key] = strategic(merged.get(key), value)


def _directives(patch: Json, prefix: str) -> list[tuple[str, list[Any]]]:
    """The fields and values of the directives `PREFIXfield: [values]`."""
    return [(key[len(prefix) :], value) for key, value in patch.items() if key.startswith(prefix)]


def _strategic_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in _MERGED_PRIMITIVES:
        return target + [item for item in patch if item not in target]
    if field not in _MERGE_KEYS or {"$patch": "replace"} in patch:
        return [_plain(item) for item in patch if item != {"$patch": "replace"}]
    merged = list(target)
    for item in patch:
        identity = _identity(field, item)
        at = next((index for index, old in enumerate(merged) if _identity(field, old) == identity), None)
        if item.get("$patch") == "delete":
            merged = [old for old in merged if _identity(field, old) != identity]
        elif at is None:
            merged.append(_plain(item))
        else:
            merged[at] = strategic(merged[at], item)
    return merged


def _ordered(field: str, items: list[Any], order: list[Any]) -> list[Any]:
    """The items that the order names, in that order; the others keep their places after them."""
    wanted = [_identity(field, item) for item in order]

    def place(item: Any) -> int:
        identity = _identity(field, item)
        return wanted.index(identity) if identity in wanted else len(wanted)

    return sorted(items, key=place)


def _identity(field: str, item: Any) -> Any:
    """What makes two items of a list the same: the value of the merge key, or a primitive itself."""
    if not isinstance(item, dict):
        return item
    for key in _MERGE_KEYS.get(field, ()):
        if key in item:
            return (key, item[key])
    raise bad_request(f"map: {item} does not contain declared merge key: {_MERGE_KEYS.get(field, ('',))[0]}")


def _plain(value: Any) -> Any:
    """Without the directives: what a patch leaves behind where there was nothing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not key.startswith("$") and item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
