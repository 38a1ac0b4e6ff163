# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import hashlib
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.actions import Executor, file_diffs
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Command,
    HostprepError,
    Problem,
    RemoveFile,
    WriteFile,
    WriteKernel,
)


class FakeModule:
    """As much of an AnsibleModule as the executor uses."""

    def __init__(self, check_mode: bool = False, selinux: bool = False) -> None:
        self.check_mode = check_mode
        self.selinux = selinux
        self.ran: list[list[str]] = []
        self.environment: dict[str, str] = {}
        self.answers: dict[str, tuple[int, str, str]] = {}
        self.contexts: list[tuple[str, t.Any]] = []

    def get_bin_path(self, name: str) -> str | None:
        return None if name == "missing" else f"/usr/sbin/{name}"

    def run_command(self, argv: list[str], environ_update: dict[str, str]) -> tuple[int, str, str]:
        assert isinstance(argv, list), "a string would go through a shell's rules"
        self.ran.append(argv)
        self.environment = environ_update
        return self.answers.get(os.path.basename(argv[0]), (0, "", ""))

    def selinux_enabled(self) -> bool:
        return self.selinux

    def selinux_context(self, path: str) -> list[str]:
        return ["kept", path]

    def selinux_default_context(self, path: str) -> list[str]:
        return ["default", path]

    def set_context_if_different(self, path: str, context: list[str], _changed: bool) -> None:
        self.contexts.append((path, context))


def executor(module: FakeModule) -> Executor:
    return Executor(t.cast("t.Any", module))


def run(*todo: Action, **options: t.Any) -> FakeModule:
    module = FakeModule(**options)
    executor(module).run(todo)
    return module


def failed(todo: list[Action], module: FakeModule | None = None) -> tuple[Problem, list[dict[str, t.Any]]]:
    """The problem that a run ends with, and what it had done."""
    runner = executor(module or FakeModule())
    with pytest.raises(HostprepError) as error:
        runner.run(todo)
    (problem,) = error.value.problems
    return problem, runner.done


def tree(root: Path) -> dict[str, str]:
    """Everything below a folder: content by hash, mode, and times of the folders."""
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = f"{status.st_mode:o} {status.st_mtime_ns} {content}"
    return found


def write(path: Path, content: str = "new\n") -> WriteFile:
    return WriteFile(str(path), content, path.read_text() if path.exists() else "", "test it")


# --- commands -----------------------------------------------------------------------------------------------------


def test_a_command_runs_without_a_shell_in_the_c_locale() -> None:
    module = run(Command(("mkswap", "--label", "a b; rm", "/dev/x"), "format"))
    assert module.ran == [["/usr/sbin/mkswap", "--label", "a b; rm", "/dev/x"]]
    assert module.environment == {"LC_ALL": "C"}


def test_a_failing_command_ends_the_run_with_its_own_words() -> None:
    module = FakeModule()
    module.answers["swapoff"] = (2, "", "swapoff: /dev/x: Cannot allocate memory\n")
    todo: list[Action] = [
        Command(("wipefs", "/dev/x"), "wipe"),
        Command(("swapoff", "/dev/x"), "turn it off"),
        Command(("mkswap", "/dev/x"), "format"),
    ]
    problem, done = failed(todo, module)
    assert problem.found == "'swapoff /dev/x' ended with status 2: swapoff: /dev/x: Cannot allocate memory"
    assert problem.wanted == "to turn it off"
    assert "run again" in problem.remedy
    assert done == [{"command": ["wipefs", "/dev/x"], "reason": "wipe"}]
    assert [argv[0] for argv in module.ran] == ["/usr/sbin/wipefs", "/usr/sbin/swapoff"]


def test_a_program_that_speaks_on_its_standard_output() -> None:
    module = FakeModule()
    module.answers["systemctl"] = (1, "Failed to start.\n", "")
    problem, _done = failed([Command(("systemctl", "start", "x"), "start")], module)
    assert problem.found.endswith("Failed to start.")


def test_a_program_that_is_not_there() -> None:
    problem, done = failed([Command(("missing", "x"), "try")])
    assert problem.found == "no program 'missing' on this host"
    assert "util-linux" in problem.remedy
    assert done == []


# --- files --------------------------------------------------------------------------------------------------------


def test_a_new_file_in_new_folders(tmp_path: Path) -> None:
    path = tmp_path / "x.slice.d" / "90.conf"
    run(write(path))
    assert path.read_text() == "new\n"
    assert path.stat().st_mode & 0o7777 == 0o644
    assert path.parent.stat().st_mode & 0o7777 == 0o755
    assert os.listdir(path.parent) == ["90.conf"]


def test_the_new_text_is_on_the_disk_before_it_takes_the_place_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old\n")
    seen: list[str] = []
    sync, replace = os.fsync, os.replace

    def record_sync(descriptor: int) -> None:
        target = os.readlink(f"/proc/self/fd/{descriptor}")
        seen.append("folder" if target == str(tmp_path) else Path(target).read_text())
        sync(descriptor)

    def record_replace(new: str, old: str) -> None:
        seen.append("replace")
        replace(new, old)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_replace)
    run(write(path))
    assert seen == ["new\n", "replace", "folder"]
    remove(path)
    assert seen[3:] == ["folder"]


def test_an_older_file_is_replaced_as_a_whole_and_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old and longer\n")
    path.chmod(0o640)
    older = path.stat()
    run(write(path))
    newer = path.stat()
    assert path.read_text() == "new\n"
    assert (newer.st_mode, newer.st_uid, newer.st_gid) == (older.st_mode, older.st_uid, older.st_gid)
    assert newer.st_ino != older.st_ino  # not written into: a reader sees the old or the new text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old\n")
    os.chown(path, 4711, 4712)
    run(write(path))
    assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712)


