# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import units
from support import FileHost, device, formatted, unit_files, uuid_of

SYSTEM = "/etc/systemd/system"


@pytest.mark.parametrize(
    ("path", "name"),  # as systemd-escape --path of systemd 252 prints them
    [
        ("/", "-"),
        ("/dev/disk/by-uuid/1-2", r"dev-disk-by\x2duuid-1\x2d2"),
        ("/a b/.c", r"a\x20b-.c"),
        ("/.foo", r"\x2efoo"),
        ("/dev/disk/by-label/ü%", r"dev-disk-by\x2dlabel-\xc3\xbc\x25"),
        ("//dev///sda/", "dev-sda"),
    ],
)
def test_paths_are_escaped_as_systemd_does(path: str, name: str) -> None:
    assert units.escape_path(path) == name


def test_the_unit_names_the_area_by_uuid_and_never_blocks_the_boot() -> None:
    text = units.swap_unit("ab-cd", "SWAP0001", "eui.1", priority=7, discard="once")
    values = units.parse_unit(text)
    assert values["What"] == "/dev/disk/by-uuid/ab-cd"
    assert values["Priority"] == "7"
    assert values["Options"] == "discard=once"
    assert values["WantedBy"] == r"swap.target dev-disk-by\x2duuid-ab\x2dcd.device"
    assert "RequiredBy" not in text
    assert (values["X-HostprepSerial"], values["X-HostprepWwid"]) == ("SWAP0001", "eui.1")
    assert units.swap_unit_name("ab-cd") == rf"{units.escape_path(values['What'])}.swap"
    assert units.parse_unit(units.device_drop_in())["JobRunningTimeoutSec"] == "15s"


def test_without_discard_there_are_no_options() -> None:
    assert "Options" not in units.parse_unit(units.swap_unit("ab", None, None, 0, "none"))


def test_a_device_without_ids() -> None:
    text = units.swap_unit("ab", None, None, 0, "none")
    assert "None" not in text
    assert "Description=Dedicated swap on a device without serial\n" in text
    assert units.parse_unit(text)["X-HostprepWwid"] == ""


def test_the_lines_of_a_unit() -> None:
    text = "# What=1\n#What=2\n;What=3\n[Swap]\nWhat\nPriority = 4\nPriority=5=6\n"
    assert units.parse_unit(text) == {"Priority": "5=6"}


def test_our_units_are_known_by_their_mark() -> None:
    disk = formatted(device())
    files = unit_files(disk)
    (name,) = [
        path for path in files if path.startswith(f"{SYSTEM}/") and path.endswith(".swap") and ".wants" not in path
    ]
    host = FileHost({**files, f"{SYSTEM}/dev-sdb.swap": "[Swap]\nWhat=/dev/sdb\n", f"{SYSTEM}/swap.txt": units.MARK})
    found = units.read_own_swap_units(host)
    assert list(found) == [uuid_of(disk)]
    assert found[uuid_of(disk)]["name"] == name.rsplit("/", 1)[1]
    assert found[uuid_of(disk)]["enabled"]
    assert found[uuid_of(disk)]["drop_in"] == units.device_drop_in()


def test_a_unit_whose_drop_in_is_gone() -> None:
    disk = formatted(device())
    files = {path: text for path, text in unit_files(disk).items() if not path.endswith(".conf")}
    assert units.read_own_swap_units(FileHost(files))[uuid_of(disk)]["drop_in"] == ""


@pytest.mark.parametrize("missing", ["swap.target.wants", "device.wants"])
def test_both_links_have_to_be_there(missing: str) -> None:
    disk = formatted(device())
    files = {path: text for path, text in unit_files(disk).items() if missing not in path}
    assert not units.read_own_swap_units(FileHost(files))[uuid_of(disk)]["enabled"]


