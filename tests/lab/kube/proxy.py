"""The node proxy: requests to a kubelet through the API."""

from __future__ import annotations

import http.client
import ssl
from typing import NamedTuple

from lab.kube.statuses import ApiError, Json
from lab.kube.target import Target

_SECONDS = 30.0
_ADDRESS_TYPES = ("InternalIP", "ExternalIP", "Hostname")  # kubeadm's --kubelet-preferred-address-types
_DEFAULT_PORT = 10250


class Reply(NamedTuple):
    """What the kubelet answered."""

    status: int
    content_type: str
    body: bytes


def forward(node: Json, target: Target, body: bytes, token: str) -> Reply:
    """Send the request on to the kubelet of `node`, with the API's own token instead of the client's.

    Kubelets sign their certificates themselves, and a real API server trusts them too unless it was given a CA.
    """
    host, port = _address(node), _port(node)
    path = f"/{target.rest}" + (f"?{target.raw_query}" if target.raw_query else "")
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=trusting)
    try:
        connection.request(target.method, path, body or None, {"Authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        return Reply(reply.status, reply.headers.get("Content-Type", "text/plain"), reply.read())
    except ConnectionRefusedError as error:
        raise _unreachable(f"dial tcp {host}:{port}: connect: connection refused") from error
    except TimeoutError as error:
        raise _unreachable(f"dial tcp {host}:{port}: i/o timeout") from error
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(f"{host}:{port}: {str(error) or type(error).__name__}") from error
    finally:
        connection.close()


def _address(node: Json) -> str:
    known = (node.get("status") or {}).get("addresses") or []
    for kind in _ADDRESS_TYPES:
        for address in known:
            if address["type"] == kind:
                return str(address["address"])
    raise ApiError(500, "InternalError", f"no preferred addresses found; known addresses: {known}", {})


def _port(node: Json) -> int:
    endpoint = ((node.get("status") or {}).get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    return int(endpoint.get("Port") or _DEFAULT_PORT)


def _unreachable(why: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", f"error trying to reach service: {why}")
