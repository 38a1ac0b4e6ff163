"""The HTTPS server around the service."""

from __future__ import annotations

import json
import os
import select
import signal
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lab.kube import certificates, kubeconfig
from lab.kube.service import LAB, Request, Response, Service
from lab.kube.users import ADMIN

_IDLE_SECONDS = 300.0


def serve(folder: Path, address: str, port: int, pidfile: Path | None) -> None:
    """Serve until SIGTERM or SIGINT. Prints the URL once it is there; `kubeconfig` in `folder` is the admin's."""
    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)  # inherited by all threads: only sigwait() takes them
    folder.mkdir(parents=True, exist_ok=True)
    certificates.make(folder)
    with _Server(address, port, folder) as server:
        url = f"https://{'127.0.0.1' if address == '0.0.0.0' else address}:{server.server_address[1]}"
        admin = kubeconfig.text(url, folder / "ca.crt", ADMIN, server.service.admin_token)
        kubeconfig.write(folder / "kubeconfig", admin)
        if pidfile:
            pidfile.write_text(str(os.getpid()), encoding="ascii")
        accepting = threading.Thread(target=server.serve_forever)
        accepting.start()
        print(url, flush=True)
        signal.sigwait(stopping)
        server.shutdown()
        accepting.join()
        server.service.stop()


class _Server(ThreadingHTTPServer):
    """A thread for each connection. TLS handshakes happen there, so that a silent client holds up nobody else."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, port: int, folder: Path) -> None:
        self.service = Service(folder)
        super().__init__((address, port), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; anything else is a defect, and its traceback goes to the log."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError, ssl.SSLError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "lab-kube"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    wbufsize = -1  # one write for headers and body
    server: _Server

    def _answer(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = None if self.path.startswith(LAB) else service.faults.hit(self.path)
        if fault and fault.status is None:
            self._drop()
        elif fault and fault.status is not None:
            self._send(service.sick(fault.status))
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = service.answer(Request(self.command, self.path, headers, body))
            if response.watch:
                self._stream(response)
            else:
                self._send(response)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  # the base class's names

    def _send(self, response: Response) -> None:
        self.send_response(response.code)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def _stream(self, response: Response) -> None:
        """A watch: one chunk for each event."""
        assert response.watch
        self.send_response(response.code)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for event in response.watch(self._client_has_gone):
            data = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if self.server.service.faults.cuts(self.path):
            self._drop()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _client_has_gone(self) -> bool:
        """A client sends nothing during a watch, so there is something to read only once it has hung up."""
        return bool(select.select([self.connection], [], [], 0)[0])

    def _drop(self) -> None:
        self.close_connection = True
        self.log_message('dropped "%s"', self.requestline)
