# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelet_config makes of a node: where it writes, what it refuses, and when the kubelet has to start again."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_config
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    HostprepError,
    Plan,
    RemoveFile,
    RestartService,
    WriteFile,
)
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import kubelets
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, build

SWAP = {"failSwapOn": False, "memorySwap": {"swapBehavior": "auto"}}
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
ADDED = "/etc/kubernetes/kubelet.conf.d"


def wanted(**options: t.Any) -> dict[str, t.Any]:
    defaults = {name: spec.get("default") for name, spec in kubelet_config.ARGUMENT_SPEC.items()}
    return {**defaults, "settings": SWAP, **options}


def look(tmp_path: Path, files: Files, **options: t.Any) -> tuple[Plan, dict[str, t.Any]]:
    """The plan for a recorded node, and what the module would return of it."""
    tmp_path.mkdir(exist_ok=True)
    host = Host(build(tmp_path / "host", files))
    asked = wanted(**options)
    observed = kubelet_config.observe(host, asked)
    return kubelet_config.plan(observed, asked), kubelet_config.state(observed, asked)["kubelet"]


def plan(tmp_path: Path, files: Files, **options: t.Any) -> Plan:
    return look(tmp_path, files, **options)[0]


def written(made: Plan) -> dict[str, str]:
    assert made.problems == ()
    return {action.path: action.content for action in made.actions if isinstance(action, WriteFile)}


def problem(made: Plan) -> str:
    assert made.actions == ()
    (only,) = made.problems
    return str(only)


def after(files: Files, made: Plan) -> Files:
    """The node with the plan's files on it."""
    result = dict(files)
    for action in made.actions:
        if isinstance(action, WriteFile):
            result[action.path.lstrip("/")] = action.content
        elif isinstance(action, RemoveFile):
            del result[action.path.lstrip("/")]
    return result


# --- where it writes ----------------------------------------------------------------------------------------------


def test_kubeadm_gets_the_directory_where_it_takes_flags(tmp_path: Path) -> None:
    files = written(plan(tmp_path, kubelets.kubeadm()))
    assert list(files) == [f"{ADDED}/90-hostprep.conf", "/etc/default/kubelet"]
    drop_in, environment = files.values()
    assert yaml.safe_load(drop_in) == {
        **yaml.safe_load(HEADER),
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
    }
    assert environment == f'KUBELET_EXTRA_ARGS="--config-dir={ADDED}"\n'


def test_flags_that_are_there_stay(tmp_path: Path) -> None:
    files = written(plan(tmp_path, kubelets.kubeadm(extra='# mine\nKUBELET_EXTRA_ARGS="--v=4"\nOTHER=1\n')))
    assert files["/etc/default/kubelet"] == f'# mine\nKUBELET_EXTRA_ARGS="--v=4 --config-dir={ADDED}"\nOTHER=1\n'


def test_kubespray_s_variable_goes_over_several_lines(tmp_path: Path) -> None:
    files = written(plan(tmp_path, kubelets.kubespray(), accept_rewrite=True))
    assert files["/etc/kubernetes/kubelet.env"] == kubelets.KUBESPRAY_ENVIRONMENT.replace(
        ' \\\n "', f' --config-dir={ADDED}"'
    )
    again = kubelets.kubespray(**{f"/{path.lstrip('/')}": text for path, text in files.items()})
    _made, state = look(tmp_path / "2", again, accept_rewrite=True)
    assert state["config_dir"] == ADDED
    assert state["config_file"] == "/etc/kubernetes/kubelet-config.yaml"


def test_flags_that_the_unit_itself_sets_stay(tmp_path: Path) -> None:
    """EnvironmentFile= wins over Environment=: a variable that is only set there must not get lost."""
    node = kubelets.kubeadm(extra="", environment='"KUBELET_EXTRA_ARGS=--node-ip=10.0.0.7 --v=2"')
    files = written(plan(tmp_path, node))
    assert files["/etc/default/kubelet"] == f'KUBELET_EXTRA_ARGS="--node-ip=10.0.0.7 --v=2 --config-dir={ADDED}"\n'


def test_a_later_environment_file_is_not_taken_for_ours(tmp_path: Path) -> None:
    node = kubelets.kubeadm(extra='KUBELET_EXTRA_ARGS="--v=4"\n', **{"/etc/proxy.env": "HTTPS_PROXY=x\n"})
    node["commands/systemctl"] = (
        str(node["commands/systemctl"]) + "EnvironmentFiles=/etc/proxy.env (ignore_errors=yes)\n"
    )
    assert list(written(plan(tmp_path, node))) == [f"{ADDED}/90-hostprep.conf", "/etc/default/kubelet"]


