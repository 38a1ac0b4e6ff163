# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import block
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.tests.unit.fixtures.hosts import recorded
from ansible_collections.virt.hostprep.tests.unit.fixtures.topology.machine import Files, Link, build
from support import device, host, partition

Devices = dict[str, dict[str, t.Any]]


def observe(tmp_path: Path, *more: Files, without: t.Iterable[str] = ()) -> Devices:
    files = recorded.lab_host()
    for entry in more:
        files.update(entry)
    for path in without:
        del files[path]
    return block.observe(Host(build(tmp_path / "host", files)))


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Devices:
    """Those of the recorded host as it is. Not to be changed."""
    return observe(tmp_path_factory.mktemp("recorded"))


# --- the recorded host --------------------------------------------------------------------------------------------


def test_all_devices_are_there(devices: Devices) -> None:
    disks = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "nvme3n1p1", "nvme3n1p2", "vda", "vda1", "zram0"]
    assert sorted(devices) == disks


def test_a_blank_disk(devices: Devices) -> None:
    wwid = "nvme.1b36-5357415030303031-51454d55204e564d65204374726c-00000001"
    assert devices["nvme0n1"] == {
        "name": "nvme0n1",
        "path": "/dev/nvme0n1",
        "number": "259:0",
        "type": "disk",
        "parent": None,
        "virtual": False,
        "size": 1024**3,
        "read_only": False,
        "removable": False,
        "rotational": False,
        "zoned": False,
        "state": "live",
        "transport": "nvme",
        "model": "QEMU NVMe Ctrl",
        "serial": "SWAP0001",
        "wwid": wwid,
        "numa_node": 0,
        "partition_table": None,
        "partlabel": None,
        "partuuid": None,
        "holders": [],
        "slaves": [],
        "links": {
            "by_id": [f"nvme-QEMU_NVMe_Ctrl_SWAP0001{end}" for end in ("", "_1")] + [f"nvme-{wwid}"],
            "by_path": ["pci-0000:00:04.0-nvme-1"],
            "by_uuid": [],
            "by_label": [],
            "by_partlabel": [],
            "by_partuuid": [],
        },
        "mounts": [],
        "swap": None,
        "partitions": [],
        "signatures": [],
        "held": False,
        "content": "zero",
    }


def test_the_builder_of_the_other_tests_has_the_same_keys(devices: Devices) -> None:
    assert set(device()) == set(devices["nvme0n1"])
    assert set(partition(device(), 1)) == set(devices["nvme3n1p1"])
    assert set(device()["links"]) == set(devices["nvme0n1"]["links"])


def test_types_are_those_of_lsblk_and_else_what_sysfs_can_tell(tmp_path: Path) -> None:
    lines = [recorded.lsblk("loop0", "loop"), recorded.lsblk("dm-0", "lvm"), *recorded.LSBLK]
    unknown = [line for line in lines if line["kname"] not in ("nvme0n1", "nvme3n1p1")]
    found = observe(
        tmp_path,
        recorded.virtual("loop0", 1024**2, "7:0"),
        recorded.virtual("dm-0", 1024**2, "252:0"),
        {"commands/lsblk": json.dumps({"blockdevices": unknown})},
    )
    types = {name: found[name]["type"] for name in ("loop0", "dm-0", "nvme0n1", "nvme3n1p1", "nvme1n1", "vda1")}
    assert types == {
        "loop0": "loop",
        "dm-0": "lvm",
        "nvme0n1": "disk",
        "nvme3n1p1": "part",
        "nvme1n1": "disk",
        "vda1": "part",
    }


def test_what_sysfs_does_not_say_lsblk_may(tmp_path: Path) -> None:
    facts = {"model": " Virtual ", "serial": "V1", "wwn": "0x5000"}
    lines = [line for line in recorded.LSBLK if line["kname"] != "vda"]
    found = observe(
        tmp_path, {"commands/lsblk": json.dumps({"blockdevices": [*lines, recorded.lsblk("vda", **facts)]})}
    )
    assert [found["vda"][key] for key in ("model", "serial", "wwid")] == ["Virtual", "V1", "0x5000"]
    assert found["vda"]["transport"] == "virtio"


