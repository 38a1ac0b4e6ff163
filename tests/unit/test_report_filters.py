"""The lines that people read: plan, problems of all hosts, differences."""

from __future__ import annotations

from ansible_collections.virt.hostprep.plugins.filter.report import (
    FilterModule,
    difference_lines,
    plan_lines,
    problem_lines,
    undrained,
    with_node,
)

PROBLEM = {"subject": "swap", "found": "a", "wanted": "b", "remedy": "c"}
CHECK = {
    "system": {"os": "Debian", "kernel": "6.12"},
    "platform": "libvirt",
    "problems": [],
    "warnings_found": ["no io.latency"],
    "gates": [],
    "actions": [
        {"subject": "swap", "command": ["mkswap", "/dev/x"], "reason": "format it"},
        {"subject": "swap", "write": "/etc/u", "reason": "keep it"},
        {"subject": "swap", "remove": "/etc/old", "reason": "forget it"},
        {"subject": "sysctl", "kernel": "/proc/sys/vm/swappiness", "value": "60", "reason": "set it"},
    ],
    "changes": [{"subject": "swap", "before": ["x: empty", "same"], "after": ["x: swap", "same"]}],
    "checks": [],
}


def test_a_plan_shows_what_changes_and_every_action() -> None:
    assert plan_lines(CHECK, "node-1") == [
        "node-1: Debian, Linux 6.12, platform libvirt",
        "  - x: empty",
        "  + x: swap",
        "  1. format it: mkswap /dev/x",
        "  2. keep it: write /etc/u",
        "  3. forget it: remove /etc/old",
        "  4. set it: /proc/sys/vm/swappiness = 60",
        "  note: no io.latency",
    ]


def test_a_plan_says_when_nothing_is_to_do_or_nothing_will_be_done() -> None:
    nothing = {**CHECK, "actions": [], "changes": [], "warnings_found": []}
    assert plan_lines(nothing, "n")[1:] == ["  nothing to do: all is as it should be"]
    assert plan_lines({**nothing, "problems": [PROBLEM]}, "n")[1:] == [
        "  nothing will be done, for 1 reason(s) that follow"
    ]


def test_a_plan_names_restarts_and_what_a_step_waits_for() -> None:
    restart = {"subject": "kubelet", "restart": "kubelet.service", "reason": "read it", "remove": ["/var/state"]}
    check = {**CHECK, "actions": [restart], "changes": [], "warnings_found": [], "gates": [PROBLEM]}
    assert plan_lines(check, "n")[1:] == [
        "  1. read it: restart kubelet.service, without /var/state",
        "  before swap: b",
    ]


def test_problems_of_all_hosts_come_together() -> None:
    found = problem_lines(
        {"n1": {"problems": [PROBLEM, PROBLEM]}, "n2": {"problems": []}, "n3": {"problems": [PROBLEM]}}
    )
    assert [line.split(":")[0] for line in found] == ["n1, swap", "n1, swap", "n3, swap"]
    assert found[0] == "n1, swap: found a; wanted b; remedy: c"


def test_differences_are_problems_unmet_checks_and_work_that_is_left() -> None:
    check = {"name": "limit", "found": "max", "wanted": "0", "proof": "/sys/x", "ok": False, "supported": True}
    checks = [check, {**check, "name": "other", "supported": False}, {**check, "name": "fine", "ok": True}]
    lines = difference_lines({"problems": [PROBLEM], "checks": checks, "actions": CHECK["actions"][:1]})
    assert lines == [
        "swap: found a; wanted b; remedy: c",
        "limit: found max; wanted 0; see /sys/x",
        "still to do: format it",
    ]
    assert difference_lines({"problems": [], "checks": checks[1:], "actions": []}) == []


def test_the_filters_are_there_by_name() -> None:
    assert set(FilterModule().filters()) == {
        "plan_lines",
        "problem_lines",
        "difference_lines",
        "undrained",
        "with_node",
    }


NODE = {
    "ready": True,
    "waiting_for": [],
    "kubelet_version": "v1.33.4",
    "kubelet_config": {"failSwapOn": False},
    "swap_capacity": 2 * 2**30,
}


def test_the_word_of_the_node_is_one_more_check() -> None:
    (line,) = with_node(CHECK, {"nodes": {"n1": NODE}})["checks"]
    assert line["ok"] is True
    assert line["found"] == "Ready, v1.33.4, failSwapOn: false, 2048 MiB of swap"
    problem = {"found": "late", "wanted": "soon", "remedy": "wait"}
    seen = with_node(CHECK, {"nodes": {"n1": {**NODE, "waiting_for": ["a", "b"]}}, "problems": [problem]})
    assert (seen["checks"][0]["ok"], seen["checks"][0]["found"]) == (False, "a; b")
    assert seen["problems"] == [{"subject": "node", **problem}]
    assert with_node(CHECK, {"nodes": {"n1": NODE}, "problems": [problem]})["checks"][0]["ok"] is False
    assert with_node(CHECK, {"nodes": {"n1": {**NODE, "ready": False}}})["checks"][0]["ok"] is False
    assert with_node(CHECK, {}) == CHECK


def test_a_node_that_nobody_could_ask_is_a_problem() -> None:
    problem = {"found": "403", "wanted": "leave", "remedy": "a role"}
    assert with_node(CHECK, {"nodes": {}, "problems": [problem]})["problems"] == [{"subject": "node", **problem}]


def test_the_pods_that_a_drain_has_to_see_gone() -> None:
    def pod(name: str, phase: str = "Running", **metadata: object) -> dict[str, object]:
        return {"metadata": {"namespace": "ns", "name": name, **metadata}, "status": {"phase": phase}}

    pods = [
        pod("guest", ownerReferences=[{"kind": "ReplicaSet"}]),
        pod("bare"),
        pod("agent", ownerReferences=[{"kind": "DaemonSet"}]),
        pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("done", phase="Succeeded"),
        {"metadata": {"namespace": "ns", "name": "new"}},
    ]
    assert undrained(pods) == ["ns/guest", "ns/bare", "ns/new"]
