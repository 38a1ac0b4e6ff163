# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.virt.hostprep.plugins.module_utils.topology import read
from ansible_collections.virt.hostprep.plugins.modules import numa_info
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import build, two_nodes

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("module_process")


def run(capsys: Capture, **arguments: object) -> dict[str, t.Any]:
    """What the module prints."""
    with patch_module_args(arguments), pytest.raises(SystemExit):
        numa_info.main()
    result: dict[str, t.Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_recorded_machine(capsys: Capture, tmp_path: Path, check_mode: bool) -> None:
    root = build(tmp_path / "root", two_nodes())
    result = run(capsys, root=root, _ansible_check_mode=check_mode)
    assert (result["changed"], result["numa"]) == (False, read(root))
    assert not result.get("warnings")


def test_this_host_is_the_default(capsys: Capture) -> None:
    assert run(capsys)["numa"]["cpus_total"] == read("/")["cpus_total"]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_root_that_is_no_folder(capsys: Capture, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    result = run(capsys, root=str(tmp_path / name))
    assert result["failed"] is True
    assert result["msg"].startswith(f"Found: no folder '{tmp_path / name}' on this host. Wanted: the root folder of ")
    assert len(result["problems"]) == 1


def test_a_root_that_holds_no_machine(capsys: Capture, tmp_path: Path) -> None:
    result = run(capsys, root=str(tmp_path))
    assert "has no CPU in sys/devices/system/cpu" in json.dumps(result["warnings"])
    assert result["numa"]["cpus_total"] is None


FREE_KEYS = {"hugepages", "distances"}  # dictionaries with keys of the host


def check(value: object, documented: dict[str, t.Any], path: str) -> None:
    """Every key of a result is documented, and the other way round, with the right type and a sample."""
    assert value is None or type(value).__name__ == documented["type"], path
    assert "contains" in documented or "sample" in documented, path
    if documented["type"] == "list":
        assert isinstance(value, list)
        for entry in value:
            check(entry, {**documented, "type": documented["elements"]}, path)
    elif documented["type"] == "dict" and path.rpartition(".")[2] not in FREE_KEYS:
        assert isinstance(value, dict)
        assert set(value) == set(documented["contains"]), path
        for key, entry in value.items():
            check(entry, documented["contains"][key], f"{path}.{key}")


def test_the_documentation_names_every_key(tmp_path: Path) -> None:
    documented = yaml.safe_load(numa_info.RETURN)
    check(read(build(tmp_path / "root", two_nodes())), documented["numa"], "numa")
