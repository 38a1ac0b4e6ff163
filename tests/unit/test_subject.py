# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""observe -> plan -> act -> observe, with a subject of three lines."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.virt.hostprep.plugins.module_utils import subject
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Check,
    Command,
    HostprepError,
    Plan,
    Problem,
    refusal,
)

Data = dict[str, t.Any]
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("module_process")


class Lamp:
    """Wants the lamp on. `obeys`: whether switching helps; `breaks`: whether the switch breaks after it."""

    def __init__(
        self,
        obeys: bool = True,
        problem: Problem | None = None,
        later: Problem | None = None,
        gates: tuple[Problem, ...] = (),
    ) -> None:
        self.gates = gates
        self.ARGUMENT_SPEC = {"on": {"type": "bool", "default": True}}
        self.lit = False
        self.obeys = obeys
        self.problem = problem
        self.later = later
        self.looks = 0

    def observe(self, host: Host, _wanted: Data) -> Data:
        self.looks += 1
        return {"lit": host.once("lamp", lambda _host: self.lit)}

    def plan(self, observed: Data, wanted: Data) -> Plan:
        problem = self.problem if self.looks == 1 else self.later
        if problem:
            return refusal(problem)
        right = observed["lit"] == wanted["on"]
        switch: tuple[Action, ...] = (Command(("switch", "it"), "switch the lamp"),)
        return Plan(
            actions=() if right else switch,
            gates=() if right else self.gates,
            warnings=("the lamp is old",),
            checks=(Check("lamp", str(wanted["on"]), str(observed["lit"]), "the room", right),),
            before=(f"lit: {observed['lit']}",),
            after=(f"lit: {wanted['on']}",),
        )

    def state(self, observed: Data, _wanted: Data) -> Data:
        return {"lamp": observed["lit"]}


def run(capsys: Capture, monkeypatch: pytest.MonkeyPatch, lamp: Lamp, status: int = 0, **arguments: t.Any) -> Data:
    """What a module about this lamp prints."""

    def command(_self: object, argv: list[str], **_options: object) -> tuple[int, str, str]:
        assert argv == ["/bin/switch", "it"]
        lamp.lit = lamp.lit or (lamp.obeys and status == 0)
        return status, "", "the switch is stuck\n" if status else ""

    monkeypatch.setattr(AnsibleModule, "run_command", command)
    monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, name: f"/bin/{name}")
    with patch_module_args(arguments), pytest.raises(SystemExit):
        subject.run_module(lamp)
    result: Data = json.loads(capsys.readouterr().out)
    return result


def test_a_change_is_proven(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lamp = Lamp()
    result = run(capsys, monkeypatch, lamp)
    assert result["changed"] is True
    assert result["actions"] == [{"command": ["switch", "it"], "reason": "switch the lamp"}]
    assert result["checks"] == [
        {"name": "lamp", "wanted": "True", "found": "True", "proof": "the room", "ok": True, "supported": True}
    ]
    assert result["diff"] == [
        {"before_header": "state", "after_header": "state", "before": "lit: False\n", "after": "lit: True\n"}
    ]
    assert result["lamp"] is True
    assert "the lamp is old" in json.dumps(result["warnings"])
    assert lamp.looks == 2


def test_nothing_to_do(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lamp = Lamp()
    result = run(capsys, monkeypatch, lamp, on=False)
    assert (result["changed"], result["actions"], result["diff"], result["lamp"]) == (False, [], [], False)
    assert lamp.looks == 1


def test_check_mode_predicts_and_does_not_act(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lamp = Lamp()
    predicted = run(capsys, monkeypatch, lamp, _ansible_check_mode=True)
    assert (lamp.lit, predicted["lamp"], predicted["checks"][0]["ok"]) == (False, False, False)
    real = run(capsys, monkeypatch, Lamp())
    same = ("changed", "actions", "diff")
    assert [predicted[key] for key in same] == [real[key] for key in same]


def test_a_refusal_is_one_failure_with_everything_in_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lamp = Lamp(problem=Problem("no lamp", "a lamp", "buy one"))
    result = run(capsys, monkeypatch, lamp)
    assert result["failed"] is True
    assert result["msg"] == "Found: no lamp. Wanted: a lamp. Remedy: buy one."
    assert result["problems"] == [{"found": "no lamp", "wanted": "a lamp", "remedy": "buy one"}]
    assert (result["actions"], result["changed"], lamp.lit) == ([], False, False)


def test_a_gate_stops_a_run_and_is_only_shown_by_check_mode(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lamp = Lamp(gates=(Problem("no current", "current", "wait for it"),))
    result = run(capsys, monkeypatch, lamp)
    assert result["failed"] is True
    assert result["problems"] == [{"found": "no current", "wanted": "current", "remedy": "wait for it"}]
    assert (result["actions"], lamp.lit) == ([], False)
    predicted = run(capsys, monkeypatch, lamp, _ansible_check_mode=True)
    assert predicted["changed"] is True
    assert "a run would stop here. Found: no current" in json.dumps(predicted["warnings"])


def test_an_action_that_fails(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(capsys, monkeypatch, Lamp(), status=3)
    assert result["failed"] is True
    assert "'switch it' ended with status 3: the switch is stuck" in result["msg"]
    assert (result["actions"], result["changed"]) == ([], False)


def test_an_action_without_an_effect_is_a_failure_that_has_changed_something(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(capsys, monkeypatch, Lamp(obeys=False))
    assert result["failed"] is True
    assert result["problems"][0]["found"] == "lamp is False after the change (the room)"
    assert result["problems"][0]["wanted"] == "True"
    assert len(result["actions"]) == 1
    assert result["changed"] is True


def test_a_problem_that_appears_with_the_change(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(capsys, monkeypatch, Lamp(later=Problem("it fell", "a hanging lamp", "hang it up")))
    assert result["problems"][0]["found"] == "it fell"
    assert result["changed"] is True


def test_something_left_to_do_although_all_checks_hold() -> None:
    action = Command(("x",), "finish it")
    with pytest.raises(HostprepError, match=r"Found: still to do after the change: finish it\. .*journalctl"):
        subject._prove(Plan(actions=(action,)))


def test_what_a_kernel_cannot_do_is_no_failure() -> None:
    check = Check("x", "1", "not in this kernel", "/x", ok=False, supported=False)
    assert subject._prove(Plan(checks=(check,))) == (check,)


def test_the_host_of_a_module_says_which_program_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with patch_module_args({}):
        module = AnsibleModule(argument_spec={})
    monkeypatch.setattr(module, "get_bin_path", lambda _name: None)
    with pytest.raises(HostprepError, match=r"no program 'lsblk' on this host.*util-linux"):
        subject.make_host(module).command(["lsblk"])


def test_the_host_of_a_module_runs_programs_in_the_c_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    with patch_module_args({}):
        module = AnsibleModule(argument_spec={})
    seen: list[t.Any] = []

    def command(argv: list[str], **options: t.Any) -> tuple[int, str, str]:
        seen.append((argv, options))
        return 1, "out", "words"

    monkeypatch.setattr(module, "get_bin_path", lambda name: f"/bin/{name}")
    monkeypatch.setattr(module, "run_command", command)
    host = subject.make_host(module)
    assert host.command(["lsblk", "-J"], accept=(0, 1)) == "out"
    assert seen == [(["/bin/lsblk", "-J"], {"environ_update": {"LC_ALL": "C"}})]
    with pytest.raises(HostprepError, match="'lsblk -J' ended with status 1: words"):
        host.command(["lsblk", "-J"])