def test_disks_on_other_buses(tmp_path: Path) -> None:
    lines = [recorded.lsblk("sda", tran="sata"), *recorded.LSBLK]
    found = observe(
        tmp_path,
        recorded.disk("sda", "pci0000:00/0000:00:1f.2/ata1", 1024**3, "8:0"),
        {"commands/lsblk": json.dumps({"blockdevices": lines})},
        {"sys/devices/pci0000:00/0000:00:03.0/virtio0/block/vda/serial": "VIRT0001\n"},
    )
    assert (found["sda"]["transport"], found["sda"]["virtual"]) == ("sata", False)
    assert (found["vda"]["transport"], found["vda"]["serial"]) == ("virtio", "VIRT0001")


def test_what_nobody_says_is_not_known(devices: Devices) -> None:
    assert [devices["vda"][key] for key in ("model", "serial", "wwid", "state")] == [None] * 4
    assert [devices["zram0"][key] for key in ("zoned", "removable", "rotational", "read_only")] == [False] * 4


def test_partitions_know_their_disk_and_it_knows_them(devices: Devices) -> None:
    first = devices["nvme3n1p1"]
    assert (first["parent"], first["type"], first["partlabel"]) == ("nvme3n1", "part", "first")
    assert (first["serial"], first["wwid"]) == (devices["nvme3n1"]["serial"], devices["nvme3n1"]["wwid"])
    assert first["partition_table"] is None
    assert devices["nvme3n1"]["partition_table"] == "gpt"
    assert devices["nvme3n1"]["partitions"] == ["nvme3n1p1", "nvme3n1p2"]
    assert devices["vda"]["partitions"] == ["vda1"]


def test_mounts_by_number_and_with_blanks_in_their_names(devices: Devices) -> None:
    assert devices["vda1"]["mounts"] == ["/"]
    assert devices["nvme3n1p1"]["mounts"] == ["/srv/my data"]
    assert devices["nvme3n1"]["mounts"] == []


def test_a_mount_whose_source_is_no_device_path(tmp_path: Path) -> None:
    """Without an initramfs the root is /dev/root: the number tells."""
    found = observe(tmp_path, {"proc/self/mountinfo": recorded.MOUNTINFO.replace("/dev/vda1", "/dev/root")})
    assert found["vda1"]["mounts"] == ["/"]


def test_a_mount_whose_number_is_not_that_of_its_device(tmp_path: Path) -> None:
    """btrfs mounts have numbers of their own: the source tells."""
    mount = "40 22 0:99 / /srv rw - btrfs /dev/disk/by-label/data rw\n"
    found = observe(tmp_path, {"proc/self/mountinfo": recorded.MOUNTINFO + mount})
    assert found["nvme2n1"]["mounts"] == ["/srv"]


def test_lines_that_are_cut_short_and_names_that_are_no_links(tmp_path: Path) -> None:
    found = observe(
        tmp_path,
        {"proc/self/mountinfo": f"\n1 2 259:0 /\n1 2 259:0 / /srv rw - ext4\n{recorded.MOUNTINFO}"},
        {"dev/disk/by-id/odd": ""},
    )
    assert found["nvme0n1"]["mounts"] == []
    assert found["vda1"]["mounts"] == ["/"]


def test_swap_with_a_blank_in_its_path(tmp_path: Path) -> None:
    root = build(tmp_path / "host", {"proc/swaps": "Filename\tType\n/srv/my\\040swap file 8 4 -2\n"})
    assert block.active_swaps(Host(root)) == [
        {"path": "/srv/my swap", "type": "file", "size": 8192, "used": 4096, "priority": -2}
    ]


def test_active_swap(devices: Devices) -> None:
    line = {"path": "/dev/zram0", "type": "partition", "size": 262140 * 1024, "used": 1024 * 1024, "priority": 100}
    assert devices["zram0"]["swap"] == line
    assert devices["zram0"]["virtual"]


