# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""observe -> plan -> act -> observe: how every module that changes something runs, in one place."""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.virt.hostprep.plugins.module_utils.actions import Executor, file_diffs, missing_program
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Plan, Problem

Data = dict[str, t.Any]


class Subject(t.Protocol):
    """What a module is about. observe reads and decides nothing; plan decides and reads nothing."""

    ARGUMENT_SPEC: Data

    def observe(self, host: Host, wanted: Data, /) -> Data: ...

    def plan(self, observed: Data, wanted: Data, /) -> Plan: ...

    def state(self, observed: Data, wanted: Data, /) -> Data:
        """What the module returns of the observation."""


def make_host(module: AnsibleModule, root: str = "/") -> Host:
    """A Host that runs programs through the module, in the C locale, and says which one is missing."""

    def run(argv: t.Sequence[str]) -> tuple[int, str, str]:
        program = module.get_bin_path(argv[0])
        if program is None:
            raise HostprepError(missing_program(argv[0]))
        return t.cast("tuple[int, str, str]", module.run_command([program, *argv[1:]], environ_update={"LC_ALL": "C"}))

    return Host(root, run)


def run_module(subject: Subject) -> None:
    """The main() of a module that changes something."""
    module = AnsibleModule(argument_spec=subject.ARGUMENT_SPEC, supports_check_mode=True)
    executor = Executor(module)
    try:
        result = converge(subject, make_host(module), executor, module.params, module.check_mode)
    except HostprepError as error:
        module.fail_json(
            msg=str(error),
            problems=[problem.as_dict() for problem in error.problems],
            actions=executor.done,
            changed=bool(executor.done) and not module.check_mode,
        )
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


def converge(subject: Subject, host: Host, executor: Executor, wanted: Data, check_mode: bool) -> Data:
    observed = subject.observe(host, wanted)
    plan = subject.plan(observed, wanted)
    if plan.problems or (plan.gates and not check_mode):
        raise HostprepError(*plan.problems, *plan.gates)
    executor.run(plan.actions)
    checks = plan.checks
    if plan.actions and not check_mode:
        host.forget()
        observed = subject.observe(host, wanted)
        checks = _prove(subject.plan(observed, wanted))
    return {
        "changed": bool(plan.actions),
        "actions": executor.done,
        "diff": diff(plan),
        "checks": [check.as_dict() for check in checks],
        "warnings": (*plan.warnings, *(f"a run would stop here. {gate}" for gate in plan.gates)),
        **subject.state(observed, wanted),
    }


def _prove(after: Plan) -> tuple[t.Any, ...]:
    """The effect has to be there: a plan made anew asks for nothing, and every check holds."""
    if after.problems:
        raise HostprepError(*after.problems)
    unmet = [
        Problem(
            found=f"{check.name} is {check.found} after the change ({check.proof})",
            wanted=check.wanted,
            remedy="look for what overrides it (systemctl cat, sysctl --system, the journal) and run again",
        )
        for check in after.deviations
    ]
    if not unmet and after.actions:
        unmet = [
            Problem(
                found=f"still to do after the change: {action.reason}",
                wanted="nothing left to do",
                remedy="look into the journal of this host (journalctl -b) for what undid it, and run again",
            )
            for action in after.actions
        ]
    if unmet:
        raise HostprepError(*unmet)
    return after.checks


def diff(plan: Plan) -> list[dict[str, str]]:
    """First the state in words, then every file."""
    diffs = []
    if plan.before != plan.after:
        diffs.append(
            {
                "before_header": "state",
                "after_header": "state",
                "before": "".join(f"{line}\n" for line in plan.before),
                "after": "".join(f"{line}\n" for line in plan.after),
            }
        )
    return diffs + file_diffs(plan.actions)
