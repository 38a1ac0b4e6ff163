# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from ansible_collections.virt.hostprep.plugins.module_utils import units
from hypothesis import given
from hypothesis import strategies as st

paths = st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)).map(
    lambda parts: "/" + "/".join(parts)
)


def unescape(name: str) -> str:
    """What systemd-escape --unescape --path does."""
    raw = name.replace("-", "/").encode()
    return "/" + re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), raw).decode().strip("/")


@given(paths)
def test_a_name_can_be_turned_back_into_its_path(path: str) -> None:
    name = units.escape_path(path)
    assert unescape(name) == path
    assert re.fullmatch(r"[a-zA-Z0-9:_.\\-]+", name)
    assert not name.startswith(".")


@given(
    st.uuids().map(str),
    st.integers(0, 32767),
    st.sampled_from(["none", "once", "pages"]),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", fullmatch=True) | st.none(),
)
def test_a_unit_says_what_it_was_made_from(uuid: str, priority: int, discard: str, serial: str | None) -> None:
    text = units.swap_unit(uuid, serial, None, priority, discard)
    values = units.parse_unit(text)
    assert values["What"] == units.area_path(uuid)
    assert int(values["Priority"]) == priority
    assert values.get("Options", "discard=none") == f"discard={discard}"
    assert values["X-HostprepSerial"] == (serial or "").strip()
    assert units.swap_unit_name(uuid) == f"{units.escape_path(values['What'])}.swap"
    sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
    assert sections == ["Unit", "Swap", "Install"]
