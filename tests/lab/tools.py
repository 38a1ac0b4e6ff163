"""Programs of the host that the lab calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError

_PACKAGES = Path(__file__).with_name("packages.txt")


def tool(name: str) -> str:
    """The path of program `name`, also where a plain user's PATH lacks the sbin folders."""
    found = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    if found is None:
        raise LabError(f"program {name} not found; install the packages listed in {_PACKAGES}")
    return found


def call(*command: str | Path, stdin: str | None = None) -> str:
    """Run a program of the host and return its stdout; its own words become the error."""
    argv = [tool(str(command[0])), *map(str, command[1:])]
    done = subprocess.run(argv, input=stdin or "", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{command[0]} failed with exit code {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def as_root(*command: str | Path) -> list[str]:
    """The command line that runs `command` as root: as it is for root, else through sudo."""
    argv = [tool(str(command[0])), *map(str, command[1:])]
    return argv if os.geteuid() == 0 else [tool("sudo"), "--", *argv]
