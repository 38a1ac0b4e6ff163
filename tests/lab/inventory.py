"""Ansible inventories of labs."""

from __future__ import annotations

import json
import shlex
from typing import Any

from lab.ssh import Connection

FORMATS = ("yaml", "json")


def host(connection: Connection) -> dict[str, Any]:
    """The variables with which Ansible reaches one lab."""
    return {
        "ansible_host": "127.0.0.1",
        "ansible_port": connection.port,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(connection.files.key),
        "ansible_ssh_common_args": shlex.join(connection.options()),
        "ansible_python_interpreter": "/usr/bin/python3",
    }


def render(hosts: dict[str, dict[str, Any]], form: str) -> str:
    """The inventory file of several labs; Ansible reads both forms."""
    if form == "json":
        return json.dumps({"all": {"hosts": hosts}}, indent=2) + "\n"
    lines = ["all:", "  hosts:"]
    for name, variables in hosts.items():
        lines.append(f"    {name}:")
        # A JSON scalar is a YAML scalar.
        lines += [f"      {key}: {json.dumps(value)}" for key, value in variables.items()]
    return "\n".join(lines) + "\n"