def test_signatures_are_those_of_wipefs_with_what_blkid_adds(tmp_path: Path) -> None:
    more = "\nDEVNAME=/dev/nvme2n1\nTYPE=odd\nUUID=1\n\nDEVNAME=/dev/nvme1n1\nPTTYPE=dos\n"
    found = observe(tmp_path, {"commands/blkid": recorded.BLKID + more})
    assert found["nvme2n1"]["signatures"] == [
        {"type": "ext4", "offset": 0x438, "uuid": "da7a", "label": "data"},
        {"type": "odd", "offset": None, "uuid": "1", "label": None},
    ]
    assert [entry["type"] for entry in found["nvme1n1"]["signatures"]] == ["dos"]
    assert [entry["type"] for entry in found["vda"]["signatures"]] == ["gpt", "gpt", "PMBR"]
    assert found["nvme3n1p2"]["signatures"] == []


def test_without_a_recorded_probe_nothing_is_taken_for_free(tmp_path: Path) -> None:
    found = observe(tmp_path, without=["commands/probe"])
    assert (found["nvme0n1"]["held"], found["nvme0n1"]["content"]) == (None, None)


@pytest.mark.parametrize(
    ("node", "found"), [("nvme0n1", 0), ("nvme1n1", 1), ("nvme2n1", None), ("nvme3n1p1", 1), ("vda", None)]
)
def test_numa_nodes_where_minus_one_is_unknown(devices: Devices, node: str, found: int | None) -> None:
    assert devices[node]["numa_node"] == found


def test_the_only_node_is_the_node_of_all(tmp_path: Path) -> None:
    found = observe(tmp_path, without=["sys/devices/system/node/node0/cpulist"])
    assert found["nvme2n1"]["numa_node"] == found["vda"]["numa_node"] == 1


def test_a_node_of_a_bridge_further_up(tmp_path: Path) -> None:
    found = observe(tmp_path, {"sys/devices/pci0000:00/numa_node": "1\n"})
    assert found["nvme2n1"]["numa_node"] == found["vda1"]["numa_node"] == 1


@pytest.mark.parametrize(
    ("path", "text", "key", "value"),
    [
        ("ro", "1", "read_only", True),
        ("removable", "1", "removable", True),
        ("queue/rotational", "1", "rotational", True),
        ("queue/zoned", "host-managed", "zoned", True),
        ("size", "0", "size", 0),
        ("device/state", "dead", "state", "dead"),
        ("device/transport", "tcp", "transport", "nvme-tcp"),
        ("holders/dm-0", "", "holders", ["dm-0"]),
        ("slaves/sda", "", "slaves", ["sda"]),
    ],
)
def test_what_sysfs_says(tmp_path: Path, path: str, text: str, key: str, value: object) -> None:
    folder = f"sys/devices/{recorded.pci(0)}/nvme/nvme0"
    real = path.replace("device/", "../") if path.startswith("device/") else path
    found = observe(tmp_path, {os.path.normpath(f"{folder}/nvme0n1/{real}"): f"{text}\n"})
    assert found["nvme0n1"][key] == value


def test_a_partition_of_a_removable_disk_is_removable(tmp_path: Path) -> None:
    found = observe(tmp_path, {f"sys/devices/{recorded.pci(3)}/nvme/nvme3/nvme3n1/removable": "1\n"})
    assert found["nvme3n1p2"]["removable"]


def test_a_recorded_link_does_not_lead_out_of_the_recording(tmp_path: Path) -> None:
    found = observe(tmp_path, {"dev/disk/by-id/absolute": Link("/dev/nvme0n1")})
    assert "absolute" in found["nvme0n1"]["links"]["by_id"]


def test_udev_escapes_stay_in_a_name_that_is_to_be_written_into_files(tmp_path: Path) -> None:
    found = observe(tmp_path, recorded.links("by-path", {r"pci-a\x20b": "nvme0n1"}))
    assert r"pci-a\x20b" in found["nvme0n1"]["links"]["by_path"]


# --- NVMe multipath, and disks that are not here ------------------------------------------------------------------


