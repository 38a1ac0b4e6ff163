"""The lab's server as a process: start, stop, start again; and its faults."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3.exceptions
from kube_api import eventually, status_of
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from lab.errors import LabError
from lab.kube import Api


@pytest.fixture
def core(lab_api: Api) -> Iterator[client.CoreV1Api]:
    with config.new_client_from_config(str(lab_api.kubeconfig)) as api:
        api.configuration.retries = False
        api.rest_client.pool_manager.connection_pool_kw["retries"] = False
        yield client.CoreV1Api(api)


def test_it_is_found_again_and_stopped(tmp_path):
    started = Api.start(tmp_path)
    loaded = Api.load(tmp_path)
    assert (loaded.port, loaded.running) == (started.port, True)
    with pytest.raises(LabError, match=r"runs in .* already"):
        Api.start(tmp_path)
    loaded.stop()
    assert not started.running
    started.stop()  # once more is no error


def test_nothing_to_load(tmp_path):
    with pytest.raises(LabError, match="no API server was started"):
        Api.load(tmp_path)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "10.0.2.2"])
def test_the_certificate_holds_for(lab_api, name):
    context = ssl.create_default_context(cafile=str(lab_api.ca_file))
    with socket.create_connection(("127.0.0.1", lab_api.port)) as plain:
        context.wrap_socket(plain, server_hostname=name).close()


def test_a_silent_client_holds_up_nobody(lab_api, core):
    with socket.create_connection(("127.0.0.1", lab_api.port)):
        core.list_node(_request_timeout=20)


def test_a_port_in_use(lab_api, tmp_path):
    with pytest.raises(LabError, match="Address already in use"):
        Api.start(tmp_path / "second", port=lab_api.port)


def test_only_the_owner_reads_the_tokens(lab_api):
    secret = [lab_api.kubeconfig, lab_api.user_kubeconfig("u", []), lab_api.folder / "users.json"]
    assert [oct(path.stat().st_mode & 0o777) for path in secret] == ["0o600"] * 3


def test_a_restart_keeps_objects_users_and_history(lab_api, core):
    made = core.create_namespaced_config_map("default", {"metadata": {"name": "c"}})
    port = lab_api.port
    lab_api.stop()
    with pytest.raises(urllib3.exceptions.HTTPError):
        core.list_node()
    Api.start(lab_api.folder, port)
    assert core.read_namespaced_config_map("c", "default").metadata.uid == made.metadata.uid
    later = core.create_namespaced_config_map("default", {"metadata": {"name": "d"}})
    assert int(later.metadata.resource_version) > int(made.metadata.resource_version)
    stream = watch.Watch()
    for event in stream.stream(
        core.list_namespaced_config_map, "default", resource_version=made.metadata.resource_version, timeout_seconds=20
    ):
        assert event["raw_object"]["metadata"]["name"] == "d"
        stream.stop()


def test_errors_for_a_number_of_requests(lab_api, core):
    lab_api.fault(503, requests=2, path="/nodes")
    core.list_namespace()
    for _attempt in range(2):
        with pytest.raises(ApiException) as refused:
            core.list_node()
        assert status_of(refused.value)["reason"] == "ServiceUnavailable"
    core.list_node()


def test_errors_for_a_time(lab_api, core):
    lab_api.fault(500, seconds=1)
    begun = time.monotonic()
    with pytest.raises(ApiException):
        core.list_node()

    def well() -> Any:
        try:
            return core.list_node()
        except ApiException:
            return None

    eventually("it is well again", well)
    assert time.monotonic() - begun > 0.8


def test_dropped_connections_until_healed(lab_api, core):
    lab_api.fault(None)
    for _attempt in range(3):
        with pytest.raises(urllib3.exceptions.HTTPError):
            core.list_node()
    lab_api.heal()
    core.list_node()


def test_a_running_watch_is_cut(lab_api, core):
    broken = []

    def follow() -> None:
        try:
            for _event in watch.Watch().stream(core.list_namespace, timeout_seconds=60):
                started.set()
        except urllib3.exceptions.HTTPError as error:
            broken.append(error)

    started = threading.Event()
    follower = threading.Thread(target=follow)
    follower.start()
    assert started.wait(30)
    lab_api.fault(None, path="watch=true|watch=True")
    follower.join(30)
    assert not follower.is_alive()
    assert broken


def test_a_defect_would_be_seen_in_the_log(lab_api, core):
    core.list_node()
    log = lab_api.log.read_text(encoding="utf-8")
    assert '"GET /api/v1/nodes' in log
    assert "Traceback" not in log


def test_the_command_line(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "lab.kube", "serve", "--state", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE, env=environment
    ) as served:
        assert served.stdout
        assert served.stdout.readline().startswith("https://127.0.0.1:")
        served.send_signal(signal.SIGINT)
        assert served.wait(30) == 0
