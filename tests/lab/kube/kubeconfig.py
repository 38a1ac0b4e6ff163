"""Kubeconfig files."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml


def text(server: str, ca_file: Path, user: str, token: str) -> str:
    """A kubeconfig with one context; `server` is a URL. The CA is inside, so that the file can be taken elsewhere."""
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
            "current-context": "lab",
        },
        sort_keys=False,
    )


def write(path: Path, content: str) -> None:
    """Write a kubeconfig that only its owner can read: it holds a token."""
    path.touch(mode=0o600)
    path.write_text(content, encoding="utf-8")
