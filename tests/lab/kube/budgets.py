"""PodDisruptionBudgets: what the disruption controller writes into their status, and what an eviction asks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lab.kube import selectors, statuses
from lab.kube.statuses import ApiError, Json


def status(budget: Json, pods: Sequence[Json]) -> Json:
    """The status of a budget over the pods of its namespace.

    A percentage is of the pods that match now; a real controller asks the pods' owner how many there should be.
    """
    mine = [pod for pod in pods if _covers(budget, pod)]
    healthy = sum(_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in mine)
    spec = budget["spec"]
    if "maxUnavailable" in spec:
        desired = len(mine) - _scaled(spec["maxUnavailable"], len(mine))
    else:
        desired = _scaled(spec.get("minAvailable", 1), len(mine))
    return {
        "expectedPods": len(mine),
        "currentHealthy": healthy,
        "desiredHealthy": max(desired, 0),
        "disruptionsAllowed": max(healthy - desired, 0) if mine else 0,
        "observedGeneration": budget["metadata"]["generation"],
    }


def check_eviction(pod: Json, budgets: Sequence[Json]) -> None:
    """429 if a budget of the pod's namespace forbids its eviction."""
    if pod["status"].get("phase") in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]:
        return
    mine = [budget for budget in budgets if _covers(budget, pod)]
    if len(mine) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "InternalError", why, {"causes": [{"message": why}]})
    for budget in mine:
        found = budget["status"]
        if not _ready(pod) and found["currentHealthy"] >= found["desiredHealthy"] > 0:
            continue
        if found["disruptionsAllowed"] < 1:
            raise _violated(budget["metadata"]["name"], found)


def _violated(name: str, found: Json) -> ApiError:
    why = (
        f"The disruption budget {name} needs {found['desiredHealthy']} healthy pods "
        f"and has {found['currentHealthy']} currently"
    )
    return ApiError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        {"causes": [{"reason": "DisruptionBudget", "message": why}]},
    )


def _covers(budget: Json, pod: Json) -> bool:
    matches = selectors.label_object(budget["spec"].get("selector"))
    same_namespace = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same_namespace and matches(pod["metadata"].get("labels") or {})


def _ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def _scaled(value: Any, total: int) -> int:
    """An absolute number or a percentage, rounded up."""
    if isinstance(value, str):
        if not value.endswith("%"):
            raise statuses.bad_request(f"found {value!r}, wanted a number or a percentage")
        return math.ceil(int(value[:-1]) * total / 100)
    return int(value)