def test_a_directory_that_is_read_already_is_used(tmp_path: Path) -> None:
    made = plan(tmp_path, kubelets.bare("--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d"))
    assert list(written(made)) == ["/etc/kubelet.d/90-hostprep.conf"]


def test_k3s(tmp_path: Path) -> None:
    made = plan(tmp_path, kubelets.k3s())
    assert list(written(made)) == ["/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/90-hostprep.conf"]


def test_before_1_30_the_file_itself_is_changed_and_the_rest_of_it_kept(tmp_path: Path) -> None:
    made = plan(tmp_path, kubelets.kubeadm("v1.29.9"), accept_rewrite=True)
    # NodeSwap is off there: a kubelet that is given swapBehavior exits
    assert written(made) == {"/var/lib/kubelet/config.yaml": f"{kubelets.KUBEADM_CONFIG}failSwapOn: false\n"}


def test_by_hand_and_without_a_directory(tmp_path: Path) -> None:
    (text,) = written(plan(tmp_path, kubelets.bare())).values()
    assert "maxPods: 200 # was 110\n" in text
    assert "# set by hand\n" in text
    assert yaml.safe_load(text) == {
        **yaml.safe_load(kubelets.KUBEADM_CONFIG),
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
    }


# --- again, and back ----------------------------------------------------------------------------------------------

NODES = {
    "kubeadm": kubelets.kubeadm(),
    "kubeadm-1.29": kubelets.kubeadm("v1.29.9"),
    "kubespray": kubelets.kubespray(),
    "bare": kubelets.bare(),
    "directory": kubelets.bare("--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d"),
    "k3s": kubelets.k3s(),
}


@pytest.mark.parametrize("name", NODES)
def test_a_second_run_writes_nothing(tmp_path: Path, name: str) -> None:
    first = plan(tmp_path / "1", NODES[name], accept_rewrite=True)
    assert written(first)
    second = plan(tmp_path / "2", after(NODES[name], first), accept_rewrite=True)
    assert second.problems == ()
    assert second.actions == ()
    assert all(check.ok for check in second.checks)


@pytest.mark.parametrize("name", NODES)
def test_absent_takes_back_what_present_wrote(tmp_path: Path, name: str) -> None:
    there = after(NODES[name], plan(tmp_path / "1", NODES[name], accept_rewrite=True))
    back = plan(tmp_path / "2", there, state="absent", accept_rewrite=True)
    assert back.problems == ()
    gone = after(there, back)
    config = [path for path in NODES[name] if path.endswith((".yaml", "00-k3s-defaults.conf"))]
    for path in config:
        assert yaml.safe_load(t.cast(str, gone[path])).get("memorySwap") in (None, {})
        assert "90-hostprep" not in "".join(gone)
    assert plan(tmp_path / "3", gone, state="absent", accept_rewrite=True).actions == ()


def test_two_askers_share_a_file_without_harm(tmp_path: Path) -> None:
    bare = kubelets.bare("--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d")
    node = after(bare, plan(tmp_path / "1", bare))
    made = plan(tmp_path / "2", node, settings={"maxPods": 123, "evictionHard": {"memory.available": "500Mi"}})
    (text,) = written(made).values()
    assert yaml.safe_load(text)["failSwapOn"] is False
    assert all(check.ok for check in plan(tmp_path / "3", after(node, made)).checks)
    back = plan(tmp_path / "4", after(node, made), settings={"maxPods": 123}, state="absent")
    (text,) = written(back).values()
    assert "maxPods" not in text
    assert yaml.safe_load(text)["evictionHard"] == {"memory.available": "500Mi"}


def test_absent_waits_for_swap_that_comes_back_at_boot(tmp_path: Path) -> None:
    there = after(kubelets.bare(), plan(tmp_path / "1", kubelets.bare()))
    there["etc/fstab"] = "/dev/vdb none swap sw 0 0\n"
    assert "comes back at the next boot by /etc/fstab:1" in problem(plan(tmp_path / "2", there, state="absent"))


