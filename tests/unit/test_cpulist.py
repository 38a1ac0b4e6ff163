# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.cpulist import MAX_IDS, parse_list, parse_mask


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("\n", []),
        ("0\n", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("0-2,33-34,45", [0, 1, 2, 33, 34, 45]),
        ("5,1,3-4,1", [1, 3, 4, 5]),
        ("7-7", [7]),
        (",,0,,2,", [0, 2]),
        ("0 2\t4", [0, 2, 4]),
        ("0-31:2/8", [0, 1, 8, 9, 16, 17, 24, 25]),
        ("1-10:1/4", [1, 5, 9]),
        ("4-10:2/3,0", [0, 4, 5, 7, 8, 10]),
        ("0-3:0/2", []),
        ("0-3:5/5", [0, 1, 2, 3]),
    ],
)
def test_list(text: str, ids: list[int]) -> None:
    assert parse_list(text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("all", list(range(8))),
        ("ALL", list(range(8))),
        ("N", [7]),
        ("5-N", [5, 6, 7]),
        ("all:1/2", [0, 2, 4, 6]),
        ("0,6-N", [0, 6, 7]),
    ],
)
def test_list_of_a_known_number_of_ids(text: str, ids: list[int]) -> None:
    assert parse_list(text, size=8) == ids


@pytest.mark.parametrize(
    "text",
    ["x", "-1", "3-", "-", "1-2-3", "3-1", "0x3", "1.5", "0 - 3", "0-3:2", "0-3:2/0", "0-3:3/2", "4:1/2", "²",
     "all", "N", "0-N", "(null)", str(MAX_IDS), "0-4294967295", "9" * 5000],
)  # fmt: skip
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_list(text)


def test_an_id_beyond_the_last_one() -> None:
    with pytest.raises(ValueError, match="'6-8' names an id that is too high; the highest is 7"):
        parse_list("6-8", size=8)


def test_an_absurd_number_of_ids_does_not_fill_the_memory() -> None:
    assert parse_list("all", size=10**12) == list(range(MAX_IDS))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0", []),
        ("f", [0, 1, 2, 3]),
        ("F0\n", [4, 5, 6, 7]),
        ("00000000,0000000c", [2, 3]),
        ("1,00000000", [32]),
        ("1,0", [32]),  # each part stands for 32 bits, however many digits it has
        ("80000000,00000001,00000000", [32, 95]),
        ("0000,00000000,000000ff,ff000000,00000000,00000000", list(range(88, 104))),
    ],
)
def test_mask(text: str, ids: list[int]) -> None:
    assert parse_mask(text) == ids


@pytest.mark.parametrize(
    "text", ["", "\n", "g", "0x3", "123456789", ",1", "1,", "1,,1", "1 1", "-1", ",".join(["0"] * (MAX_IDS // 32 + 1))]
)
def test_what_is_no_mask(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_mask(text)
