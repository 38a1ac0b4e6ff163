"""Defaults, argument specification and README of a role say the same thing; nothing else compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = sorted(path for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())


def specified(role: Path) -> dict[str, dict[str, Any]]:
    """The options of the role's main entry point, by name."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())
    options: dict[str, dict[str, Any]] = specs["argument_specs"]["main"].get("options", {})
    return options


def test_there_are_roles() -> None:
    assert ROLES


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_are_those_of_the_specification(role: Path) -> None:
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text()) or {}
    assert defaults == {name: option["default"] for name, option in specified(role).items() if "default" in option}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_the_name_of_their_role(role: Path) -> None:
    assert [name for name in specified(role) if not name.startswith((f"{role.name}_", "hostprep_"))] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_readme_mentions_every_variable(role: Path) -> None:
    readme = (role / "README.md").read_text()
    assert [name for name in specified(role) if f"`{name}`" not in readme] == []
