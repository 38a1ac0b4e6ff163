"""What the lab reads back: the guest's state, its own configuration, pid files, console logs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab import console, paths, process
from lab.config import Config, from_json
from lab.disks import Disk
from lab.errors import LabError
from lab.ssh import State, parse_state

BOOT = "3f2c1f5e-8a0b-4f6e-9d57-2b8f0f1c7a10"


def test_state():
    assert parse_state(f"\nlab-state {BOOT} running\n") == State(BOOT, "running")


@pytest.mark.parametrize(
    ("system", "settled"), [("running", True), ("degraded", True), ("starting", False), ("stopping", False)]
)
def test_settled(system, settled):
    assert State(BOOT, system).settled is settled


def test_noise_around_the_state_is_ignored():
    noise = f"Welcome!\r\nlab-state is a word\n{BOOT}\nSystem going down at noon\r\n"
    assert parse_state(f"{noise}lab-state {BOOT} degraded\r\n{noise}") == State(BOOT, "degraded")


@pytest.mark.parametrize(
    "text",
    [
        "",
        BOOT,
        "lab-state  running",
        f"lab-state {BOOT} ",
        f"lab-state {BOOT[:-1]} running",
        f"lab-state {BOOT.upper()} running",
        f"Broadcast: lab-state {BOOT} running",
        f"lab-state {BOOT} running twice",
    ],
)
def test_what_is_not_well_formed_is_no_state(text):
    assert parse_state(text) is None


def test_configuration_survives_the_round_trip():
    config = Config(
        "dev", "trixie", "nvme", 3072, "u", [Disk("S1", 512, 1, "blank")], ["ROOT0001", "S1"], 22, "tcg", {"S1": "p"}
    )
    assert from_json(config.to_json(), Path("config.json")) == config


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"disks": [{"colour": 1}]}', '{"disks": [], "name": "x"}'])
def test_broken_configuration_names_its_file(text):
    with pytest.raises(LabError, match=r"labs/x/config\.json is not a lab's configuration"):
        from_json(text, Path("labs/x/config.json"))


def test_pid_of_another_program_is_not_ours(tmp_path):
    pidfile = tmp_path / "qemu.pid"
    assert process.find(pidfile) is None
    pidfile.write_text(f"{os.getpid()}\n")
    assert process.find(pidfile) is None
    process.kill(pidfile)  # must not hit this very process


def test_kill_ends_exactly_the_program_that_names_the_pid_file(tmp_path):
    pidfile = tmp_path / "qemu.pid"
    sleeper = [sys.executable, "-c", "print(flush=True); input()", str(pidfile)]
    program = subprocess.Popen(sleeper, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()  # it runs
    pidfile.write_text(f"{program.pid}\n")
    assert process.find(pidfile) == program.pid
    assert not process.wait_gone(pidfile, 0.01)
    process.kill(pidfile)
    program.communicate()
    assert program.returncode == -9
    assert process.find(pidfile) is None
    assert process.wait_gone(pidfile, 0.01)


def test_console_tail_is_plain_text(tmp_path):
    log = tmp_path / "console.log"
    assert console.tail(log, 3) == ""
    log.write_bytes(b"early\r\n\x1b[0;32m  OK  \x1b[0m Started \xff\r\n\r\n\x1b[?25hlate\r\n")
    assert console.tail(log, 2) == "  OK   Started �\nlate"


@pytest.mark.parametrize("name", ["dev", "a", "vm-1", "a" * 40])
def test_lab_name(name, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_HOME", str(tmp_path))
    monkeypatch.setattr(paths, "_SOCKET_LIMIT", 1000)
    assert paths.lab_dir(name) == tmp_path / "labs" / name


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "../x", "a" * 41])
def test_bad_lab_name(name, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_HOME", str(tmp_path))
    with pytest.raises(LabError, match="not usable"):
        paths.lab_dir(name)


def test_home_too_long_for_a_socket(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_HOME", str(tmp_path / ("x" * 100)))
    with pytest.raises(LabError, match="set LAB_HOME to a shorter one"):
        paths.lab_dir("dev")


def test_home(monkeypatch):
    monkeypatch.delenv("LAB_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert paths.home() == Path("/c/hostprep-lab")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert paths.home() == Path("/h/.cache/hostprep-lab")
    monkeypatch.setenv("LAB_HOME", "/l")
    assert paths.home() == Path("/l")
