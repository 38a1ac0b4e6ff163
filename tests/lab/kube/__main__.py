"""``python -m lab.kube serve``."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.kube.server import serve


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.kube", description="A small Kubernetes API server for tests.")
    command = parser.add_subparsers(required=True).add_parser("serve", help="serve until SIGTERM or SIGINT")
    command.add_argument("--state", type=Path, required=True, help="folder of kubeconfig, certificates and objects")
    command.add_argument("--address", default="127.0.0.1", help="default: %(default)s")
    command.add_argument("--port", type=int, default=0, help="default: one that the system chooses")
    command.add_argument("--pidfile", type=Path, help="where to leave the process id")
    return parser.parse_args()


arguments = _arguments()
serve(arguments.state.resolve(), arguments.address, arguments.port, arguments.pidfile)
