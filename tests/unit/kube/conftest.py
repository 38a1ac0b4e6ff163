"""An API for the session, and what tests need on it. HOSTPREP_TEST_KUBECONFIG points all of them at a real one."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kube_api
import pytest
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from lab.kube import Api

_numbers = itertools.count(1)

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the session."""
    return tmp_path_factory.mktemp("kube")


@pytest.fixture(scope="session")
def api(folder: Path) -> Iterator[kube_api.Cluster]:
    """The cluster."""
    with kube_api.cluster(folder) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def admin(api: kube_api.Cluster, folder: Path) -> Iterator[DynamicClient]:
    """A client with all rights."""
    with kube_api.connected(api.kubeconfig, folder) as client:
        yield client


@pytest.fixture
def unique() -> str:
    """A name that no other test uses."""
    return f"hostprep-test-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def namespace(admin: DynamicClient, unique: str) -> Iterator[str]:
    """A namespace of the test's own, with the service account that pods need."""
    namespaces = admin.resources.get(api_version="v1", kind="Namespace")
    namespaces.create({"metadata": {"name": unique}})
    with contextlib.suppress(ConflictError):  # a real cluster's controller was faster
        admin.resources.get(api_version="v1", kind="ServiceAccount").create(
            {"metadata": {"name": "default"}}, namespace=unique
        )
    yield unique
    with contextlib.suppress(NotFoundError):  # the test has done it
        namespaces.delete(name=unique)


@pytest.fixture
def node(admin: DynamicClient, unique: str) -> Iterator[str]:
    """A Node of the test's own, with the label hostprep-test=NAME."""
    nodes = admin.resources.get(api_version="v1", kind="Node")
    nodes.create({"metadata": {"name": unique, "labels": {"hostprep-test": unique}}})
    yield unique
    nodes.delete(name=unique)


@pytest.fixture
def lab_api(tmp_path: Path) -> Iterator[Api]:
    """A lab server of the test's own, to make it sick or to stop it."""
    api = Api.start(tmp_path / "api")
    yield api
    api.stop()


@pytest.fixture
def kubectl(api: kube_api.Cluster, folder: Path) -> Kubectl:
    """Runs kubectl and returns the CompletedProcess; `check=False` where it may fail."""
    found = shutil.which("kubectl")
    if found is None:
        pytest.fail("kubectl not found; wanted in PATH: install kubernetes-client (Debian) or kubectl")

    def run(*words: str, stdin: str = "", check: bool = True, kubeconfig: Path = api.kubeconfig) -> Any:
        command = [found, f"--kubeconfig={kubeconfig}", f"--cache-dir={folder}/kubectl", *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=check, timeout=120)

    return run
