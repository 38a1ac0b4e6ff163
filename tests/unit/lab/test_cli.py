"""The command line without any machine."""

from __future__ import annotations

import json

import pytest
from lab.cli import main, parser


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path_factory):
    # pytest's own folders are too deep for a socket's path
    monkeypatch.setenv("LAB_HOME", str(tmp_path_factory.getbasetemp()))
    monkeypatch.setattr("lab.paths._SOCKET_LIMIT", 1000)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nolab", "--", "true"], "there is no lab 'nolab'; make it with: lab up nolab"),
        (["up", "No"], "lab name 'No' is not usable"),
        (["up", "x", "--disk", "S1"], "disk 'S1' has no size"),
        (["up", "x", "--memory", "1"], "memory of 1 MiB is too little"),
        (["up", "x", "--image", "/none"], "image '/none' is neither"),
    ],
)
def test_an_error_is_one_line(words, message, capsys):
    assert main(words) == 1
    said = capsys.readouterr().err.strip()
    assert message in said
    assert "\n" not in said


def test_what_does_not_exist_is_down_already(capsys):
    assert main(["down", "nolab"]) == 0
    assert "there is no lab nolab" in capsys.readouterr().err


def test_no_labs(capsys):
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_run_keeps_the_words_of_its_command():
    args = parser().parse_args(["run", "dev", "--", "sh", "-c", "echo --x; false"])
    assert args.command == ["sh", "-c", "echo --x; false"]


def test_every_command_explains_itself(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    text = capsys.readouterr().out
    for command in [
        "up",
        "down",
        "list",
        "ssh",
        "run",
        "reboot",
        "cut",
        "renumber",
        "snapshot",
        "restore",
        "attach",
        "detach",
        "hash",
        "inventory",
        "console",
    ]:
        assert f"\n    {command} " in text
