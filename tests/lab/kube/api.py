"""Starting the API as a process of its own, and speaking to it as its administrator."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from lab import process
from lab.errors import LabError
from lab.kube import kubeconfig
from lab.kube.users import NODES, Rule

_TESTS = Path(__file__).resolve().parents[2]
_START_SECONDS = 60.0


class Api:
    """An API server that runs, or ran, with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"  # the administrator's
        self.ca_file = folder / "ca.crt"
        self.log = folder / "log"  # a line for each request
        self._pidfile = folder / "pid"

    @classmethod
    def start(cls, directory: Path, port: int = 0) -> Api:
        """Start an API server on loopback; it goes on when the caller ends. Port 0: the system chooses one.

        In a directory where one has been stopped it goes on with the same objects, users and certificates.
        """
        api = cls(Path(directory).resolve())
        if process.find(api._pidfile):
            raise LabError(f"an API server runs in {api.folder} already; stop it first, or load() it")
        api.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "lab.kube", "serve", "--state", str(api.folder)]
        command += ["--port", str(port), "--pidfile", str(api._pidfile)]
        environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
        with open(api.log, "ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        assert child.stdout
        with child.stdout as says:
            ready = select.select([says], [], [], _START_SECONDS)[0]
            if not ready or not says.readline():
                child.kill()
                child.wait()
                raise LabError(f"the API server did not start; the end of {api.log}:\n{api.log.read_text()[-2000:]}")
        child.returncode = 0  # it is not ours to wait for: stop() finds it by its pid file
        return api

    @classmethod
    def load(cls, directory: Path) -> Api:
        """The API server that was started in `directory`."""
        api = cls(Path(directory).resolve())
        if not api.kubeconfig.exists():
            raise LabError(f"no API server was started in {api.folder}")
        return api

    @property
    def url(self) -> str:
        """https://127.0.0.1:PORT"""
        return str(self._config()["clusters"][0]["cluster"]["server"])

    @property
    def port(self) -> int:
        """The TCP port."""
        return urlsplit(self.url).port or 443

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return process.find(self._pidfile) is not None

    def stop(self) -> None:
        """End it; nothing happens when it is not running. Its objects stay for the next start()."""
        pid = process.find(self._pidfile)
        if pid is None:
            return
        os.kill(pid, signal.SIGTERM)
        if not process.wait_gone(self._pidfile, 10):
            process.kill(self._pidfile)
            raise LabError(f"the API server in {self.folder} did not end within 10 s of SIGTERM and was killed")

    def user_kubeconfig(self, name: str, rules: Sequence[Rule], groups: Sequence[str] = ()) -> Path:
        """The kubeconfig of a user who may do what `rules` say (as a ClusterRole's `rules`), and discovery."""
        path = self.folder / f"{name}.kubeconfig"
        kubeconfig.write(path, self._account(name, rules, groups, self.url))
        return path

    def node_kubeconfig(self, node: str, server: str) -> str:
        """The text of a kubelet's kubeconfig: user system:node:NODE. `server` is the URL that the node reaches."""
        return self._account(f"system:node:{node}", (), [NODES], server)

    def fault(
        self, status: int | None = 503, requests: int | None = None, seconds: float | None = None, path: str = ""
    ) -> None:
        """Make it sick: answer `status`, or drop connections (None), also those of running watches.

        For the next `requests` requests or `seconds`, else until heal(). `path`: only URLs in which this regular
        expression is found.
        """
        re.compile(path)
        self._call("POST", "/lab/faults", {"status": status, "requests": requests, "seconds": seconds, "path": path})

    def heal(self) -> None:
        """End all faults."""
        self._call("DELETE", "/lab/faults")

    def _account(self, name: str, rules: Sequence[Rule], groups: Sequence[str], server: str) -> str:
        answer = self._call("POST", "/lab/users", {"name": name, "rules": list(rules), "groups": list(groups)})
        return kubeconfig.text(server, self.ca_file, name, answer["token"])

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        token = self._config()["users"][0]["user"]["token"]
        context = ssl.create_default_context(cafile=str(self.ca_file))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        try:
            connection.request(method, path, json.dumps(body or {}), {"Authorization": f"Bearer {token}"})
            reply = connection.getresponse()
            data = json.loads(reply.read())
        finally:
            connection.close()
        if reply.status >= 400:
            raise LabError(f"{method} {path}: {data['message']}")
        return data

    def _config(self) -> Any:
        return yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
