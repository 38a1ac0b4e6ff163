"""Runs playbooks against a lab host and returns what each task said. The real road: ansible-playbook over SSH."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.cluster import Cluster
from lab.vm import Lab

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".build"),
    "ANSIBLE_INJECT_FACT_VARS": "false",
    "ANSIBLE_PIPELINING": "true",
    "ANSIBLE_RETRY_FILES_ENABLED": "false",
    "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
    "ANSIBLE_DEPRECATION_WARNINGS": "true",
}
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")


def boot(name, **options):
    """A lab host that nobody has used yet, with the fingerprint script on it."""
    if Lab.exists(name):  # a run that was cut off left it
        Lab.load(name).down()
    lab = Lab.up(name, **options)
    install_fingerprint(lab)
    return lab


def boot_pool(name, **options):
    """A cluster of two lab hosts that nobody has used yet."""
    if Cluster.exists(name):
        Cluster.load(name).down()
    cluster = Cluster.up(name, **options)
    for lab in cluster.labs:
        install_fingerprint(lab)
    return cluster


def install_fingerprint(lab):
    text = (Path(__file__).parent / "fingerprint.sh").read_text(encoding="utf-8")
    lab.run(["sh", "-c", "cat > /root/fingerprint && chmod +x /root/fingerprint"], input=text)


def fingerprint(lab):
    """Lines that change when anything does that the collection may touch."""
    return lab.run(["/root/fingerprint"]).stdout.splitlines()


def hosts_of(lab):
    """The inventory of one lab, or of all hosts of a cluster."""
    return lab.inventory() if isinstance(lab, Cluster) else {lab.config.name: lab.inventory()}


def command(lab, playbook, *arguments, variables=None, directory=None):
    """The argument list of ansible-playbook for one lab host or a cluster."""
    inventory = Path(directory) / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": hosts_of(lab)}}), encoding="utf-8")
    extra = Path(directory) / "variables.json"
    extra.write_text(json.dumps(variables or {}), encoding="utf-8")
    return [str(PLAYBOOK), "-i", str(inventory), "-e", f"@{extra}", str(playbook), *arguments]


def start(lab, playbook, *arguments, variables=None, directory):
    """ansible-playbook in the background, for tests that pull the plug. Its output goes to DIRECTORY/output."""
    environment = os.environ | ENVIRONMENT | {"ANSIBLE_STDOUT_CALLBACK": "default"}
    with (Path(directory) / "output").open("w", encoding="utf-8") as output:
        return subprocess.Popen(
            command(lab, playbook, *arguments, variables=variables, directory=directory),
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=directory,
        )


def playbook(lab, path, *arguments, variables=None):
    """Run a playbook of the project. Returns (exit status, results by task name of the lab host, statistics)."""
    status, results, stats = run(lab, path, *arguments, variables=variables)
    return status, {name: next(iter(hosts.values())) for name, hosts in results.items()}, stats


def run(lab, path, *arguments, variables=None):
    """Run a playbook on a lab host or a cluster. Returns (exit status, results by task name and host, statistics).

    Of a task that ran several times, each host's last result counts.
    """
    with tempfile.TemporaryDirectory(prefix="hostprep-") as directory:
        done = subprocess.run(
            command(lab, path, *arguments, variables=variables, directory=directory),
            capture_output=True,
            text=True,
            env=os.environ | ENVIRONMENT,
            cwd=directory,
            check=False,
        )
    assert done.returncode in (0, 2), done.stderr or done.stdout
    output = json.loads(done.stdout[done.stdout.index("{\n") :])
    results = {}
    for play in output["plays"]:
        for task in play["tasks"]:
            if task["hosts"]:
                results.setdefault(task["task"]["name"], {}).update(task["hosts"])
    return done.returncode, results, output["stats"]


def tasks(lab, *wanted):
    """Run tasks, each given as a dict of Ansible's own keywords, and return their results in order.

    A task may fail: its result then has `failed`. The ones after it are run all the same.
    """
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"block": [{"name": f"task {number}", **task}], "rescue": [{"ansible.builtin.meta": "clear_host_errors"}]}
            for number, task in enumerate(wanted)
        ],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
        json.dump([play], file)
        file.flush()
        results = playbook(lab, file.name)[1]
    return [results[f"task {number}"] for number in range(len(wanted))]


def active(lab):
    """{serial: priority} of the active swap, as the kernel has it."""
    script = """swapon --show=NAME,PRIO --noheadings | while read -r name priority; do
        echo "$(lsblk --nodeps --noheadings --output SERIAL $name) $priority"; done"""
    lines = lab.run(["sh", "-c", script]).stdout.splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def matrix(lab, module, arguments):
    """check, run, check again, run again; with a fingerprint of the whole configuration before and after the check.

    Returns what the run said. Asserts what holds for every module: check mode writes nothing and predicts exactly, the
    second run changes nothing.
    """
    task = {f"virt.hostprep.{module}": arguments, "diff": True}
    fingerprint = {"ansible.builtin.command": {"cmd": "/root/fingerprint"}, "changed_when": False}
    disks = lab.hash()
    before, check, after = tasks(lab, fingerprint, {**task, "check_mode": True}, fingerprint)
    assert lab.hash() == disks, "check mode wrote to a disk"
    assert after["stdout_lines"] == before["stdout_lines"], "check mode wrote to the host"
    run, check_again, again = tasks(lab, task, {**task, "check_mode": True}, task)
    assert not run.get("failed"), run["msg"]
    assert check["changed"] == run["changed"]
    assert check["actions"] == run["actions"]
    assert check["diff"] == run["diff"]
    assert not check_again["changed"] and check_again["actions"] == []
    assert not again["changed"] and again["actions"] == []
    return run
