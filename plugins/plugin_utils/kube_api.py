# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads nodes, their leases and /configz from a Kubernetes API server, on the controller. Never writes.

The Python library `kubernetes` reads the kubeconfig (certificates, tokens, exec plugins, proxies); every request is
a plain GET through the connection pool that it sets up, which looks alike in all its releases.
"""

from __future__ import annotations

import contextlib
import copy
import email.utils
import importlib
import json
import os
import queue
import re
import sys
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem

Data = dict[str, t.Any]

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODES = "/api/v1/nodes"

_ANSWER_SECONDS = 10.0  # for one answer; a node that hangs must not hold up the others
_WATCH_SECONDS = 60  # the server ends a watch after this time, and we go on with the next
_AT_ONCE = 8  # requests for /configz
_TRANSIENT = frozenset((429, 500, 502, 503, 504))


class Unavailable(Exception):
    """The API server does not answer, or answers that it cannot now: ask again."""


class TimedOut(Unavailable):
    """The connection stands, and there was no answer on it in time."""


class WatchEnded(Exception):
    """What was watched has to be listed again: the version is too old, or the connection is gone."""


class Forbidden(HostprepError):
    """403. The text of the server says who may not do what."""


class Change(t.NamedTuple):
    """kind: Node or Lease. event: ADDED, MODIFIED or DELETED."""

    kind: str
    event: str
    item: Data


class Configz(t.NamedTuple):
    """What /configz answered, through the API server ("proxy") or from the node itself ("node"); else why not."""

    config: Data | None
    source: str | None
    unreadable: str = ""


class Answer(t.NamedTuple):
    status: int
    headers: t.Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        """What the server says about it, in a line: the message of a Status object, or the plain text."""
        status = self.object("Status")
        text = str(status.get("message", "")) if status else self.body.decode("utf-8", "replace")
        return f"{self.status} {' '.join(text.split())[:300]}".strip()

    def object(self, kind: str) -> Data | None:
        try:
            read = json.loads(self.body)
        except ValueError:
            return None
        return read if isinstance(read, dict) and read.get("kind") == kind else None


class Api:
    """One API server, as one user. Raises Unavailable for what passes, HostprepError for what does not."""

    def __init__(self, kubeconfig: str | None, context: str | None, label_selector: str | None = None) -> None:
        """Reads the kubeconfig (without a name: as kubectl finds it) and connects to nothing yet."""
        client = _kubernetes()
        self._errors: t.Any = importlib.import_module("urllib3.exceptions")
        self._timeout: t.Any = importlib.import_module("urllib3").Timeout
        self._configuration, self.who = _read_kubeconfig(client, kubeconfig, context)
        self._make_client = client.client.ApiClient
        self._pool = self._make_client(configuration=self._configuration).rest_client.pool_manager
        self._node_pool: t.Any = None
        self._selector = {"labelSelector": label_selector} if label_selector else {}
        self._ahead = 0.0  # of our clock, the server's
        self._versions: dict[str, str] = {}
        self._watch: _Watch | None = None

    # --- what is there ----------------------------------------------------------------------------------------------

    def nodes(self) -> dict[str, Data]:
        """The nodes that the selector selects (all of them without one), by name."""
        return self._list("Node", NODES, self._selector)

    def leases(self) -> dict[str, Data] | None:
        """The Leases by which kubelets show that they are alive, by name of the node; None if we may not see them."""
        try:
            return self._list("Lease", LEASES, {})
        except Forbidden:
            self._versions.pop("Lease", None)
            return None

    def now(self) -> float:
        """Seconds since the epoch by the clock of the API server, as of its last answer."""
        return time.time() + self._ahead

    def configz(self, nodes: t.Sequence[Data]) -> list[Configz]:
        """/configz of each node, in this order."""
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as executor:
            return list(executor.map(self._configz, nodes))

    def wait(self, seconds: float) -> list[Change]:
        """What has changed since the last list; waits for the first change, so many seconds at most."""
        if self._watch is None:
            self._watch = _Watch(self, self._versions)
        return self._watch.wait(seconds)

    def pause(self, seconds: float) -> None:
        """While the API server is away there is nothing that could be watched."""
        time.sleep(seconds)

    def close(self) -> None:
        self._stop_watching()
        self._pool.clear()
        if self._node_pool is not None:
            self._node_pool.clear()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _list(self, kind: str, path: str, query: dict[str, str]) -> dict[str, Data]:
        self._stop_watching()  # what it still holds may be older than this list
        answer = self._checked("list", path, self._get(path, query))
        read = answer.object(f"{kind}List")
        if read is None:
            raise HostprepError(
                Problem(
                    found=f"GET {self._url(path)} answered no {kind}List: {answer.message}",
                    wanted="a Kubernetes API server",
                    remedy=f"correct the server of {self.who} in the kubeconfig",
                )
            )
        self._versions[kind] = read["metadata"]["resourceVersion"]
        return {item["metadata"]["name"]: item for item in read["items"] or ()}

    # --- /configz ---------------------------------------------------------------------------------------------------

    def _configz(self, node: Data) -> Configz:
        name = node["metadata"]["name"]
        path = f"{NODES}/{name}/proxy/configz"
        try:
            answer = self._get(path)
        except TimedOut as error:  # the server waits for a node that hangs
            return Configz(None, None, str(error))
        if answer.status == 401 and answer.object("Status"):
            raise HostprepError(self._unauthorized(answer))
        if answer.status == 403:
            return self._configz_of_node(node, f"GET {path}: {answer.message}")
        return _read_configz(answer, "proxy")

    def _configz_of_node(self, node: Data, refused: str) -> Configz:
        """From the kubelet's own port, with our credentials; only after its certificate was verified."""
        address = _kubelet_address(node)
        if address is None:
            return Configz(None, None, f"{refused}; and the node reports no InternalIP to ask instead")
        url = f"https://{address}/configz"
        if not self._configuration.ssl_ca_cert:
            raise self._may_not_read(f"{refused}; {url} not asked: the kubeconfig has no CA to verify it by")
        try:
            answer = self._request(self._verified_pool(), url)
        except Unavailable as error:
            return Configz(None, None, f"{refused}; {url}: {error}")
        except HostprepError as error:
            raise self._may_not_read(f"{refused}; {url}: {error.problems[0].found}") from error
        if answer.status in (401, 403):
            raise self._may_not_read(f"{refused}; {url}: {answer.message}")
        return _read_configz(answer, "node")

    def _verified_pool(self) -> t.Any:
        """Connections to kubelets: verified by the CA of the kubeconfig, also where that waives it for the server."""
        if self._node_pool is None:
            configuration = copy.deepcopy(self._configuration)
            configuration.verify_ssl = True
            configuration.assert_hostname = None
            configuration.tls_server_name = None
            self._node_pool = self._make_client(configuration=configuration).rest_client.pool_manager
        return self._node_pool

    def _may_not_read(self, found: str) -> HostprepError:
        return HostprepError(
            Problem(
                found=found,
                wanted=f"{self.who} may 'get' 'nodes/proxy' (or 'nodes/configz', asked of the kubelet itself)",
                remedy=(
                    "add to a ClusterRole that is bound to this user: "
                    '{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}; where kubelets have serving '
                    "certificates of the cluster's CA and the gate KubeletFineGrainedAuthz (on by default from 1.33), "
                    '{apiGroups: [""], resources: [nodes/configz], verbs: [get]} is enough'
                ),
            )
        )

    # --- requests ---------------------------------------------------------------------------------------------------

    def _get(self, path: str, query: dict[str, str] | None = None) -> Answer:
        return self._request(self._pool, self._url(path, query))

    def _url(self, path: str, query: dict[str, str] | None = None) -> str:
        return f"{self._configuration.host.rstrip('/')}{path}" + (f"?{urlencode(query)}" if query else "")

    def _request(self, pool: t.Any, url: str) -> Answer:
        response = self._open(pool, url, _ANSWER_SECONDS)
        answer = self._read(response, url)
        date = email.utils.parsedate_to_datetime(answer.headers["Date"]) if "Date" in answer.headers else None
        if date and pool is self._pool:
            self._ahead = date.timestamp() - time.time()
        return answer

    def _open(self, pool: t.Any, url: str, read_seconds: float) -> t.Any:
        """The response before its body. No retries and no redirects: credentials go nowhere else."""
        headers = {"accept": "application/json"}
        for setting in self._configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        timeout = self._timeout(connect=_ANSWER_SECONDS, read=read_seconds)
        try:
            return pool.request(
                "GET", url, headers=headers, timeout=timeout, retries=False, redirect=False, preload_content=False
            )
        except self._errors.HTTPError as error:
            raise self._failure(error, url) from error

    def _read(self, response: t.Any, url: str) -> Answer:
        try:
            return Answer(response.status, response.headers, response.data)
        except self._errors.HTTPError as error:
            raise self._failure(error, url) from error

    def _failure(self, error: Exception, url: str) -> Exception:
        """What a failed request means: a certificate does not heal by waiting, all else may."""
        if isinstance(error, self._errors.ReadTimeoutError):
            return TimedOut(f"no answer within {_ANSWER_SECONDS:.0f} s")
        if isinstance(error, self._errors.SSLError) and "EOF" not in str(error):  # EOF: a server that is going down
            return HostprepError(
                Problem(
                    found=f"no trusted connection to {url.split('?')[0]}: {error}",
                    wanted="a certificate that the CA of the kubeconfig has signed for this address",
                    remedy=f"correct certificate-authority and server of {self.who} in the kubeconfig",
                )
            )
        return Unavailable(re.sub(r"<[^>]* object at 0x[0-9a-f]+>:? ?", "", str(error)))  # the same each time

    def _checked(self, verb: str, path: str, answer: Answer) -> Answer:
        """The answer if it is a good one."""
        if answer.status == 200:
            return answer
        if answer.status == 401:
            raise HostprepError(self._unauthorized(answer))
        if answer.status == 403:
            group = "coordination.k8s.io" if path == LEASES else ""
            resource = path.rsplit("/", 1)[-1]
            raise Forbidden(
                Problem(
                    found=f"GET {path}: {answer.message}",
                    wanted=f"{self.who} may '{verb}' '{resource}'",
                    remedy=(
                        "add to a ClusterRole that is bound to this user: "
                        f'{{apiGroups: ["{group}"], resources: [{resource}], verbs: [list, watch]}}'
                    ),
                )
            )
        if answer.status == 410:
            raise WatchEnded(answer.message)
        if answer.status in _TRANSIENT:
            raise Unavailable(answer.message)
        raise HostprepError(
            Problem(
                found=f"GET {self._url(path)}: {answer.message}",
                wanted="200",
                remedy=f"correct the server of {self.who} in the kubeconfig, or the label selector",
            )
        )

    def _unauthorized(self, answer: Answer) -> Problem:
        return Problem(
            found=f"the API server does not know us: {answer.message}",
            wanted=f"valid credentials of {self.who}",
            remedy="its token or client certificate has expired or is of another cluster: log in anew, or name the "
            "right kubeconfig and context",
        )

    # --- watching ---------------------------------------------------------------------------------------------------

    def open_watch(self, kind: str, version: str) -> t.Any:
        """A response whose body will be the events of one kind since a version."""
        path, selector = (NODES, self._selector) if kind == "Node" else (LEASES, {})
        query = {
            **selector,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        url = self._url(path, query)
        response = self._open(self._pool, url, _WATCH_SECONDS + _ANSWER_SECONDS)
        if response.status != 200:
            self._checked("watch", path, self._read(response, url))
        return response

    def events(self, response: t.Any) -> t.Iterator[Data]:
        """Events as they come, until the server ends the watch."""
        try:
            for line in _lines(response.stream(amt=None)):
                yield json.loads(line)
        except self._errors.HTTPError as error:
            raise WatchEnded(str(error)) from error
        finally:
            response.close()


class _Watch:
    """Follows Nodes and Leases, each in a thread of its own, from the versions of their lists."""

    def __init__(self, api: Api, versions: dict[str, str]) -> None:
        self._api = api
        self._seen: queue.Queue[Change | Exception] = queue.Queue()
        self._stopped = threading.Event()
        self._responses: dict[str, t.Any] = {}
        for kind, version in versions.items():
            threading.Thread(target=self._run, args=(kind, version), daemon=True).start()

    def wait(self, seconds: float) -> list[Change]:
        changes: list[Change] = []
        try:
            seen = self._seen.get(timeout=max(seconds, 0.001))
            while True:
                if isinstance(seen, Exception):
                    raise seen
                changes.append(seen)
                seen = self._seen.get_nowait()
        except queue.Empty:
            return changes

    def stop(self) -> None:
        self._stopped.set()
        for response in list(self._responses.values()):
            # Not if it has ended; or urllib3 is older than 2.3, then its thread ends with it, heard by nobody.
            with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
                response.shutdown()

    def _run(self, kind: str, version: str) -> None:
        try:
            while not self._stopped.is_set():
                self._responses[kind] = response = self._api.open_watch(kind, version)
                for event in self._api.events(response):
                    item = event["object"]
                    if event["type"] == "ERROR":
                        raise WatchEnded(str(item.get("message", item)))
                    version = item["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._seen.put(Change(kind, event["type"], item))
        except HostprepError as error:
            self._seen.put(error)
        except (Unavailable, WatchEnded, OSError, ValueError) as error:
            # Whether the API server is away, or only this connection was lost, the next list will show.
            self._seen.put(WatchEnded(str(error)))


def _lines(chunks: t.Iterable[bytes]) -> t.Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())


def _read_configz(answer: Answer, source: str) -> Configz:
    if answer.status != 200:
        hint = ""
        if answer.status in (404, 405):
            hint = " (the kubelet serves no /configz: is its enableDebuggingHandlers false?)"
        return Configz(None, None, f"{answer.message}{hint}")
    try:
        config = json.loads(answer.body)["kubeletconfig"]
    except (ValueError, KeyError, TypeError):
        config = None
    if not isinstance(config, dict):
        return Configz(None, None, "its answer holds no kubeletconfig")
    return Configz(config, source)


def _kubelet_address(node: Data) -> str | None:
    status = node.get("status", {})
    for address in status.get("addresses") or ():
        if address.get("type") == "InternalIP":
            ip = address["address"]
            port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port") or 10250
            return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    return None


def _kubernetes() -> t.Any:
    """The library, which only what talks to a cluster needs."""
    try:
        return importlib.import_module("kubernetes")
    except ImportError as error:
        raise HostprepError(
            Problem(
                found=f"the Python library 'kubernetes' does not load in {sys.executable} ({error})",
                wanted="it on the controller, in the Python that runs Ansible",
                remedy=(
                    "install it there: package python3-kubernetes where Ansible is the distribution's own, "
                    f"'{sys.executable} -m pip install kubernetes' in a virtual environment, "
                    "'pipx inject ansible kubernetes' with pipx"
                ),
            )
        ) from error


def _read_kubeconfig(kubernetes: t.Any, kubeconfig: str | None, context: str | None) -> tuple[t.Any, str]:
    """The client configuration, and in words who that makes us."""
    where = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    config = kubernetes.config
    configuration = kubernetes.client.Configuration()
    configuration.retries = False
    bad = (config.ConfigException, importlib.import_module("yaml").YAMLError)
    try:
        if kubeconfig:
            with open(kubeconfig, encoding="utf-8"):
                pass  # the library says of a file that cannot be read only that it found nothing
        contexts, active = config.list_kube_config_contexts(config_file=kubeconfig)
        if context and context not in [entry["name"] for entry in contexts]:
            raise HostprepError(
                Problem(
                    found=f"no context {context!r} in {where}",
                    wanted=f"one of {', '.join(entry['name'] for entry in contexts)}",
                    remedy="name one of these, or another kubeconfig",
                )
            )
        config.load_kube_config(kubeconfig, context, client_configuration=configuration, persist_config=False)
    except (*bad, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise HostprepError(
            Problem(
                found=f"kubeconfig {where}: {' '.join(str(error).split()) or type(error).__name__}",
                wanted="a kubeconfig that can be read, with a current context",
                remedy="name it in 'kubeconfig' (and its 'context'); 'kubectl config view' shows what it holds",
            )
        ) from error
    chosen = next((entry for entry in contexts if entry["name"] == context), active)
    return configuration, f"user {chosen['context'].get('user')!r} of context {chosen['name']!r} ({where})"
