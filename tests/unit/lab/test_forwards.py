"""Forwarded ports: remembered in the lab's configuration, given to QEMU, free when it starts."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from lab import paths, vm
from lab.config import Config, from_json
from lab.errors import LabError
from lab.files import Files
from lab.image import Image
from lab.qemu import command
from lab.vm import Lab


def config(**changes):
    values = {"name": "dev", "image": "trixie", "root": "virtio", "memory": 3072, "uuid": "c0ffee00"}
    return Config(**{**values, "disks": [], "order": [], "port": 2222, "accel": "tcg", **changes})


def test_a_configuration_remembers_its_forwards_as_numbers():
    stored = config(forwards={10250: 40001})
    assert from_json(stored.to_json(), Path("config.json")).forwards == {10250: 40001}


def test_a_configuration_from_before_has_none():
    stored = json.loads(config().to_json())
    del stored["forwards"]
    assert from_json(json.dumps(stored), Path("config.json")).forwards == {}


@pytest.mark.parametrize(
    ("forwards", "wanted"),
    [
        ({}, "user,id=net,hostfwd=tcp:127.0.0.1:2222-:22"),
        (
            {10250: 40001},
            "user,id=net,hostfwd=tcp:127.0.0.1:2222-:22,hostfwd=tcp:127.0.0.1:40001-:10250",
        ),
    ],
)
def test_qemu_forwards_them(forwards, wanted):
    words = command(config(forwards=forwards), Image(Path("/i/root.img"), "raw"), Files(Path("/labs/dev")))
    assert words[words.index("-netdev") + 1] == wanted


def test_a_lab_shows_where_they_lead(tmp_path):
    assert Lab(config(forwards={10250: 40001}), Files(tmp_path)).forwards == {10250: 40001}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A stopped lab that was made with a forward."""
    monkeypatch.setenv("LAB_HOME", str(tmp_path))
    folder = paths.lab_dir("dev")
    folder.mkdir()
    (folder / "config.json").write_text(config(forwards={10250: 40001}).to_json(), encoding="utf-8")
    return Lab.load("dev")


@pytest.mark.usefixtures("kept")
def test_a_lab_with_other_forwards_is_refused():
    with pytest.raises(LabError, match=r"exists with forwarded ports \[10250\], not \[80, 10250\]"):
        Lab.up("dev", forward=[10250, 80])


@pytest.mark.parametrize("forward", [None, [10250], [10250, 10250]])
def test_the_same_forwards_or_none_named_are_accepted(kept, forward):
    kept._refuse_other_options(None, None, None, None, forward)


@pytest.mark.parametrize("forward", [[22], [0], [65536]])
def test_ports_that_cannot_be_forwarded_are_refused_before_anything_is_made(tmp_path, monkeypatch, forward):
    monkeypatch.setenv("LAB_HOME", str(tmp_path))
    with pytest.raises(LabError, match="cannot forward the ports"):
        Lab.up("dev", forward=forward)
    assert not Lab.exists("dev")


def test_free_ports_are_all_different_and_the_old_ones_where_they_are_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (wanted,) = vm._free_ports([0])
        ports = vm._free_ports([wanted, port, 0])
    assert ports[0] == wanted
    assert len({*ports, port}) == 4