def multipath(transport: str, *states: str) -> Files:
    """A shared namespace below its subsystem, with a hidden disk for each path that leads to it."""
    folder, name = "sys/devices/virtual/nvme-subsystem/nvme-subsys5", "nvme5n1"
    files: Files = {
        f"sys/class/block/{name}": Link(f"../../devices/virtual/nvme-subsystem/nvme-subsys5/{name}"),
        f"{folder}/{name}/device": Link("../../nvme-subsys5"),
        f"{folder}/{name}/size": "2097152\n",
        f"{folder}/{name}/hidden": "0\n",
        f"{folder}/{name}/wwid": "eui.05\n",
        f"{folder}/serial": "SHARED05\n",
        f"{folder}/model": "Shared\n",
        "commands/lsblk": json.dumps({"blockdevices": [*recorded.LSBLK, recorded.lsblk(name, tran="nvme")]}),
    }
    for number, state in enumerate(states, start=5):
        controller = f"sys/devices/pci0000:00/0000:00:1{number}.0/nvme/nvme{number}"
        path = f"nvme5c{number}n1"
        files.update(
            {
                f"{folder}/nvme{number}": Link(f"../../../{controller[len('sys/devices/') :]}"),
                f"{controller}/transport": f"{transport}\n",
                f"{controller}/state": f"{state}\n",
                f"{controller}/numa_node": "1\n",
                f"{controller}/{path}/hidden": "1\n",
                f"{controller}/{path}/size": "2097152\n",
                f"{controller}/{path}/device": Link(f"../../nvme{number}"),
                f"sys/class/block/{path}": Link(f"../../{controller[len('sys/') :]}/{path}"),
            }
        )
    return files


def test_paths_of_multipath_devices_are_no_devices(tmp_path: Path) -> None:
    found = observe(tmp_path, multipath("pcie", "live", "live"))
    assert [name for name in found if name.startswith("nvme5")] == ["nvme5n1"]


def test_a_multipath_device_has_the_facts_of_its_controllers(tmp_path: Path) -> None:
    found = observe(tmp_path, multipath("pcie", "connecting", "live"))["nvme5n1"]
    facts = ("transport", "state", "serial", "wwid", "numa_node", "virtual")
    assert [found[fact] for fact in facts] == ["nvme", "live", "SHARED05", "eui.05", 1, False]


def test_networked_nvme_is_seen_through_multipath(tmp_path: Path) -> None:
    """lsblk calls it nvme all the same."""
    assert observe(tmp_path, multipath("tcp", "live"))["nvme5n1"]["transport"] == "nvme-tcp"


def test_a_multipath_device_without_a_live_path(tmp_path: Path) -> None:
    assert observe(tmp_path, multipath("pcie", "connecting"))["nvme5n1"]["state"] == "connecting"


def test_a_ceph_block_device_is_no_local_disk(tmp_path: Path) -> None:
    """It has a device behind it, as real hardware has."""
    assert observe(tmp_path, recorded.disk("rbd0", "rbd/0", 1024**3, "252:0"))["rbd0"]["transport"] == "rbd"


# --- running programs ---------------------------------------------------------------------------------------------


class Programs:
    """wipefs and blkid as they are: both end at the first device that they cannot do."""

    def __init__(self, files: Files, broken: tuple[str, ...] = ()) -> None:
        self.files = files
        self.broken = broken
        self.ran: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str]) -> tuple[int, str, str]:
        self.ran.append(list(argv))
        if argv[0] == "lsblk":
            return 0, str(self.files["commands/lsblk"]), ""
        paths = [word for word in argv if word.startswith("/dev/")]
        return self.wipefs(paths) if argv[0] == "wipefs" else self.blkid(paths)

    def wipefs(self, paths: list[str]) -> tuple[int, str, str]:
        for path in paths:
            if path in self.broken:
                return 1, "", f"wipefs: error: {path}: probing initialization failed: Input/output error"
        names = [os.path.basename(path) for path in paths]
        entries = json.loads(str(self.files["commands/wipefs"])).get("signatures", [])
        return 0, json.dumps({"signatures": [entry for entry in entries if entry["device"] in names]}), ""

    def blkid(self, paths: list[str]) -> tuple[int, str, str]:
        out: list[str] = []
        for path in paths:
            blocks = [text for text in recorded.BLKID.split("\n\n") if f"DEVNAME={path}\n" in text]
            if not blocks:
                return 2, "\n\n".join(out), ""
            out += blocks
        return 0, "\n\n".join(out), ""


