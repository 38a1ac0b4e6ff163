# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.tree import Tree
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import FOLDER, Link, build


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"0-3\n", "0-3"),
        (b"", ""),
        (b"0-3\n\0", "0-3"),
        (b"\0\n", ""),
        (b"0-1\0000-3\n", "0-1"),
        (b"  a b \n", "a b"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_text_ends_where_a_c_string_ends(tmp_path: Path, content: bytes, text: str) -> None:
    assert Tree(build(tmp_path, {"sys/file": content})).text("/sys/file") == text


def test_links_stay_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside\n", encoding="utf-8")
    root = build(
        tmp_path / "root",
        {
            "secret": "inside\n",
            "sys/absolute": Link("/secret"),
            "sys/upward": Link("../../../../secret"),
            "sys/folder": Link("/sys"),
            "sys/real_outside": Link(str(tmp_path / "secret")),
            "sys/chain": Link("folder/folder/../sys/absolute"),
        },
    )
    tree = Tree(root)
    for name in ("absolute", "upward", "folder/absolute", "chain"):
        assert tree.text(f"/sys/{name}") == "inside"
    assert tree.text("/sys/real_outside") is None
    assert tree.text("/../secret") == "inside"


@pytest.mark.parametrize("target", ["loop", "./loop", "loop/more", "../sys/loop", "/sys/loop/../loop"])
def test_a_loop_of_links_leads_nowhere(tmp_path: Path, target: str) -> None:
    tree = Tree(build(tmp_path, {"sys/loop": Link(target)}))
    assert tree.target("/sys/loop/file") is None
    assert tree.text("/sys/loop/file") is None
    assert tree.names("/sys/loop") == []
    assert not tree.is_folder("/sys/loop")
    assert not tree.is_file("/sys/loop")


def test_target_of_a_link_whose_end_is_not_recorded(tmp_path: Path) -> None:
    tree = Tree(build(tmp_path, {"sys/class/net/eth0": Link("../../devices/pci0/a/../b/net/eth0")}))
    assert tree.target("/sys/class/net/eth0") == "/sys/devices/pci0/b/net/eth0"


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    tree = Tree(build(tmp_path, {"sys/folder": FOLDER}))
    os.mkfifo(tmp_path / "sys/pipe")
    assert tree.text("/sys/folder") is None
    assert tree.text("/sys/pipe") is None  # would wait for ever


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(build(tmp_path, {"sys/file": "1\n"}))

    def refuse(*_arguments: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)
    assert tree.text("/sys/file") is None


def test_numbered_folders(tmp_path: Path) -> None:
    folders = dict.fromkeys(["n10", "n2", "n0", "n02", "n", "n-1", "nx", "n3x", "far/n7", "n1234567890"], FOLDER)
    tree = Tree(build(tmp_path, {**folders, "n5": "a file\n", "n6": Link("far/n7"), "n8": Link("missing")}))
    assert tree.numbered("/", "n") == [0, 2, 6, 10]


@pytest.mark.parametrize(
    ("content", "number"),
    [("7\n", 7), ("-1\n", -1), ("", None), ("x", None), ("1 2", None), ("+1", None), ("²", None), ("9" * 30, None)],
)
def test_number(tmp_path: Path, content: str, number: int | None) -> None:
    assert Tree(build(tmp_path, {"file": content})).number("/file") == number
