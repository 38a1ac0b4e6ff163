# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import environment


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("A=1\n#B=2\n; C=3\nexport D=4\n", {"A": "1"}),
        ("A=\"x y\"\nB='x y'\nC=x y  \n", {"A": "x y", "B": "x y", "C": "x y"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ('A="x \\\ny \\\n "\nB=1\n', {"A": "x y  ", "B": "1"}),
        ("A=x \\\n  y\nB=1", {"A": "x   y", "B": "1"}),
        ('A="--x=\\"y\\""\n', {"A": '--x=\\"y\\"'}),
    ],
)
def test_parse(text: str, variables: dict[str, str]) -> None:
    assert environment.parse(text) == variables


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", 'A="-w"\n'),
        ("B=1", 'B=1\nA="-w"\n'),
        ("A=\nB=1\n", 'A="-w"\nB=1\n'),
        ("A=x\n", 'A="x -w"\n'),
        ("A=x y  # no comment\n", 'A="x y  # no comment -w"\n'),
        ("A='x'\n", "A='x -w'\n"),
        ('A="x"\nA="y"\nB=1\n', 'A="x"\nA="y -w"\nB=1\n'),
        ('A="x \\\n y \\\n "\nB=1\n', 'A="x \\\n y -w"\nB=1\n'),
        ("A=x\\ y\n", "A=x\\ y -w\n"),
    ],
)
def test_append_word(text: str, result: str) -> None:
    assert environment.append_word(text, "A", "-w") == result


def test_what_the_unit_sets_is_taken_over() -> None:
    assert environment.append_word("B=1\n", "A", "-w", "-v 2") == 'B=1\nA="-v 2 -w"\n'
    assert environment.append_word("A=\n", "A", "-w", "-v 2") == 'A="-w"\n'