class RunningHost(Host):
    """A host that is recorded, but whose programs run."""

    recorded = False

    def __init__(self, root: str, run: t.Callable[[t.Sequence[str]], tuple[int, str, str]]) -> None:
        super().__init__("/", run)
        self._recording = Host(root)
        for name in ("read", "read_raw", "names", "exists", "link"):
            setattr(self, name, getattr(self._recording, name))

    def require_root(self) -> None:
        pass


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool | None]:
    """Stand-ins for what is asked of the device itself; the dictionary says what is held."""
    held: dict[str, bool | None] = {"/dev/vda": True, "/dev/vda1": True}
    monkeypatch.setattr(block, "_is_held", lambda path: held.get(path, False))
    monkeypatch.setattr(block, "_content", lambda path, _size: "unreadable" if "nvme1" in path else "zero")
    return held


def test_what_runs_only_reads_and_runs_for_each_real_device(tmp_path: Path, probed: dict[str, bool | None]) -> None:
    folder = f"sys/devices/{recorded.pci(1)}/nvme/nvme1/nvme1n1"
    files: Files = {
        **recorded.lab_host(),
        **recorded.disk("sr0", "pci0000:00/0000:00:1f.2/ata1", 1024**2, "11:0"),
        f"{folder}/size": "0\n",
        "commands/lsblk": json.dumps({"blockdevices": [recorded.lsblk("sr0", "rom"), *recorded.LSBLK]}),
    }
    programs = Programs(files)
    block.observe(RunningHost(build(tmp_path / "host", files), programs))
    assert probed
    columns = "KNAME,TYPE,TRAN,MODEL,SERIAL,WWN,PTTYPE,PARTLABEL,PARTUUID"
    real = [f"/dev/{name}" for name in ("nvme0n1", "nvme2n1", "nvme3n1", "nvme3n1p1", "nvme3n1p2", "vda", "vda1")]
    wipefs = ["wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,UUID,LABEL"]
    expected = [["lsblk", "--json", "--bytes", "--all", "--list", "--output", columns]]
    for path in real:
        expected += [[*wipefs, path], ["blkid", "-p", "-o", "export", path]]
    assert programs.ran == expected


def test_a_broken_disk_does_not_hide_the_others(tmp_path: Path, probed: dict[str, bool | None]) -> None:
    files = recorded.lab_host()
    running = RunningHost(build(tmp_path / "host", files), Programs(files, broken=("/dev/nvme1n1",)))
    found = block.observe(running)
    assert probed
    assert found["nvme1n1"]["content"] == "unreadable"
    assert [entry["type"] for entry in found["nvme2n1"]["signatures"]] == ["ext4"]
    assert found["nvme0n1"]["content"] == "zero"


def test_blank_disks_do_not_stop_blkid(tmp_path: Path, probed: dict[str, bool | None]) -> None:
    files = {**recorded.lab_host(), "commands/wipefs": "{}"}
    running = RunningHost(build(tmp_path / "host", files), Programs(files))
    found = block.observe(running)
    assert probed
    assert [entry["type"] for entry in found["nvme2n1"]["signatures"]] == ["ext4"]


def test_what_is_held_or_has_signatures_is_not_read(tmp_path: Path, probed: dict[str, bool | None]) -> None:
    files = recorded.lab_host()
    probed["/dev/nvme0n1"] = True
    found = block.observe(RunningHost(build(tmp_path / "host", files), Programs(files)))
    assert found["nvme0n1"]["content"] is None
    assert found["nvme2n1"]["content"] is None


def test_a_failing_program_is_named_with_its_words(tmp_path: Path) -> None:
    def run(argv: t.Sequence[str]) -> tuple[int, str, str]:
        return 1, "", f"{argv[0]}: unknown column\n"

    running = RunningHost(build(tmp_path / "host", recorded.lab_host()), run)
    with pytest.raises(HostprepError, match="lsblk: unknown column"):
        block.observe(running)


