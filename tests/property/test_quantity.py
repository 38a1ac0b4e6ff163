# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib

from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import parse_microseconds, parse_size, show_size
from hypothesis import given
from hypothesis import strategies as st

UNITS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


@given(st.integers(0, 10**12), st.sampled_from(sorted(UNITS)), st.sampled_from(["", "iB"]), st.sampled_from(["", " "]))
def test_every_spelling_of_a_size_is_the_same_number(number: int, unit: str, suffix: str, blank: str) -> None:
    size = number * 1024 ** UNITS[unit]
    assert parse_size(f"{number}{blank}{unit}{suffix}", "size") == size == parse_size(size, "size")


@given(st.integers(0, 2**60))
def test_a_size_that_is_shown_without_a_fraction_reads_back(size: int) -> None:
    text = show_size(size)
    if "." not in text:
        assert parse_size(text, "size") == size


@given(st.text() | st.floats() | st.booleans() | st.none() | st.text(alphabet="0123456789KMGTPiBusm. -"))
def test_any_value_is_a_quantity_or_one_problem(value: object) -> None:
    for parse in (parse_size, parse_microseconds):
        with contextlib.suppress(HostprepError):
            assert parse(value, "value") >= 0
