# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one writer: carries out the actions of a plan, in order, and the only code that knows check mode."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import service
from ansible_collections.virt.hostprep.plugins.module_utils.plan import (
    Action,
    Command,
    HostprepError,
    Problem,
    RemoveFile,
    RestartService,
    WriteFile,
    WriteKernel,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class Executor:
    """Carries actions out through an AnsibleModule. `done` lists what was done (check mode: would be)."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module
        self.done: list[dict[str, t.Any]] = []

    def run(self, actions: t.Iterable[Action]) -> None:
        """Stops at the first action that fails, with a HostprepError; the next run finishes the work."""
        for action in actions:
            if not self._module.check_mode:
                self._act(action)
            self.done.append(action.describe())

    def _act(self, action: Action) -> None:
        try:
            if isinstance(action, Command):
                self._run(action.argv, action.reason)
            elif isinstance(action, WriteFile):
                self._write(action)
            elif isinstance(action, RemoveFile):
                _remove(action.path)
            elif isinstance(action, RestartService):
                service.restart(action, lambda argv: self._run(argv, action.reason), self._act, _remove_if_there)
            else:
                _write_kernel(action)
        except OSError as error:
            raise HostprepError(
                Problem(
                    found=f"{error.filename}: {error.strerror}",
                    wanted=f"to {action.reason}",
                    remedy="look whether that file system is full or read-only and run again: the rest is done then",
                )
            ) from error

    def _run(self, argv: t.Sequence[str], reason: str) -> str:
        program = self._module.get_bin_path(argv[0])
        if program is None:
            raise HostprepError(missing_program(argv[0]))
        status, out, err = self._module.run_command([program, *argv[1:]], environ_update={"LC_ALL": "C"})
        if status != 0:
            raise HostprepError(
                Problem(
                    found=f"'{' '.join(argv)}' ended with status {status}: {err.strip() or out.strip()}",
                    wanted=f"to {reason}",
                    remedy="repair what the program complains about and run again: the rest is done then",
                )
            )
        return str(out)

    def _write(self, action: WriteFile) -> None:
        directory, name = os.path.split(action.path)
        os.makedirs(directory, mode=0o755, exist_ok=True)
        # A fixed name: what a power cut leaves behind is overwritten by the next run. systemd,
        # sysctl and udev do not read names that begin with a dot.
        new = os.path.join(directory, f".{name}.hostprep-new")
        older = os.stat(action.path) if os.path.exists(action.path) else None
        mode = 0o644 if older is None else older.st_mode & 0o7777
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(action.content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            if older is not None:
                os.fchown(stream.fileno(), older.st_uid, older.st_gid)
            os.fsync(stream.fileno())
        if self._module.selinux_enabled():
            context = (
                self._module.selinux_default_context(action.path)
                if older is None
                else self._module.selinux_context(action.path)
            )
            self._module.set_context_if_different(new, context, False)
        os.replace(new, action.path)
        _sync_directory(directory)


def _remove(path: str) -> None:
    directory = os.path.dirname(path)
    os.unlink(path)
    _sync_directory(directory)
    # Of a single unit, that is. A directory such as /etc/sysctl.d belongs to the system.
    if directory.endswith((".device.d", ".slice.d")) and not os.listdir(directory):
        os.rmdir(directory)


def _remove_if_there(path: str) -> None:
    if os.path.lexists(path):
        _remove(path)


def _write_kernel(action: WriteKernel) -> None:
    try:
        # Not atomic on purpose: these files cannot be renamed over, and take a value in one write.
        descriptor = os.open(action.path, os.O_WRONLY)
        try:
            os.write(descriptor, action.value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HostprepError(
            Problem(
                found=f"the kernel refused {action.value!r} in {action.path}: {error.strerror}",
                wanted=f"to {action.reason}",
                remedy="choose a value that this kernel takes; nothing was made persistent",
            )
        ) from error


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def missing_program(name: str) -> Problem:
    return Problem(
        found=f"no program '{name}' on this host",
        wanted=f"'{name}' in PATH, /sbin or /usr/sbin",
        remedy="install the distribution's package that holds it (util-linux, udev or systemd)",
    )


def file_diffs(actions: t.Iterable[Action]) -> list[dict[str, str]]:
    """The files that a plan writes or removes, as Ansible's diff entries."""
    diffs = []
    for action in actions:
        if isinstance(action, (WriteFile, RemoveFile)):
            diffs.append(
                {
                    "before_header": action.path,
                    "after_header": action.path,
                    "before": action.before,
                    "after": action.content if isinstance(action, WriteFile) else "",
                }
            )
    return diffs
