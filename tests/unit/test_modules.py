# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""main() of each module: what it prints, and that its documentation names every key of that."""

from __future__ import annotations

import hashlib
import json
import types
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.virt.hostprep.plugins.module_utils import subject, sysctl
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.modules import (
    block_device_info,
    host_check,
    kubelet_config,
    slice_limits,
    swap_device,
    sysctl_settings,
)
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import kubelets, recorded
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, build

Data = dict[str, t.Any]
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("module_process")

# What Ansible itself knows of any module.
COMMON = {"changed", "failed", "msg", "diff", "warnings", "invocation"}
# Dictionaries whose keys are those of the host.
FREE_KEYS = {"live", "links", "config"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: every test here shows that it is left as it was."""
    files: Files = {
        **recorded.lab_host(),
        "etc/os-release": 'PRETTY_NAME="Debian"\n',
        "proc/sys/kernel/osrelease": "6.12.1-amd64\n",
        "proc/sys/vm/swappiness": "60\n",
        "sys/fs/cgroup/cgroup.controllers": "memory\n",
        "sys/fs/cgroup/cgroup.subtree_control": "memory\n",
        "sys/fs/cgroup/system.slice/memory.swap.max": "max\n",
        "commands/systemctl": "FragmentPath=\nDropInPaths=\nNeedDaemonReload=no\n",
    }
    return Path(build(tmp_path_factory.mktemp("host"), files))


@pytest.fixture
def root(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded host, which the modules take for the one that they run on."""

    def make_host(_module: object, _root: str = "/") -> Host:
        return Host(str(built))

    for module in (subject, block_device_info, host_check):
        monkeypatch.setattr(module, "make_host", make_host)
    return built


def run(capsys: Capture, module: types.ModuleType, **arguments: t.Any) -> Data:
    with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
        module.main()
    result: Data = json.loads(capsys.readouterr().out)
    assert ended.value.code == (1 if result.get("failed") else 0)
    return result


def documented(module: types.ModuleType) -> Data:
    """What RETURN says, by key."""
    found: Data = yaml.safe_load(module.RETURN)
    return found


def assert_documented(module: types.ModuleType, result: Data) -> None:
    """Every key that is returned is documented for this ending, and every key documented for it is returned.

    What is documented as "success, if ..." may be left out.
    """
    ending = "failure" if result.get("failed") else "success"
    returned = {key: entry["returned"] for key, entry in documented(module).items()}
    keys = set(result) - COMMON
    assert keys >= {key for key, when in returned.items() if when in ("always", ending)}
    assert keys <= {key for key, when in returned.items() if when == "always" or when.startswith(ending)}
    for key in keys:
        assert_keys(result[key], documented(module)[key], key)


def assert_keys(value: t.Any, entry: Data, path: str) -> None:
    kinds: dict[str, t.Any] = {"dict": dict, "list": list, "int": int, "str": str, "bool": bool}
    assert value is None or isinstance(value, kinds[entry["type"]]), path
    assert isinstance(value, bool) == (entry["type"] == "bool") or value is None, path  # a bool is an int, too
    if entry["type"] == "list":
        for item in value or []:
            assert_keys(item, {**entry, "type": entry["elements"]}, path)
    elif isinstance(value, dict) and "contains" in entry and path.rpartition(".")[2] not in FREE_KEYS:
        assert set(value) == set(entry["contains"]), path
        for key, item in value.items():
            assert_keys(item, entry["contains"][key], f"{path}.{key}")


def tree(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        digest.update(f"{path} {path.lstat().st_mode} {path.lstat().st_mtime_ns}".encode())
        digest.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
    return digest.hexdigest()


SWAP = {"select": {"serial": ["SWAP0001"]}}
SLICE: Data = {"name": "system.slice", "properties": {"MemorySwapMax": 0}}
SYSCTL: Data = {"file": "90-x.conf", "settings": {"vm.swappiness": 10, "vm.gone": 1}}
CHANGES: list[tuple[types.ModuleType, Data, str]] = [
    (swap_device, SWAP, "swap"),
    (slice_limits, SLICE, "slice"),
    (sysctl_settings, SYSCTL, "sysctl"),
]


@pytest.mark.parametrize(("module", "options", "key"), CHANGES, ids=[case[2] for case in CHANGES])
def test_check_mode_predicts_and_writes_nothing(
    capsys: Capture, root: Path, module: types.ModuleType, options: Data, key: str
) -> None:
    before = tree(root)
    result = run(capsys, module, **options, _ansible_check_mode=True, _ansible_diff=True)
    assert tree(root) == before
    assert result["changed"] is True
    assert result["actions"]
    assert all(entry["reason"] for entry in result["actions"])
    files = {entry["write"] for entry in result["actions"] if "write" in entry}
    assert {entry["after_header"] for entry in result["diff"]} == {"state", *files}
    assert result["checks"]
    assert key in result
    assert_documented(module, result)


FAILURES: list[tuple[types.ModuleType, Data, str]] = [
    (swap_device, {"select": {"serial": ["GONE"]}}, "no device with serial 'GONE'"),
    (swap_device, {"select": {"serial": ["DATA0001"]}}, "carries ext4 labelled 'data'"),
    (swap_device, {"select": {"serial": ["DATA0002"]}, "wipe": True}, "nvme3n1p1 is mounted at /srv/my data"),
    (swap_device, {"select": {"by_id": ["/dev/nvme0n1"]}}, "a kernel name"),
    (slice_limits, {"name": "sytem.slice"}, "no slice 'sytem.slice'"),
    (sysctl_settings, {"file": "x", "settings": {}}, "file 'x'"),
]


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(("module", "options", "found"), FAILURES, ids=[case[2] for case in FAILURES])
def test_a_refusal_changes_nothing_and_says_why(
    capsys: Capture, root: Path, module: types.ModuleType, options: Data, found: str, check_mode: bool
) -> None:
    before = tree(root)
    result = run(capsys, module, **options, _ansible_check_mode=check_mode)
    assert tree(root) == before
    assert (result["failed"], result["changed"], result["actions"]) == (True, False, [])
    assert found in result["msg"]
    assert found in result["problems"][0]["found"]
    assert set(result["problems"][0]) == {"found", "wanted", "remedy"}
    assert_documented(module, result)


@pytest.mark.parametrize(
    ("module", "options"),
    [
        (swap_device, {"select": {"serial": ["A"]}, "state": "gone"}),
        (swap_device, {"select": {"serials": ["A"]}}),
        (swap_device, {"select": {"transport": "usb"}}),
        (slice_limits, {}),
        (sysctl_settings, {"settings": {}}),
    ],
)
def test_options_that_do_not_exist(capsys: Capture, root: Path, module: types.ModuleType, options: Data) -> None:
    before = tree(root)
    assert run(capsys, module, **options)["failed"] is True
    assert tree(root) == before


def test_a_knob_that_is_not_there_is_a_warning(capsys: Capture, root: Path) -> None:
    result = run(capsys, sysctl_settings, **SYSCTL, _ansible_check_mode=True)
    assert "this kernel has no vm.gone: left out" in json.dumps(result["warnings"])
    assert result["sysctl"]["live"] == {"vm.swappiness": "60", "vm.gone": None}
    assert root.exists()


def test_settings_for_real(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From beginning to end, on a kernel and a folder of our own."""
    knob = tmp_path / "swappiness"
    knob.write_text("60\n")
    monkeypatch.setattr(sysctl, "DIRECTORY", str(tmp_path / "sysctl.d"))
    monkeypatch.setattr(sysctl, "_DIRECTORIES", (str(tmp_path / "sysctl.d"),))
    monkeypatch.setattr(sysctl, "_proc_path", lambda _name: str(knob))
    monkeypatch.setattr(Host, "require_root", lambda _self: None)
    options: Data = {"file": "90-x.conf", "settings": {"vm.swappiness": 10}}
    result = run(capsys, sysctl_settings, **options)
    assert result["changed"] is True
    assert all(entry["ok"] for entry in result["checks"])
    assert "vm.swappiness = 10" in (tmp_path / "sysctl.d" / "90-x.conf").read_text()
    assert run(capsys, sysctl_settings, **options)["changed"] is False
    assert run(capsys, sysctl_settings, **options, state="absent")["changed"] is True
    assert list((tmp_path / "sysctl.d").iterdir()) == []
    assert run(capsys, sysctl_settings, **options, state="absent")["changed"] is False


# --- modules that only look ---------------------------------------------------------------------------------------


def test_block_device_info(capsys: Capture, root: Path) -> None:
    before = tree(root)
    result = run(capsys, block_device_info)
    assert tree(root) == before
    assert result["changed"] is False
    verdicts = {entry["name"]: entry["verdict"] for entry in result["devices"]}
    assert verdicts == {
        **dict.fromkeys(["nvme0n1", "nvme1n1", "nvme3n1p2"], "usable"),
        **dict.fromkeys(["nvme2n1", "nvme3n1", "nvme3n1p1", "vda", "vda1", "zram0"], "refused"),
    }
    assert_documented(block_device_info, result)


def test_block_device_info_of_a_recording(capsys: Capture, tmp_path: Path) -> None:
    build(tmp_path / "host", recorded.lab_host())
    result = run(capsys, block_device_info, root=str(tmp_path / "host"))
    assert len(result["devices"]) == 9


def test_block_device_info_without_root(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    result = run(capsys, block_device_info)
    assert result["failed"] is True
    assert result["problems"][0]["remedy"] == "set 'become: true' for the play or the task"


def test_host_check(capsys: Capture, root: Path) -> None:
    before = tree(root)
    result = run(capsys, host_check, swap=SWAP, sysctl=SYSCTL, slices=[SLICE])
    assert tree(root) == before
    assert (result["changed"], result["problems"]) == (False, [])
    assert result["warnings_found"] == ["this kernel has no vm.gone: left out"]
    assert_documented(host_check, result)
    assert "kubelet" not in result


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded node of a cluster, as kubeadm sets it up."""
    built = Path(build(tmp_path / "node", {**kubelets.kubeadm(), **recorded.lab_host()}))
    for module in (subject, host_check):
        monkeypatch.setattr(module, "make_host", lambda _module, _root="/": Host(str(built)))
    return built


def test_kubelet_config(capsys: Capture, node: Path) -> None:
    before = tree(node)
    arguments = {"settings": {"failSwapOn": False, "memorySwap": {"swapBehavior": "auto"}}, "restart": True}
    result = run(capsys, kubelet_config, **arguments, _ansible_check_mode=True)
    assert tree(node) == before
    assert result["changed"] is True
    assert_documented(kubelet_config, result)
    assert documented(kubelet_config)["actions"]["sample"] == [result["actions"][0], result["actions"][2]]
    assert [entry["after_header"] for entry in result["diff"]] == [
        "state",
        "/etc/kubernetes/kubelet.conf.d/90-hostprep.conf",
        "/etc/default/kubelet",
    ]
    refused = run(capsys, kubelet_config, settings={"FailSwapOn": False})
    assert refused["failed"] is True
    assert_documented(kubelet_config, refused)


def test_host_check_of_a_node(capsys: Capture, node: Path) -> None:
    before = tree(node)
    result = run(capsys, host_check, kubelet={"settings": {"failSwapOn": False}})
    assert tree(node) == before
    assert result["kubelet"]["distribution"] == "kubeadm"
    assert_documented(host_check, result)


def test_host_check_does_not_fail_for_what_it_finds(capsys: Capture, root: Path) -> None:
    result = run(capsys, host_check, swap={"select": {"serial": ["DATA0001"]}})
    assert root.exists()
    assert result.get("failed") is None
    assert "carries ext4" in result["problems"][0]["found"]
    assert_documented(host_check, result)


@pytest.mark.parametrize(
    "module", [block_device_info, host_check, kubelet_config, slice_limits, swap_device, sysctl_settings]
)
def test_return_values_have_samples(module: types.ModuleType) -> None:
    for key, entry in documented(module).items():
        assert "sample" in entry or "contains" in entry, key


def test_reasons_of_a_sample_action_are_those_of_the_code(capsys: Capture, root: Path) -> None:
    """The samples in the documentation are what a run really returns."""
    result = run(capsys, swap_device, **SWAP, _ansible_check_mode=True)
    reasons = [action["reason"] for action in result["actions"]]
    assert [action["reason"] for action in documented(swap_device)["actions"]["sample"]] == reasons[:2]
    assert root.exists()
