"""Ansible inventories of labs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import yaml
from lab import inventory
from lab.files import Files
from lab.ssh import Connection

HOST = inventory.host(Connection("dev", 2222, Files(Path("/labs/my dev"))))


def test_host():
    assert HOST["ansible_host"] == "127.0.0.1"
    assert HOST["ansible_port"] == 2222
    assert HOST["ansible_user"] == "root"
    assert HOST["ansible_ssh_private_key_file"] == "/labs/my dev/id_ed25519"
    assert HOST["ansible_python_interpreter"] == "/usr/bin/python3"


def test_host_key_is_checked_against_the_labs_own_file():
    words = shlex.split(HOST["ansible_ssh_common_args"])
    assert "UserKnownHostsFile=/labs/my dev/known_hosts" in words
    assert "StrictHostKeyChecking=yes" in words
    assert "HostKeyAlias=lab-dev" in words


def test_both_forms_say_the_same():
    expected = {"all": {"hosts": {"dev": HOST, "other": HOST}}}
    hosts = {"dev": HOST, "other": HOST}
    assert json.loads(inventory.render(hosts, "json")) == expected
    assert yaml.safe_load(inventory.render(hosts, "yaml")) == expected