def test_no_restart_while_swap_is_on_and_not_tolerated(tmp_path: Path) -> None:
    """B20: an upgrade wrote failSwapOn back; the kubelet lives on until somebody restarts it."""
    node = kubelets.bare(started=kubelets.EARLIER, **{"/etc/kubernetes/kubelet.yaml": f"{HEADER}maxPods: 9\n"})
    node["proc/swaps"] = "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1 partition 1048576 0 100\n"
    assert "swap is on" in problem(plan(tmp_path, node, settings={"maxPods": 9}, restart=True))
    assert plan(tmp_path / "2", node, settings={"maxPods": 9}).actions == ()


def test_absent_waits_for_the_swap_to_go(tmp_path: Path) -> None:
    there = after(kubelets.bare(), plan(tmp_path / "1", kubelets.bare()))
    there["proc/swaps"] = "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1 partition 1048576 0 100\n"
    said = problem(plan(tmp_path / "2", there, state="absent"))
    assert "swap is on (/dev/nvme0n1)" in said
    assert "turn the swap off first" in said


# --- what it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ({"proc/1/comm": "systemd\n"}, {}, "no kubelet"),
        (kubelets.bare(cgroup="0::/kubepods.slice/x"), {}, "runs in a container"),
        (kubelets.bare(arguments="--kubeconfig=/x"), {}, "without a configuration file"),
        (kubelets.k3s(directory=False), {}, "update to a release of k3s"),
        (kubelets.kubeadm("v1.29.9"), {}, "kubeadm (upgrade node, from the ConfigMap kubelet-config) writes anew"),
        (kubelets.kubespray(), {}, "kubelet_fail_swap_on: false"),
        (kubelets.bare(**{"/etc/machine-config-daemon/currentconfig": "{}"}), {}, "Machine Config Operator"),
        (kubelets.bare(version="v1.27.1"), {}, "Kubernetes 1.27"),
        (kubelets.node(stale=True), {}, "not what systemd has read"),
        (kubelets.bare(), {"order": 100}, "order 100"),
        (kubelets.bare(), {"settings": {"FailSwapOn": False}}, "failSwapOn"),
        (kubelets.bare(), {"settings": {"failSwapOn": "false"}}, "failSwapOn"),
        (kubelets.bare(), {"settings": {"memorySwap": {"swapBehavior": "UnlimitedSwap"}}}, "UnlimitedSwap"),
        (kubelets.kubeadm(extra="KUBELET_EXTRA_ARGS=--fail-swap-on=true\n"), {}, "the flag --fail-swap-on=true"),
        (
            kubelets.bare(
                "--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d",
                **{"/etc/kubelet.d/99-site.conf": f"{HEADER}failSwapOn: true\n"},
            ),
            {},
            "/etc/kubelet.d/99-site.conf sets failSwapOn to true and is read later",
        ),
        (
            kubelets.bare(
                "--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d",
                **{"/etc/kubelet.d/50-site.conf": "maxPods: 5\n"},
            ),
            {},
            "/etc/kubelet.d/50-site.conf with apiVersion None",
        ),
        (
            kubelets.bare(
                "--config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubelet.d",
                **{"/etc/kubelet.d/90-hostprep.conf": f"{HEADER}maxPods: 5\n"},
            ),
            {},
            "which was not written by us",
        ),
        (kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": f"{HEADER}a: 1\na: 2\n"}), {}, "line 4"),
        (kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": "{{ template }}\n"}), {}, "line 1"),
        (kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": '{"maxPods": 5}\n'}), {}, "JSON"),
        (kubelets.bare("--config=/none"), {}, "/none, which is not there"),
        ({**kubelets.bare(), "sys/fs/cgroup/cgroup.controllers": None}, {}, "cgroup"),
    ],
)
def test_one_clear_error(tmp_path: Path, files: Files, options: dict[str, t.Any], said: str) -> None:
    given = {path: text for path, text in files.items() if text is not None}
    assert said in problem(plan(tmp_path, given, **options))


def test_an_environment_that_nobody_can_split(tmp_path: Path) -> None:
    with pytest.raises(HostprepError, match="No closing quotation"):
        plan(tmp_path, kubelets.kubeadm(extra="KUBELET_EXTRA_ARGS='--v=4\\n"))


def test_a_fault_that_was_there_before_is_not_ours_to_judge(tmp_path: Path) -> None:
    config = f"{kubelets.KUBEADM_CONFIG}cpuManagerPolicy: static\n"  # without any reserved CPU
    made = plan(tmp_path, kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": config}))
    assert made.problems == ()
    assert "static" in problem(plan(tmp_path / "2", kubelets.bare(), settings={"cpuManagerPolicy": "static"}))


@pytest.mark.parametrize(
    ("kernel", "warned"),
    [("6.12.1-amd64", False), ("6.4.0", False), ("6.1.0-9-amd64", True), ("5.14.0-503.el9.x86_64", False)],
)
def test_memory_backed_volumes_may_reach_the_swap(tmp_path: Path, kernel: str, warned: bool) -> None:
    files = {**kubelets.bare(), "proc/sys/kernel/osrelease": f"{kernel}\n"}
    assert any("tmpfs noswap" in warning for warning in plan(tmp_path, files).warnings) is warned
    assert plan(tmp_path / "2", files, settings={"maxPods": 9}).warnings == ()


# --- restarts -----------------------------------------------------------------------------------------------------


def restarts(made: Plan) -> list[RestartService]:
    return [action for action in made.actions if isinstance(action, RestartService)]


def test_without_leave_nothing_is_restarted_but_it_says_so(tmp_path: Path) -> None:
    made, state = look(tmp_path, kubelets.bare())
    assert restarts(made) == []
    assert state["restart_required"] == ["/etc/kubernetes/kubelet.yaml changes"]


def test_a_restart_that_fails_can_be_undone(tmp_path: Path) -> None:
    (action,) = restarts(plan(tmp_path, kubelets.kubeadm(), restart=True))
    assert action.unit == "kubelet.service"
    assert action.health_url == "http://127.0.0.1:10248/healthz"
    back, gone = action.undo
    assert isinstance(back, WriteFile)
    assert (back.path, back.content) == ("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=\n")
    assert isinstance(gone, RemoveFile)
    assert gone.path == f"{ADDED}/90-hostprep.conf"


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ('healthzBindAddress: "::1"', "http://[::1]:10248/healthz"),
        ("healthzPort: 10348", "http://127.0.0.1:10348/healthz"),
        ("healthzPort: 0", ""),
    ],
)
def test_its_health_is_asked_where_it_answers(tmp_path: Path, line: str, url: str) -> None:
    files = kubelets.bare(**{"/etc/kubernetes/kubelet.yaml": f"{HEADER}{line}\n"})
    (action,) = restarts(plan(tmp_path, files, restart=True))
    assert action.health_url == url


