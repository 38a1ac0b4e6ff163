"""Objects: what the server adds to them, when it refuses a change, how they end."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from kube_api import eventually, status_of
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnprocessibleEntityError,
)


@pytest.fixture
def configmaps(admin: DynamicClient) -> Any:
    return admin.resources.get(api_version="v1", kind="ConfigMap")


@pytest.fixture
def deployments(admin: DynamicClient) -> Any:
    return admin.resources.get(api_version="apps/v1", kind="Deployment")


def deployment(name: str, replicas: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.invalid/none"}]},
            },
        },
    }


def test_a_created_object_gets_an_identity(configmaps, namespace):
    made = configmaps.create({"metadata": {"name": "c", "namespace": namespace}, "data": {"a": "1"}})
    assert re.fullmatch(r"[0-9a-f-]{36}", made.metadata.uid)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made.metadata.creationTimestamp)
    assert int(made.metadata.resourceVersion) > 0
    assert (made.kind, made.apiVersion, made.metadata.namespace) == ("ConfigMap", "v1", namespace)
    read = configmaps.get(name="c", namespace=namespace)
    assert read.to_dict() == made.to_dict()


def test_generate_name(configmaps, namespace):
    made = configmaps.create({"metadata": {"generateName": "c-"}}, namespace=namespace)
    assert re.fullmatch(r"c-[a-z0-9]{5}", made.metadata.name)


def test_creating_twice_is_a_conflict(configmaps, namespace):
    configmaps.create({"metadata": {"name": "c"}}, namespace=namespace)
    with pytest.raises(ConflictError) as refused:
        configmaps.create({"metadata": {"name": "c"}}, namespace=namespace)
    status = status_of(refused.value)
    assert status["reason"] == "AlreadyExists"
    assert status["message"] == 'configmaps "c" already exists'
    assert status["details"] == {"name": "c", "kind": "configmaps"}


def test_a_missing_object(configmaps, deployments, namespace):
    with pytest.raises(NotFoundError) as refused:
        configmaps.get(name="none", namespace=namespace)
    status = status_of(refused.value)
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", 404)
    assert (status["reason"], status["message"]) == ("NotFound", 'configmaps "none" not found')
    with pytest.raises(NotFoundError) as refused:
        deployments.get(name="none", namespace=namespace)
    status = status_of(refused.value)
    assert status["message"] == 'deployments.apps "none" not found'
    assert status["details"] == {"name": "none", "group": "apps", "kind": "deployments"}


def test_names_are_checked(configmaps, namespace):
    with pytest.raises(UnprocessibleEntityError) as refused:
        configmaps.create({"metadata": {"name": "A_b"}}, namespace=namespace)
    assert status_of(refused.value)["message"].startswith(
        'ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist'
    )


def test_a_namespace_has_to_exist(configmaps, unique):
    with pytest.raises(NotFoundError) as refused:
        configmaps.create({"metadata": {"name": "c"}}, namespace=unique)
    assert status_of(refused.value)["message"] == f'namespaces "{unique}" not found'


def test_body_and_url_have_to_agree(configmaps, namespace):
    with pytest.raises(BadRequestError) as refused:
        configmaps.create({"metadata": {"name": "c", "namespace": "default"}}, namespace=namespace)
    message = "the namespace of the provided object does not match the namespace sent on the request"
    assert status_of(refused.value)["message"] == message


def test_replacing_with_a_stale_version_is_a_conflict(configmaps, namespace):
    first = configmaps.create({"metadata": {"name": "c"}, "data": {"a": "1"}}, namespace=namespace).to_dict()
    second = configmaps.replace({**first, "data": {"a": "2"}}, namespace=namespace)
    assert int(second.metadata.resourceVersion) > int(first["metadata"]["resourceVersion"])
    with pytest.raises(ConflictError) as refused:
        configmaps.replace({**first, "data": {"a": "3"}}, namespace=namespace)
    status = status_of(refused.value)
    assert status["reason"] == "Conflict"
    assert status["message"] == (
        'Operation cannot be fulfilled on configmaps "c": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert configmaps.get(name="c", namespace=namespace).data.a == "2"


def test_a_change_that_changes_nothing_keeps_the_version(configmaps, namespace):
    first = configmaps.create({"metadata": {"name": "c"}, "data": {"a": "1"}}, namespace=namespace).to_dict()
    again = configmaps.replace(first, namespace=namespace)
    patched = configmaps.patch({"data": {"a": "1"}}, name="c", namespace=namespace)
    version = first["metadata"]["resourceVersion"]
    assert [again.metadata.resourceVersion, patched.metadata.resourceVersion] == [version, version]


def test_a_lease_is_replaced_only_with_a_version(admin, namespace):
    leases = admin.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 40}}
    leases.create(lease, namespace=namespace)
    with pytest.raises(UnprocessibleEntityError) as refused:
        leases.replace(lease, namespace=namespace)
    assert "must be specified for an update" in status_of(refused.value)["message"]


def test_generation_counts_changes_of_the_spec_only(deployments, namespace):
    made = deployments.create(deployment("d"), namespace=namespace)
    assert made.metadata.generation == 1
    labelled = deployments.patch({"metadata": {"labels": {"a": "b"}}}, name="d", namespace=namespace)
    assert labelled.metadata.generation == 1
    status = {"status": {"observedGeneration": 1, "replicas": 0}}
    assert deployments.status.patch(status, name="d", namespace=namespace).metadata.generation == 1
    paused = deployments.patch({"spec": {"paused": True}}, name="d", namespace=namespace)
    assert paused.metadata.generation == 2


def test_kinds_without_generation(configmaps, namespace, admin, node):
    made = configmaps.create({"metadata": {"name": "c"}}, namespace=namespace)
    assert "generation" not in made.to_dict()["metadata"]
    nodes = admin.resources.get(api_version="v1", kind="Node")
    assert "generation" not in nodes.get(name=node).to_dict()["metadata"]


def test_status_and_the_rest_change_apart(admin, node):
    nodes = admin.resources.get(api_version="v1", kind="Node")
    address = [{"type": "InternalIP", "address": "192.0.2.7"}]
    nodes.status.patch({"status": {"addresses": address}, "spec": {"unschedulable": True}}, name=node)
    read = nodes.get(name=node).to_dict()
    assert read["status"]["addresses"] == address
    assert "unschedulable" not in read["spec"]
    nodes.patch({"spec": {"unschedulable": True}, "status": {"addresses": None}}, name=node)
    read = nodes.get(name=node).to_dict()
    assert read["status"]["addresses"] == address
    assert read["spec"]["unschedulable"] is True


def test_status_is_dropped_on_create_but_for_nodes(admin, namespace, unique):
    pods = admin.resources.get(api_version="v1", kind="Pod")
    pod = {
        "metadata": {"name": "p"},
        "spec": {"nodeName": unique, "containers": [{"name": "main", "image": "registry.invalid/none"}]},
        "status": {"phase": "Running"},
    }
    assert pods.create(pod, namespace=namespace).status.phase == "Pending"
    nodes = admin.resources.get(api_version="v1", kind="Node")
    made = nodes.create({"metadata": {"name": unique}, "status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}}})
    nodes.delete(name=unique)
    assert made.status.nodeInfo.kubeletVersion == "v1.33.1"


def test_string_data_of_a_secret(admin, namespace):
    secrets = admin.resources.get(api_version="v1", kind="Secret")
    made = secrets.create({"metadata": {"name": "s"}, "stringData": {"a": "word"}}, namespace=namespace)
    assert made.to_dict()["data"] == {"a": base64.b64encode(b"word").decode()}
    assert made.type == "Opaque"


def test_dry_run_changes_nothing(configmaps, namespace):
    body = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    tried = configmaps.create(body, namespace=namespace, dry_run="All")
    assert tried.data.a == "1"
    with pytest.raises(NotFoundError):
        configmaps.get(name="c", namespace=namespace)
    made = configmaps.create(body, namespace=namespace)
    tried = configmaps.patch({"data": {"a": "2"}}, name="c", namespace=namespace, dry_run="All")
    assert tried.data.a == "2"
    configmaps.delete(name="c", namespace=namespace, query_params=[("dryRun", "All")])
    assert configmaps.get(name="c", namespace=namespace).to_dict() == made.to_dict()


def test_delete_answers_with_a_status(configmaps, namespace):
    made = configmaps.create({"metadata": {"name": "c"}}, namespace=namespace)
    answer = configmaps.delete(name="c", namespace=namespace).to_dict()
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "c", "kind": "configmaps", "uid": made.metadata.uid}


def test_delete_preconditions(configmaps, namespace):
    configmaps.create({"metadata": {"name": "c"}}, namespace=namespace)
    with pytest.raises(ConflictError) as refused:
        configmaps.delete(name="c", namespace=namespace, body={"preconditions": {"uid": "another"}})
    assert "Precondition failed: UID in precondition: another" in status_of(refused.value)["message"]


def test_a_finalizer_holds_an_object(configmaps, namespace):
    configmaps.create({"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}, namespace=namespace)
    answer = configmaps.delete(name="c", namespace=namespace)
    assert answer.metadata.deletionTimestamp
    assert configmaps.get(name="c", namespace=namespace).metadata.deletionTimestamp
    configmaps.patch(
        {"metadata": {"finalizers": None}},
        name="c",
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    with pytest.raises(NotFoundError):
        configmaps.get(name="c", namespace=namespace)


def test_a_namespace_ends_with_what_is_in_it(admin, configmaps, unique):
    namespaces = admin.resources.get(api_version="v1", kind="Namespace")
    namespaces.create({"metadata": {"name": unique}})
    configmaps.create({"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}, namespace=unique)
    namespaces.delete(name=unique)
    assert namespaces.get(name=unique).status.phase == "Terminating"
    with pytest.raises(ForbiddenError) as refused:
        configmaps.create({"metadata": {"name": "d"}}, namespace=unique)
    assert "because it is being terminated" in status_of(refused.value)["message"]
    configmaps.patch(
        {"metadata": {"finalizers": None}}, name="c", namespace=unique, content_type="application/merge-patch+json"
    )

    def gone() -> bool:
        try:
            namespaces.get(name=unique)
        except NotFoundError:
            return True
        return False

    eventually(f"namespace {unique} is gone", gone)