def test_what_a_power_cut_left_behind_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "file"
    left = tmp_path / ".file.hostprep-new"
    left.write_text("half a line that is much longer than the new text")
    run(write(path))
    assert path.read_text() == "new\n"
    assert not left.exists()


def test_a_link_in_place_of_what_was_left_behind_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")
    (tmp_path / ".file.hostprep-new").symlink_to(precious)
    problem, _done = failed([write(tmp_path / "file")])
    assert ".file.hostprep-new" in problem.found
    assert precious.read_text() == "data"


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert run(write(path)).contexts == []
    run(write(path, b"\xff\xfe".decode(errors="surrogateescape")))
    assert path.read_bytes() == b"\xff\xfe"


@pytest.mark.parametrize(("exists", "kind"), [(False, "default"), (True, "kept")])
def test_the_context_of_selinux(tmp_path: Path, exists: bool, kind: str) -> None:
    path = tmp_path / "file"
    if exists:
        path.touch()
    module = run(write(path), selinux=True)
    assert module.contexts == [(str(tmp_path / ".file.hostprep-new"), [kind, str(path)])]


def test_a_file_system_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(tmp_path))

    monkeypatch.setattr(os, "makedirs", read_only)
    problem, done = failed([Command(("true",), "begin"), write(tmp_path / "x" / "file")])
    assert problem.found == f"{tmp_path}: Read-only file system"
    assert problem.wanted == "to test it"
    assert "full or read-only" in problem.remedy
    assert len(done) == 1


# --- removing -----------------------------------------------------------------------------------------------------


def remove(path: Path) -> None:
    run(RemoveFile(str(path), path.read_text(), "test it"))


@pytest.mark.parametrize(
    ("folder", "other", "stays"),
    [
        ("system.slice.d", False, False),
        (r"dev-disk-by\x2duuid-1.device.d", False, False),
        ("system.slice.d", True, True),
        ("sysctl.d", False, True),
        ("system", False, True),
    ],
)
def test_only_an_empty_drop_in_folder_of_a_unit_goes_with_its_file(
    tmp_path: Path, folder: str, other: bool, stays: bool
) -> None:
    path = tmp_path / folder / "90.conf"
    path.parent.mkdir()
    path.write_text("x")
    if other:
        (path.parent / "50.conf").touch()
    remove(path)
    assert not path.exists()
    assert path.parent.exists() == stays
    assert tmp_path.exists()


def test_removing_what_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    problem, _done = failed([RemoveFile(str(tmp_path / "gone"), "", "test it")])
    assert str(tmp_path / "gone") in problem.found


# --- the kernel ---------------------------------------------------------------------------------------------------


def test_a_value_for_the_kernel_is_written_into_the_file_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "swappiness"
    path.write_text("60\n")
    inode = path.stat().st_ino
    run(WriteKernel(str(path), "10", "set it"))
    assert path.read_text().startswith("10")
    assert path.stat().st_ino == inode
    assert os.listdir(tmp_path) == ["swappiness"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EBUSY, errno.EACCES])
def test_a_value_that_the_kernel_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    path = tmp_path / "knob"
    path.touch()

    def refuse(_descriptor: int, _value: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", refuse)
    problem, done = failed([WriteKernel(str(path), "9999", "set it"), write(tmp_path / "file")])
    assert problem.found == f"the kernel refused '9999' in {path}: {os.strerror(code)}"
    assert problem.wanted == "to set it"
    assert "nothing was made persistent" in problem.remedy
    assert done == []
    assert not (tmp_path / "file").exists()


def test_a_knob_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    problem, _done = failed([WriteKernel(str(tmp_path / "gone"), "1", "set it")])
    assert "No such file" in problem.found
    assert not (tmp_path / "gone").exists()


# --- check mode ---------------------------------------------------------------------------------------------------


def test_check_mode_tells_everything_and_does_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "x.slice.d"
    folder.mkdir()
    for name in ("file", "old", "knob"):
        (folder / name).write_text("before")
    todo: list[Action] = [
        Command(("missing", "now"), "not even there"),
        write(folder / "file"),
        write(tmp_path / "new" / "file"),
        RemoveFile(str(folder / "old"), "before", "remove"),
        RemoveFile(str(folder / "never"), "", "remove"),
        WriteKernel(str(folder / "knob"), "1", "set"),
    ]
    before = tree(tmp_path)
    module = FakeModule(check_mode=True)
    runner = executor(module)
    runner.run(todo)
    assert tree(tmp_path) == before
    assert module.ran == []
    assert runner.done == [action.describe() for action in todo]
    assert runner.done[1:4:2] == [
        {"write": str(folder / "file"), "reason": "test it"},
        {"remove": str(folder / "old"), "reason": "remove"},
    ]
    assert runner.done[5] == {"kernel": str(folder / "knob"), "value": "1", "reason": "set"}


def test_the_diff_shows_files_as_a_whole(tmp_path: Path) -> None:
    todo: list[Action] = [
        Command(("x",), "y"),
        WriteFile("/a", "new", "old", "write"),
        RemoveFile("/b", "old", "remove"),
        WriteKernel(str(tmp_path), "1", "set"),
    ]
    assert file_diffs(todo) == [
        {"before_header": "/a", "after_header": "/a", "before": "old", "after": "new"},
        {"before_header": "/b", "after_header": "/b", "before": "old", "after": ""},
    ]
