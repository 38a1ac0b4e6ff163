"""Evictions and disruption budgets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kube_api import eventually, status_of
from kubernetes import client
from kubernetes.client.exceptions import ApiException

RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def core(admin) -> client.CoreV1Api:
    return client.CoreV1Api(admin.client)


@pytest.fixture
def policy(admin) -> client.PolicyV1Api:
    return client.PolicyV1Api(admin.client)


@pytest.fixture
def pod(core, namespace, node) -> Callable[[str], None]:
    """Makes a pod that runs on the node; a finalizer keeps it when it is deleted, as its containers would."""

    def make(name: str) -> None:
        core.create_namespaced_pod(
            namespace,
            {
                "metadata": {"name": name, "labels": {"app": "a"}},
                "spec": {
                    "nodeName": node,
                    "terminationGracePeriodSeconds": 0,
                    "automountServiceAccountToken": False,
                    "containers": [{"name": "main", "image": "registry.invalid/none"}],
                },
            },
        )
        core.patch_namespaced_pod_status(name, namespace, {"status": RUNNING})

    return make


@pytest.fixture
def budget(policy, namespace) -> Callable[..., None]:
    """Makes a budget over the pods and waits until the number of allowed disruptions is known."""

    def make(name: str, allowed: int, **spec: object) -> None:
        policy.create_namespaced_pod_disruption_budget(
            namespace,
            {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "a"}}, **spec}},
        )
        eventually(
            f"{name} allows {allowed} disruptions",
            lambda: policy.read_namespaced_pod_disruption_budget(name, namespace).status.disruptions_allowed == allowed,
        )

    return make


def evict(core: client.CoreV1Api, name: str, namespace: str) -> None:
    core.create_namespaced_pod_eviction(name, namespace, {"metadata": {"name": name, "namespace": namespace}})


def names(core: client.CoreV1Api, namespace: str) -> list[str]:
    return [found.metadata.name for found in core.list_namespaced_pod(namespace).items]


def test_an_eviction_ends_a_pod(core, namespace, pod):
    pod("one")
    evict(core, "one", namespace)
    eventually("the pod is gone", lambda: not names(core, namespace))


def test_a_missing_pod(core, namespace):
    with pytest.raises(ApiException) as refused:
        evict(core, "none", namespace)
    assert refused.value.status == 404
    assert status_of(refused.value)["message"] == 'pods "none" not found'


def test_a_budget_forbids_an_eviction(core, namespace, pod, budget):
    pod("one")
    budget("all", allowed=0, minAvailable=1)
    with pytest.raises(ApiException) as refused:
        evict(core, "one", namespace)
    assert refused.value.status == 429
    status = status_of(refused.value)
    assert status["reason"] == "TooManyRequests"
    assert status["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert status["details"]["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget all needs 1 healthy pods and has 1 currently"}
    ]
    assert names(core, namespace) == ["one"]


def test_a_budget_allows_one_eviction_of_two(core, namespace, pod, budget):
    pod("one")
    pod("two")
    budget("half", allowed=1, minAvailable="50%")
    evict(core, "one", namespace)
    with pytest.raises(ApiException) as refused:
        evict(core, "two", namespace)
    assert refused.value.status == 429


def test_two_budgets_over_one_pod(core, namespace, pod, budget):
    pod("one")
    budget("a", allowed=1, minAvailable=0)
    budget("b", allowed=1, minAvailable=0)
    with pytest.raises(ApiException) as refused:
        evict(core, "one", namespace)
    assert refused.value.status == 500
    assert "more than one PodDisruptionBudget" in status_of(refused.value)["message"]


def test_a_pending_pod_is_not_protected(core, namespace, pod, budget):
    pod("one")
    budget("all", allowed=0, minAvailable=1)
    core.patch_namespaced_pod_status("one", namespace, {"status": {"phase": "Pending"}})
    evict(core, "one", namespace)


def test_dry_run(core, namespace, pod):
    pod("one")
    core.create_namespaced_pod_eviction(
        "one", namespace, {"metadata": {"name": "one", "namespace": namespace}}, dry_run="All"
    )
    assert names(core, namespace) == ["one"]