@pytest.mark.skipif(os.geteuid() != 0, reason="asks what root is told")
def test_root_is_not_asked_to_become_root() -> None:
    Host("/").require_root()


def test_without_root_there_is_one_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostprepError, match=r"user id 1000\. Wanted: root.*'become: true'"):
        block.observe(Host("/"))


# --- the device itself --------------------------------------------------------------------------------------------


def test_content_is_read_at_both_ends_and_in_between(tmp_path: Path) -> None:
    size = 8 * 1024**2
    disk = tmp_path / "disk"
    for offset in (0, 1024**2 - 1, size - 1024**2, size - 1):
        with disk.open("wb") as stream:
            stream.truncate(size)
            stream.seek(offset)
            stream.write(b"x")
        assert block._content(str(disk), size) == "data", offset
    with disk.open("wb") as stream:
        stream.truncate(size)
    assert block._content(str(disk), size) == "zero"
    with disk.open("wb") as stream:
        stream.write(b"\0" * 1024**2 + b"guest" * 1024**2 + b"\0" * 1024**2)
        stream.truncate(size)
    assert block._content(str(disk), size) == "data"


def test_content_that_cannot_be_read(tmp_path: Path) -> None:
    assert block._content(str(tmp_path / "gone"), 1024) == "unreadable"
    (tmp_path / "short").write_bytes(b"\0" * 4096)
    assert block._content(str(tmp_path / "short"), 4096) == "zero"
    assert block._content(str(tmp_path / "short"), 8192) == "unreadable"


@pytest.mark.parametrize("size", [0, 512, 4096, 2 * 1024**2, 2 * 1024**2 + 512, 3 * 1024**2, 10**9, 4 * 10**12])
def test_samples_lie_on_the_device(size: int) -> None:
    places = block.sample_places(size)
    assert all(offset >= 0 and length >= 0 and offset + length <= size for offset, length in places)
    assert min(offset for offset, dummy in places) == 0
    assert max(offset + length for offset, length in places) == size
    assert sum(length for dummy, length in places) <= 3 * 1024**2
    if size >= 10**9:  # none of 64 equal parts is left out
        starts = sorted(offset for offset, dummy in places)
        assert len(places) == 66
        assert all(after - before <= size // 60 for before, after in itertools.pairwise(starts))


def test_a_device_is_asked_for_exclusively_and_not_for_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def record(_path: str, flags: int) -> int:
        seen.append(flags)
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "open", record)
    assert block._is_held("/dev/nvme0n1") is True
    (flags,) = seen
    assert flags & os.O_EXCL
    assert flags & os.O_ACCMODE == os.O_RDONLY
    assert not flags & (os.O_CREAT | os.O_TRUNC)


def test_held_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    assert block._is_held(str(disk)) is False
    assert block._is_held(str(tmp_path / "gone")) is None

    def busy(*_arguments: object) -> int:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "open", busy)
    assert block._is_held(str(disk)) is True


# --- names and paths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (["nvme-QEMU_A", "nvme-QEMU_A_1", "nvme-eui.00a1"], "nvme-eui.00a1"),
        (["nvme-QEMU_A", "nvme-nvme.1b36-41"], "nvme-nvme.1b36-41"),
        (["nvme-QEMU_A", "nvme-uuid.6d1f-1"], "nvme-uuid.6d1f-1"),
        (["ata-Disk_1", "wwn-0x5000c500a"], "wwn-0x5000c500a"),
        (["scsi-0QEMU_1", "scsi-35000c500a"], "scsi-35000c500a"),
        (["virtio-B", "virtio-A"], "virtio-A"),
    ],
)
def test_world_wide_names_before_model_and_serial(names: list[str], best: str) -> None:
    assert block.stable_name(device(links={"by_id": names})) == f"/dev/disk/by-id/{best}"


def test_by_path_where_there_is_no_id_and_the_kernel_name_where_there_is_nothing() -> None:
    assert block.stable_name(device(links={"by_id": []})) == "/dev/disk/by-path/pci-nvme0n1-nvme-1"
    assert block.stable_name(device(links={"by_id": [], "by_path": []})) == "/dev/nvme0n1"