def test_a_run_that_was_cut_off_before_the_restart_is_finished(tmp_path: Path) -> None:
    started = {"started": kubelets.EARLIER}
    files = kubelets.kubeadm(**started)
    there = after(files, plan(tmp_path / "1", files))
    made, state = look(tmp_path / "2", there, restart=True)
    assert len(restarts(made)) == 1
    assert len(made.actions) == 1
    assert "its unit would start it with other flags" in state["restart_required"]
    assert any("is newer than the running kubelet" in reason for reason in state["restart_required"])


def test_what_k3s_writes_at_each_start_is_no_change(tmp_path: Path) -> None:
    files = kubelets.k3s(started=kubelets.EARLIER)
    _made, state = look(tmp_path, files, settings={"failSwapOn": False}, state="absent")
    assert state["restart_required"] == []


def test_swap_that_was_turned_on_later_is_not_counted_yet(tmp_path: Path) -> None:
    files = kubelets.bare(started="Wed 2098-01-01 00:00:00.000000 UTC")
    there = after(files, plan(tmp_path / "1", files))
    there["commands/systemctl"] = (
        f"{there['commands/systemctl']}\nId=dev-nvme0n1.swap\nWhat=/dev/nvme0n1\nActiveState=active\n"
        f"ActiveEnterTimestamp={kubelets.LATER}\n"
        f"\nId=dev-x.swap\nWhat=/dev/x\nActiveState=inactive\nActiveEnterTimestamp={kubelets.LATER}\n"
    )
    made, state = look(tmp_path / "2", there, restart=True)
    assert len(restarts(made)) == 1
    (reason,) = state["restart_required"]
    assert reason.startswith("/dev/nvme0n1 was turned on after the kubelet started")


@pytest.mark.parametrize(("counted", "restarts_it"), [(None, False), (4096000, False), (1, True)])
def test_the_kubelet_counts_what_is_there(tmp_path: Path, counted: int | None, restarts_it: bool) -> None:
    there = after(kubelets.bare(), plan(tmp_path / "1", kubelets.bare()))
    there["proc/meminfo"] = "MemTotal: 8000000 kB\nSwapTotal: 4000 kB\n"
    made = plan(tmp_path / "2", there, restart=True, swap_counted=counted)
    assert bool(restarts(made)) is restarts_it
    there["proc/meminfo"] = "MemTotal: 8000000 kB\nSwapTotal: 0 kB\n"
    assert restarts(plan(tmp_path / "3", there, restart=True, swap_counted=1)) == []


