"""Who may do what."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from kube_api import connected, status_of
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ForbiddenError

RULES = [
    {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]},
    {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["mine"]},
]


@pytest.fixture
def user(api, unique, folder) -> Any:
    """A client of a user with RULES."""
    with connected(api.user_kubeconfig(unique, RULES), folder) as found:
        yield found


def refused(call: Any, **options: Any) -> dict[str, Any]:
    """The Status of a forbidden call, the user's name replaced."""
    with pytest.raises(ForbiddenError) as error:
        call(**options)
    status = status_of(error.value)
    return {**status, "message": re.sub(r'User "[^"]+"', 'User "u"', status["message"])}


def test_what_the_rules_allow(user, node):
    assert user.resources.get(api_version="v1", kind="Node").get(name=node).metadata.name == node


def test_what_they_do_not_allow(user, node, namespace):
    nodes = user.resources.get(api_version="v1", kind="Node")
    status = refused(nodes.get)
    assert (status["code"], status["reason"], status["details"]) == (403, "Forbidden", {"kind": "nodes"})
    assert status["message"] == (
        'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope'
    )
    assert refused(nodes.patch, body={}, name=node)["message"] == (
        f'nodes "{node}" is forbidden: User "u" cannot patch resource "nodes" in API group "" at the cluster scope'
    )
    deployments = user.resources.get(api_version="apps/v1", kind="Deployment")
    status = refused(deployments.get, name="other", namespace=namespace)
    assert status["message"] == (
        'deployments.apps "other" is forbidden: User "u" cannot get resource "deployments" in API group "apps" '
        f'in the namespace "{namespace}"'
    )
    assert status["details"] == {"name": "other", "group": "apps", "kind": "deployments"}
    proxied = client.CoreV1Api(user.client)
    with pytest.raises(ApiException) as error:
        proxied.connect_get_node_proxy_with_path(node, "configz")
    assert 'cannot get resource "nodes/proxy" in API group "" at the cluster scope' in status_of(error.value)["message"]


def test_a_wrong_token(api, tmp_path):
    content = yaml.safe_load(api.kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": "wrong"}
    wrong = tmp_path / "kubeconfig"
    wrong.write_text(yaml.safe_dump(content), encoding="utf-8")
    with config.new_client_from_config(str(wrong)) as found, pytest.raises(ApiException) as error:
        client.CoreV1Api(found).list_node()
    status = status_of(error.value)
    assert (status["code"], status["reason"], status["message"]) == (401, "Unauthorized", "Unauthorized")


def test_asking_what_one_may(user):
    reviews = client.AuthorizationV1Api(user.client)

    def may(**asked: str) -> bool:
        body = {"spec": {"resourceAttributes": asked}}
        return bool(reviews.create_self_subject_access_review(body).status.allowed)

    assert may(verb="get", resource="nodes")
    assert not may(verb="list", resource="nodes")
    assert not may(verb="get", resource="nodes", subresource="proxy")
    assert may(verb="get", group="apps", resource="deployments", name="mine", namespace="default")


def test_reviews(api, admin, unique):
    token = client.Configuration()
    config.load_kube_config(str(api.user_kubeconfig(unique, RULES)), client_configuration=token)
    (bearer,) = token.api_key.values()
    reviews = client.AuthenticationV1Api(admin.client)
    found = reviews.create_token_review({"spec": {"token": bearer.removeprefix("Bearer ")}}).status
    assert found.authenticated
    assert "system:authenticated" in found.user.groups
    assert not reviews.create_token_review({"spec": {"token": "wrong"}}).status.authenticated
    access = client.AuthorizationV1Api(admin.client)

    def may(**asked: str) -> bool:
        spec = {"user": found.user.username, "groups": found.user.groups, "resourceAttributes": asked}
        return bool(access.create_subject_access_review({"spec": spec}).status.allowed)

    assert may(verb="get", resource="nodes")
    assert not may(verb="get", resource="nodes", subresource="proxy")
