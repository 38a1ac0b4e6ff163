"""A pool of lab hosts that are nodes of one cluster: an API server here, a kubelet stand-in on each host.

What stands in for what: tests/lab/kube/README.md and tests/lab/kubelet/README.md.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kubernetes import client, config

from lab import paths
from lab.errors import LabError
from lab.kube import Api
from lab.kubelet.install import LAYOUTS, PORT, install
from lab.progress import step
from lab.vm import Lab

DEFAULT_LAYOUT = "kubeadm"
DEFAULT_RELEASE = "v1.34.1"
_READY_TIMEOUT = 120.0
_POLL = 0.5


@dataclass
class Settings:
    """What a cluster remembers (clusters/NAME/cluster.json). advertised: by lab, the port its kubelet was told."""

    name: str
    layout: str
    release: str
    labs: list[str]
    api_port: int = 0
    advertised: dict[str, int] = field(default_factory=dict)


class Cluster:
    """One cluster. Make it with :meth:`up` or :meth:`load`; every method raises LabError."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder

    @staticmethod
    def exists(name: str) -> bool:
        """Has this cluster been made, running or not?"""
        return (_folder(name) / "cluster.json").exists()

    @classmethod
    def load(cls, name: str) -> Cluster:
        """The cluster `name`, which must exist."""
        file = _folder(name) / "cluster.json"
        if not file.exists():
            raise LabError(f"there is no cluster {name!r}; make it with: lab cluster up {name}")
        return cls(Settings(**json.loads(file.read_text(encoding="utf-8"))), file.parent)

    @classmethod
    def up(
        cls,
        name: str,
        nodes: int = 2,
        layout: str = DEFAULT_LAYOUT,
        release: str = DEFAULT_RELEASE,
        image: str | None = None,
    ) -> Cluster:
        """Make and start cluster `name` with hosts NAME-1, NAME-2, …; what is there and running is left alone."""
        if layout not in LAYOUTS:
            raise LabError(f"kubelet layout {layout!r} is not known; wanted one of {', '.join(LAYOUTS)}")
        if cls.exists(name):
            cluster = cls.load(name)
        else:
            labs = [f"{name}-{number}" for number in range(1, nodes + 1)]
            cluster = cls(Settings(name, layout, release, labs), _folder(name))
            cluster.folder.mkdir(parents=True, exist_ok=True)
        api = cluster._start_api()
        for lab in cluster.settings.labs:  # one after the other: together they take longer, and TCG breaks sooner
            cluster._join(Lab.up(lab, image=image, forward=[PORT]), api)
        cluster.wait_ready()
        return cluster

    def _start_api(self) -> Api:
        folder = self.folder / "api"
        if (folder / "kubeconfig").exists() and Api.load(folder).running:
            return Api.load(folder)
        api = Api.start(folder, port=self.settings.api_port)
        self.settings.api_port = api.port
        self._save()
        step(f"API server of cluster {self.settings.name} on {api.url}")
        return api

    def _join(self, lab: Lab, api: Api) -> None:
        """Put the kubelet onto a host, unless it is there and told the right port."""
        name = lab.config.name
        if self.settings.advertised.get(name) == lab.forwards[PORT]:
            return
        installed = install(lab, self.settings.layout, self.settings.release, api=api)
        if self.settings.advertised:  # the port has moved under a kubelet that runs
            lab.run(["systemctl", "restart", installed.unit])
        self.settings.advertised[name] = lab.forwards[PORT]
        self._save()
        step(f"kubelet {self.settings.release} ({self.settings.layout}) runs on {name}")

    @property
    def labs(self) -> list[Lab]:
        """Its hosts."""
        return [Lab.load(name) for name in self.settings.labs]

    @property
    def api(self) -> Api:
        """Its API server."""
        return Api.load(self.folder / "api")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.api.kubeconfig

    def core(self) -> Any:
        """A client of the core API, as administrator."""
        return client.CoreV1Api(config.new_client_from_config(str(self.kubeconfig)))  # type: ignore[no-untyped-call]

    def configz(self, node: str) -> dict[str, Any]:
        """What the running kubelet of a node says about itself, by the API server."""
        answer = self.core().connect_get_node_proxy_with_path(node, "configz", _preload_content=False)
        configuration: dict[str, Any] = json.loads(answer.data)["kubeletconfig"]
        return configuration

    def _ready(self) -> set[str]:
        return {
            node.metadata.name
            for node in self.core().list_node().items
            if any(entry.type == "Ready" and entry.status == "True" for entry in node.status.conditions or ())
        }

    def _renewals(self) -> dict[str, str]:
        leases: Any = client.CoordinationV1Api(self.core().api_client).list_namespaced_lease("kube-node-lease").items
        return {lease.metadata.name: str(lease.spec.renew_time) for lease in leases}

    def wait_ready(self) -> None:
        """Wait until every node is Ready, and its kubelet has renewed its Lease since now: it is alive."""
        began = time.monotonic()
        before = self._renewals()
        while True:
            ready, renewals = self._ready(), self._renewals()
            missing = [
                name
                for name in self.settings.labs
                if name not in ready or name not in renewals or renewals[name] == before.get(name)
            ]
            if not missing:
                step(f"cluster {self.settings.name}: {len(self.settings.labs)} nodes are Ready")
                return
            if time.monotonic() - began > _READY_TIMEOUT:
                raise LabError(
                    f"cluster {self.settings.name}: not Ready: {', '.join(missing)}; see 'journalctl -u kubelet' there"
                )
            time.sleep(_POLL)

    def inventory(self) -> dict[str, dict[str, Any]]:
        """The Ansible variables of its hosts."""
        return {lab.config.name: {**lab.inventory(), "hostprep_kubeconfig": str(self.kubeconfig)} for lab in self.labs}

    def down(self) -> None:
        """End its hosts and its API server, and remove all of them."""
        for name in self.settings.labs:
            if Lab.exists(name):
                Lab.load(name).down()
        folder = self.folder / "api"
        if (folder / "kubeconfig").exists():
            Api.load(folder).stop()
        shutil.rmtree(self.folder)
        step(f"cluster {self.settings.name} is gone")

    def _save(self) -> None:
        partial = self.folder / "cluster.partial"
        partial.write_text(json.dumps(asdict(self.settings), indent=2) + "\n", encoding="utf-8")
        partial.replace(self.folder / "cluster.json")


def _folder(name: str) -> Path:
    paths.lab_dir(f"{name}-1")  # refuses what is no host name
    return paths.home() / "clusters" / name