def stack() -> Devices:
    """A volume on two disks: dm-1 on md0 on nvme0n1p1 and nvme1n1."""
    first, second = device("nvme0n1", "A"), device("nvme1n1", "B", holders=["md0"])
    part = partition(first, 1, holders=["md0"])
    raid = device("md0", None, type="raid1", virtual=True, slaves=["nvme0n1p1", "nvme1n1"], holders=["dm-1"])
    volume = device("dm-1", None, type="lvm", virtual=True, slaves=["md0"], mounts=["/"])
    devices: Devices = host(first, part, second, raid, volume, device("zram0", None, virtual=True))["devices"]
    return devices


def test_everything_below_a_volume() -> None:
    assert block.ancestors("dm-1", stack()) == ["md0", "nvme0n1p1", "nvme1n1", "nvme0n1"]
    assert block.ancestors("nvme0n1p1", stack()) == ["nvme0n1"]
    assert block.ancestors("nvme1n1", stack()) == []
    assert block.ancestors("gone", stack()) == []


@pytest.mark.parametrize(
    ("path", "disks"),
    [
        ("/", ["nvme0n1", "nvme1n1"]),
        ("/dev/nvme0n1p1", ["nvme0n1"]),
        ("/dev/nvme1n1", ["nvme1n1"]),
        ("/dev/mapper/root", ["nvme0n1", "nvme1n1"]),
        ("/dev/gone", []),
        ("/dev/zram0", []),
        ("/srv", []),
        ("/proc", []),
        ("/home", ["nvme0n1", "nvme1n1"]),
    ],
)
def test_the_physical_disks_behind_a_path(tmp_path: Path, path: str, disks: list[str]) -> None:
    table = "22 1 252:1 / / rw - ext4 /dev/mapper/root rw\n23 22 0:5 / /proc rw - proc proc rw\n"
    files = {"dev/mapper/root": Link("../dm-1"), "proc/self/mountinfo": table, "home/x": ""}
    root = build(tmp_path / "host", files)
    assert block.disks_of_path(path, Host(root), stack()) == disks


@pytest.mark.parametrize(
    ("upper", "disks"),
    [
        ("/sysroot/upper", ["nvme0n1", "nvme1n1"]),
        ("/run/upper", ["nvme1n1"]),  # a layer in memory has no disk; the lower one has
        ("/upper", ["nvme1n1"]),  # a layer that only the initramfs saw
    ],
)
def test_an_overlay_lies_on_the_disks_of_its_layers(tmp_path: Path, upper: str, disks: list[str]) -> None:
    table = (
        f"22 1 0:40 / / rw - overlay overlay rw,lowerdir=/usr/img\\072x:/usr/img,upperdir={upper},workdir=/w\n"
        "23 22 252:1 / /sysroot rw - xfs /dev/mapper/root rw\n"
        "24 22 0:41 / /run rw - tmpfs tmpfs rw\n"
        "25 22 259:9 / /usr ro - erofs /dev/nvme1n1 ro\n"
    )
    files = {"dev/mapper/root": Link("../dm-1"), "proc/self/mountinfo": table, "etc/x": ""}
    root = build(tmp_path / "host", files)
    for path in ("/", "/etc"):
        assert block.disks_of_path(path, Host(root), stack()) == disks
    assert block.disks_of_path("/run", Host(root), stack()) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/dev/nvme0n1", "nvme0n1"),
        ("/dev/disk/by-id/x", "nvme0n1"),
        ("/dev/cciss/c0d0", "cciss!c0d0"),
        ("/", ""),
        ("overlay", ""),
        ("", ""),
        ("/dev/loop-a", "loop-b"),
    ],
)
def test_kernel_names(tmp_path: Path, path: str, name: str) -> None:
    files: Files = {
        "dev/disk/by-id/x": Link("../../nvme0n1"),
        "dev/loop-a": Link("loop-b"),
        "dev/loop-b": Link("loop-a"),
    }
    found = block.kernel_name(Host(build(tmp_path / "host", files)), path)
    assert found == name or (path == "/dev/loop-a" and found in ("loop-a", "loop-b"))