def test_a_kubelet_that_does_not_run_is_started(tmp_path: Path) -> None:
    made, state = look(tmp_path, kubelets.kubeadm(pid=0), restart=True)
    assert len(restarts(made)) == 1
    assert "kubelet.service is not running" in state["restart_required"]


# --- state files --------------------------------------------------------------------------------------------------

PINNED = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}
STATE = {"/var/lib/kubelet/cpu_manager_state": '{"policyName":"none","defaultCpuSet":"","checksum":1}'}


def test_another_policy_needs_a_drained_node(tmp_path: Path) -> None:
    assert len(plan(tmp_path / "0", kubelets.bare(**STATE), settings=PINNED).gates) == 1, "it would not start again"
    made, state = look(tmp_path / "1", kubelets.bare(**STATE), settings=PINNED, restart=True)
    (gate,) = made.gates
    assert "cpu_manager_state has to go" in gate.found
    assert state["drain_required"] == [
        "/var/lib/kubelet/cpu_manager_state: it was written under cpuManagerPolicy none, and static is wanted"
    ]
    made = plan(tmp_path / "2", kubelets.bare(**STATE), settings=PINNED, restart=True, drained=True)
    assert made.gates == ()
    assert restarts(made)[0].remove == ("/var/lib/kubelet/cpu_manager_state",)


def test_swap_needs_no_drain(tmp_path: Path) -> None:
    _plan, state = look(tmp_path, kubelets.bare(**STATE))
    assert state["drain_required"] == []


# --- what the kubelet makes of its files --------------------------------------------------------------------------

DIRECTORY = "--config=/etc/kubernetes/kubelet.conf --config-dir=/etc/kubelet.d"


def config(tmp_path: Path, files: Files, **options: t.Any) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", look(tmp_path, files, **options)[1]["config"])


def test_drop_ins_are_merged_in_order_and_flags_win(tmp_path: Path) -> None:
    found = config(
        tmp_path,
        kubelets.bare(
            f"{DIRECTORY} --max-pods=7 --feature-gates=A=true,B=false --eviction-hard=memory.available<1Gi",
            **{
                "/etc/kubernetes/kubelet.conf": f"{HEADER}maxPods: 1\nfeatureGates: {{B: true, C: true}}\n",
                "/etc/kubelet.d/10.conf": f"{HEADER}clusterDNS: [a, b]\nkubeReserved: {{cpu: 1, memory: 1Gi}}\n",
                "/etc/kubelet.d/20.conf": f"{HEADER}clusterDNS: [c]\nkubeReserved: {{cpu: 2}}\n",
            },
        ),
    )
    assert found["maxPods"] == 7
    assert found["clusterDNS"] == ["c"]
    assert found["kubeReserved"] == {"cpu": 2, "memory": "1Gi"}
    assert found["featureGates"] == {"A": True, "B": False, "C": True}
    assert found["evictionHard"] == {"memory.available": "1Gi"}
    assert found["failSwapOn"] is False


def test_while_the_directory_is_alpha_the_file_itself_is_changed(tmp_path: Path) -> None:
    """1.28 merges drop-ins so that false does not override true: failSwapOn has to stand in the file."""
    files = kubelets.bare(
        DIRECTORY,
        version="v1.28.3",
        **{
            "/etc/kubernetes/kubelet.conf": HEADER,
            "/etc/kubelet.d/10.conf": f"{HEADER}maxPods: 9\n",
        },
    )
    files["commands/systemctl"] = str(files["commands/systemctl"]).replace(
        "Environment=\n", "Environment=KUBELET_CONFIG_DROPIN_DIR_ALPHA=1\n"
    )
    made, state = look(tmp_path, files)
    assert list(written(made)) == ["/etc/kubernetes/kubelet.conf"]
    assert (state["config"]["maxPods"], state["config"]["failSwapOn"]) == (9, False)
    files["etc/kubelet.d/10.conf"] = f"{HEADER}failSwapOn: true\n"
    assert "/etc/kubelet.d/10.conf sets failSwapOn to true" in problem(plan(tmp_path / "2", files))