FSTAB = """\
# swap of the installer
UUID=1-2 / ext4 defaults 0 1
UUID=3-4 none swap sw 0 0
LABEL=a#b swap swap sw,pri=5,discard=once 0 0
   # PARTUUID=no none swap sw
#UUID=no none swap sw
/dev/vdb1 none swap discard
PARTLABEL="swap" none swap nofail,discard,pri=-1
/swap.img none swap
PARTUUID=5-6 none swap sw
tmpfs /tmp tmpfs
"""


def test_swap_in_fstab() -> None:
    found = units.read_foreign_swaps(FileHost({"/etc/fstab": FSTAB}))
    assert [(entry["where"], entry["path"], entry["priority"], entry["discard"]) for entry in found] == [
        ("/etc/fstab:3", "/dev/disk/by-uuid/3-4", None, "none"),
        ("/etc/fstab:4", "/dev/disk/by-label/a#b", 5, "once"),
        ("/etc/fstab:7", "/dev/vdb1", None, "both"),
        ("/etc/fstab:8", "/dev/disk/by-partlabel/swap", -1, "both"),
        ("/etc/fstab:9", "", None, "none"),
        ("/etc/fstab:10", "/dev/disk/by-partuuid/5-6", None, "none"),
    ]


def test_no_fstab_is_fine() -> None:
    assert units.read_foreign_swaps(FileHost({})) == []


def test_swap_of_generators_and_of_other_units() -> None:
    unit = "[Unit]\n{}[Swap]\nWhat={}\n{}"
    found = units.read_foreign_swaps(
        FileHost(
            {
                "/run/systemd/generator.late/dev-gpt.swap": unit.format(
                    "", "/dev/disk/by-partuuid/1", "Options=pri=3\n"
                ),
                "/run/systemd/generator/dev-vdb1.swap": unit.format("SourcePath=/etc/fstab\n", "/dev/vdb1", ""),
                f"{SYSTEM}/dev-vdc.swap": unit.format("", "/dev/vdc", "Priority=9\nOptions=discard\n"),
                f"{SYSTEM}/dev-vdd.swap": unit.format("", "/dev/vdd", "Priority=9\nOptions=pri=8\n"),
                f"{SYSTEM}/dev-vde.swap": f"{units.MARK}\n[Swap]\nWhat=/dev/vde\n",
                f"{SYSTEM}/dev-vdf.swap": "-> /dev/null",
                "/usr/lib/systemd/system/dev-zram0.swap": unit.format("", "/dev/zram0", ""),
            }
        )
    )
    assert [(entry["where"], entry["what"], entry["priority"], entry["discard"]) for entry in found] == [
        (f"{SYSTEM}/dev-vdc.swap", "/dev/vdc", 9, "both"),
        (f"{SYSTEM}/dev-vdd.swap", "/dev/vdd", 8, "none"),
        ("/run/systemd/generator.late/dev-gpt.swap", "/dev/disk/by-partuuid/1", 3, "none"),
        ("/usr/lib/systemd/system/dev-zram0.swap", "/dev/zram0", None, "none"),
    ]


@pytest.mark.parametrize(
    "directory",
    [
        *("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"),
        *("/run/systemd/generator.early", "/run/systemd/generator", "/run/systemd/generator.late"),
    ],
)
def test_units_of_others_are_looked_for_wherever_systemd_does(directory: str) -> None:
    (found,) = units.read_foreign_swaps(FileHost({f"{directory}/dev-vdb.swap": "[Swap]\nWhat=/dev/vdb\n"}))
    assert (found["where"], found["path"]) == (f"{directory}/dev-vdb.swap", "/dev/vdb")


def test_masked_units() -> None:
    host = FileHost(
        {
            f"{SYSTEM}/swap.target": "-> /dev/null",
            "/run/systemd/system/dev-vdb.swap": "-> /dev/null",
            f"{SYSTEM}/alias.swap": "-> other.swap",
        }
    )
    assert units.read_masked_units(host) == ["swap.target", "dev-vdb.swap"]
