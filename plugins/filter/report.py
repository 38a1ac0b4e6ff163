# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What host_check returned, as lines for people. Runs on the controller."""

from __future__ import annotations

import json
import typing as t

Check = dict[str, t.Any]


def plan_lines(check: Check, host: str) -> list[str]:
    """The plan for one host: the state that changes, then every action with its reason."""
    lines = [f"{host}: {check['system']['os']}, Linux {check['system']['kernel']}, platform {check['platform']}"]
    if check["problems"]:
        lines.append(f"  nothing will be done, for {len(check['problems'])} reason(s) that follow")
    elif not check["actions"]:
        lines.append("  nothing to do: all is as it should be")
    for change in check["changes"]:
        lines += [f"  - {line}" for line in change["before"] if line not in change["after"]]
        lines += [f"  + {line}" for line in change["after"] if line not in change["before"]]
    lines += [f"  {n}. {a['reason']}: {_deed(a)}" for n, a in enumerate(check["actions"], start=1)]
    lines += [f"  before {g['subject']}: {g['wanted']}" for g in check["gates"]]
    return lines + [f"  note: {warning}" for warning in check["warnings_found"]]


def problem_lines(checks: dict[str, Check]) -> list[str]:
    """Every problem of every host, one a line."""
    return [_problem(f"{host}, {p['subject']}", p) for host, check in checks.items() for p in check["problems"]]


def difference_lines(check: Check) -> list[str]:
    """What is not as it should be on one host: problems, effects that are not there, work that is left."""
    lines = [_problem(problem["subject"], problem) for problem in check["problems"]]
    unmet = [entry for entry in check["checks"] if entry["supported"] and not entry["ok"]]
    lines += [f"{e['name']}: found {e['found']}; wanted {e['wanted']}; see {e['proof']}" for e in unmet]
    return lines + [f"still to do: {action['reason']}" for action in check["actions"]]


def with_node(check: Check, synced: dict[str, t.Any]) -> Check:
    """The check with what pool_sync found out about its node: a line of evidence, and its problems."""
    problems = synced.get("problems") or []
    lines = []
    for name, node in synced.get("nodes", {}).items():
        waiting = node["waiting_for"]
        lines.append(
            {
                "subject": "node",
                "name": f"node {name}",
                "wanted": "Ready, and its running kubelet does what its files say and counts the swap",
                "found": "; ".join(waiting) or _in_sync(node),
                "proof": f"Node {name} and its /configz, by the API server",
                "ok": bool(node["ready"] and not waiting and not problems),
                "supported": True,
            }
        )
    return {
        **check,
        "problems": check["problems"] + [{"subject": "node", **problem} for problem in problems],
        "checks": check["checks"] + lines,
    }


def undrained(pods: list[dict[str, t.Any]]) -> list[str]:
    """The pods that a drain has to see gone: not those of DaemonSets, not static ones, not those that have ended."""
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in pods
        if not any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())
        and "kubernetes.io/config.mirror" not in (pod["metadata"].get("annotations") or {})
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]


def _in_sync(node: dict[str, t.Any]) -> str:
    keys = ", ".join(f"{key}: {json.dumps(value)}" for key, value in (node["kubelet_config"] or {}).items())
    swap = "" if node["swap_capacity"] is None else f", {node['swap_capacity'] // 2**20} MiB of swap"
    return f"Ready, {node['kubelet_version']}, {keys}{swap}"


def _problem(where: str, problem: dict[str, str]) -> str:
    return f"{where}: found {problem['found']}; wanted {problem['wanted']}; remedy: {problem['remedy']}"


def _deed(action: dict[str, t.Any]) -> str:
    if "command" in action:
        return " ".join(action["command"])
    if "kernel" in action:
        return f"{action['kernel']} = {action['value']}"
    if "restart" in action:
        return f"restart {action['restart']}" + "".join(f", without {path}" for path in action.get("remove", []))
    return f"write {action['write']}" if "write" in action else f"remove {action['remove']}"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "plan_lines": plan_lines,
            "problem_lines": problem_lines,
            "difference_lines": difference_lines,
            "undrained": undrained,
            "with_node": with_node,
        }
