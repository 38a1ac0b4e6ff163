"""The modules of kubernetes.core on the API, in one play: k8s, k8s_info, k8s_drain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def task(module: str, register: str, *checks: str, **options: Any) -> list[dict[str, Any]]:
    """A task and what has to be true after it."""
    keywords = {key: options.pop(key) for key in ("check_mode", "ignore_errors") if key in options}
    return [
        {"name": register, f"kubernetes.core.{module}": options, "register": register, **keywords},
        {"name": f"{register}: {checks}", "ansible.builtin.assert": {"that": list(checks)}},
    ]


def configmap(namespace: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": namespace},
        "data": data,
    }


def pod(namespace: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "registry.invalid/none"}],
        },
    }


@pytest.fixture
def play(api, tmp_path: Path) -> Any:
    """Runs tasks as a play; its output is shown when it fails."""

    def run(tasks: list[dict[str, Any]]) -> None:
        defaults = {"group/kubernetes.core.k8s": {"kubeconfig": str(api.kubeconfig)}}
        play = {"hosts": "localhost", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}
        playbook = tmp_path / "play.json"
        playbook.write_text(json.dumps([play]), encoding="utf-8")
        command = [Path(sys.executable).with_name("ansible-playbook"), "--inventory=localhost,", "--connection=local"]
        command += [f"--extra-vars=ansible_python_interpreter={sys.executable}", playbook]
        # the discovery cache of kubernetes.core is in TMPDIR, under the name of host and port
        environment = {**os.environ, "TMPDIR": str(tmp_path), "ANSIBLE_LOCALHOST_WARNING": "false"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def test_kubernetes_core(play, namespace, node):
    first, second = configmap(namespace, a="1"), configmap(namespace, a="2")
    named = {"api_version": "v1", "kind": "ConfigMap", "name": "c", "namespace": namespace}
    play(
        [
            *task("k8s", "would", "would is changed", definition=first, check_mode=True),
            *task("k8s_info", "absent", "absent.resources | length == 0", "absent.api_found", **named),
            *task("k8s", "created", "created is changed", definition=first),
            *task("k8s", "again", "again is not changed", definition=first),
            *task("k8s", "changed", "changed is changed", "changed.result.data.a == '2'", definition=second),
            *task("k8s", "applied", "applied is changed", definition=configmap(namespace, b="3"), apply=True),
            *task(
                "k8s",
                "applied_again",
                "applied_again is not changed",
                definition=configmap(namespace, b="3"),
                apply=True,
            ),
            *task("k8s_info", "found", "found.resources[0].data.b == '3'", **named),
            *task("k8s", "removed", "removed is changed", state="absent", wait=True, wait_sleep=1, **named),
            *task("k8s", "removed_again", "removed_again is not changed", state="absent", **named),
            *task("k8s", "pod", "pod is changed", definition=pod(namespace, node)),
            *task("k8s_drain", "cordoned", "cordoned is changed", name=node, state="cordon"),
            *task(
                "k8s_drain",
                "drained",
                "drained is changed",
                "'1 Pod(s) deleted from node.' in drained.result",
                name=node,
                delete_options={"force": True, "wait_timeout": 60, "wait_sleep": 1},
            ),
            *task(
                "k8s_info",
                "left",
                "left.resources | length == 0",
                kind="Pod",
                field_selectors=[f"spec.nodeName={node}"],
            ),
            *task("k8s_drain", "uncordoned", "uncordoned is changed", name=node, state="uncordon"),
            *task(
                "k8s_info",
                "nodes",
                "nodes.resources | map(attribute='metadata.name') == ['" + node + "']",
                "not nodes.resources[0].spec.unschedulable | default(false)",
                kind="Node",
                label_selectors=[f"hostprep-test={node}"],
            ),
        ]
    )
