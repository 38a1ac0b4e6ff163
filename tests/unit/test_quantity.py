# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import parse_microseconds, parse_size, show_size


@pytest.mark.parametrize("value", ["8G", "8GiB", "8192M", "8192MiB", " 8 G ", "8388608K", "8589934592", 8589934592])
def test_sizes_in_all_spellings_are_exact(value: object) -> None:
    assert parse_size(value, "size") == 8 * 1024**3


@pytest.mark.parametrize(("value", "size"), [("0", 0), (0, 0), ("512B", 512), ("3T", 3 << 40), ("1P", 1 << 50)])
def test_small_and_large_sizes(value: object, size: int) -> None:
    assert parse_size(value, "size") == size


@pytest.mark.parametrize(
    "value",
    [
        "8GB",
        "8 gigs",
        "8g",
        "-1",
        "",
        "G",
        "8.5G",
        "8e9",
        "0x10",
        "1,000",
        "8G8",
        "10%",
        "\u0668G",
        True,
        False,
        None,
        8.0,
    ],
)
def test_nonsense_is_refused_with_the_way_to_write_it(value: object) -> None:
    with pytest.raises(HostprepError) as error:
        parse_size(value, "select.min_size")
    (problem,) = error.value.problems
    assert problem.found == f"select.min_size: {value!r}"
    assert "powers of 1024" in problem.wanted
    assert '"8G"' in problem.remedy


@pytest.mark.parametrize(("value", "time"), [("500us", 500), ("5ms", 5000), ("1s", 1_000_000), (" 5 ms ", 5000)])
def test_times(value: str, time: int) -> None:
    assert parse_microseconds(value, "target") == time


@pytest.mark.parametrize("value", ["5", "0ms", "5m", "-5ms", "5 seconds", "", "1.5ms", None])
def test_times_need_a_unit_and_more_than_zero(value: object) -> None:
    with pytest.raises(HostprepError, match=r"Found: target: .*unit, us, ms or s.*like \"5ms\""):
        parse_microseconds(value, "target")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (512, "512 B"), (1024, "1 KiB"), (8 << 30, "8 GiB"), ((8 << 30) - 1, "8.0 GiB"), (3 << 39, "1.5 TiB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert show_size(size) == text
