"""The Kubernetes API that tests talk to.

A real one when HOSTPREP_TEST_KUBECONFIG names the kubeconfig of its administrator, else the lab's (lab.kube). Tests
that use this keep to what both do; they make namespaces and nodes of their own and remove them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException, NotFoundException
from kubernetes.dynamic import DynamicClient
from lab.kube import Api

Rule = dict[str, list[str]]
VARIABLE = "HOSTPREP_TEST_KUBECONFIG"


class Cluster(t.Protocol):
    """What a test may ask of either."""

    kubeconfig: Path

    def user_kubeconfig(self, name: str, rules: Sequence[Rule]) -> Path:
        """The kubeconfig of a user who may do what `rules` (of a ClusterRole) say."""


class RealCluster:
    """A cluster that somebody else runs. Its users are service accounts in one namespace, which close() removes."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.kubeconfig, self._folder = kubeconfig, folder
        self._api = config.new_client_from_config(str(kubeconfig))
        self._namespace = f"hostprep-users-{os.getpid()}"
        self._roles: list[str] = []

    def user_kubeconfig(self, name: str, rules: Sequence[Rule]) -> Path:
        """As in Cluster."""
        core, rbac = client.CoreV1Api(self._api), client.RbacAuthorizationV1Api(self._api)
        role = f"{self._namespace}-{name}"
        if not self._roles:
            core.create_namespace({"metadata": {"name": self._namespace}})
        self._roles.append(role)
        core.create_namespaced_service_account(self._namespace, {"metadata": {"name": name}})
        rbac.create_cluster_role({"metadata": {"name": role}, "rules": list(rules)})
        rbac.create_cluster_role_binding(
            {
                "metadata": {"name": role},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self._namespace}],
            }
        )
        asked = core.create_namespaced_service_account_token(name, self._namespace, {"spec": {}})
        content = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        content["users"] = [{"name": name, "user": {"token": asked.status.token}}]
        for context in content["contexts"]:
            context["context"]["user"] = name
        path = self._folder / f"{name}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    def close(self) -> None:
        """Remove the users, also those that were made in part only."""
        core, rbac = client.CoreV1Api(self._api), client.RbacAuthorizationV1Api(self._api)
        removals = [(rbac.delete_cluster_role_binding, role) for role in self._roles]
        removals += [(rbac.delete_cluster_role, role) for role in self._roles]
        removals += [(core.delete_namespace, self._namespace)] if self._roles else []
        for remove, name in removals:
            with contextlib.suppress(NotFoundException):
                remove(name)
        self._api.close()


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """The cluster to test on, for a session; `folder` is for its files."""
    if given := os.environ.get(VARIABLE):
        real = RealCluster(Path(given), folder)
        try:
            yield real
        finally:
            real.close()
    else:
        api = Api.start(folder)
        try:
            yield api
        finally:
            api.stop()


@contextlib.contextmanager
def connected(kubeconfig: Path, folder: Path) -> Iterator[DynamicClient]:
    """A client that keeps its discovery cache in `folder`: the default one is shared by all servers of a port."""
    with config.new_client_from_config(str(kubeconfig)) as api:
        yield DynamicClient(api, cache_file=str(folder / f"discovery-{kubeconfig.name}.json"))


def status_of(error: ApiException) -> dict[str, t.Any]:
    """The Status object in the answer to a failed request."""
    found: dict[str, t.Any] = json.loads(error.body)
    return found


def eventually(what: str, check: Callable[[], t.Any], seconds: float = 30) -> t.Any:
    """The first true value of `check`, for what a real cluster does a moment later."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return found
