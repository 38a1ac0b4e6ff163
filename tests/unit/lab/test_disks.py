"""Disk specifications of the lab, and the files made from them."""

from __future__ import annotations

import hashlib

import pytest
from lab.disks import DEFAULT, Disk, create, parse_disk, parse_disks, parse_size, sha256_files
from lab.errors import LabError


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("4K", 4096), ("64M", 64 << 20), ("1G", 1 << 30), ("1GiB", 1 << 30), ("2TB", 2 << 40)],
)
def test_size(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "1Q", "1.5G", "G", "1 G", "1g"])
def test_nonsense_is_no_size(text):
    with pytest.raises(LabError, match="wanted a number with K, M, G or T"):
        parse_size(text)


def test_size_is_whole_blocks():
    with pytest.raises(LabError, match="multiple of 512"):
        parse_size("1000")


def test_disk():
    assert parse_disk("S1:1G") == Disk("S1", 1 << 30, numa=0, content="blank")
    assert parse_disk("S1:64M:content=gpt:numa=1") == Disk("S1", 64 << 20, numa=1, content="gpt")


def test_default_disks_are_two_a_node():
    assert [disk.numa for disk in parse_disks(list(DEFAULT))] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S1", "no size"),
        ("S1:many", "size 'many' not understood"),
        ("S 1:1G", "serial 'S 1' is not usable"),
        ("1S:1G", "a letter first"),
        (f"{'S' * 21}:1G", "1-20 of"),
        ("ROOT0001:1G", "not ROOT0001"),
        ("S1:1G:numa=2", "nodes 0 to 1"),
        ("S1:1G:numa=", "NUMA node ''"),
        ("S1:1G:content=ntfs", "one of blank, ext4, gpt"),
        ("S1:1G:colour=red", "unknown option 'colour=red'"),
        ("S1:1M:content=ext4", "wanted 64M or more"),
    ],
)
def test_bad_disk_gets_one_clear_error(text, message):
    with pytest.raises(LabError, match=message) as error:
        parse_disk(text)
    assert "\n" not in str(error.value)


def test_serials_differ():
    with pytest.raises(LabError, match="S1 is given 2 times"):
        parse_disks(["S1:1G", "S2:1G", "S1:2G"])


def test_blank_disk_is_sparse_zeros(tmp_path):
    path = tmp_path / "S1.raw"
    create(Disk("S1", 1 << 30), path)
    assert path.stat().st_size == 1 << 30
    assert path.stat().st_blocks == 0


def test_a_disk_is_never_made_over_another(tmp_path):
    path = tmp_path / "S1.raw"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        create(Disk("S1", 512), path)
    assert path.read_bytes() == b"precious"


def test_hash_is_the_sha256_of_the_whole_file(tmp_path):
    (tmp_path / "a").write_bytes(b"a" * 100_000)
    with open(tmp_path / "hole", "wb") as hole:
        hole.truncate(3 << 20)
    found = sha256_files({"A": tmp_path / "a", "H": tmp_path / "hole"})
    assert found == {
        "A": hashlib.sha256(b"a" * 100_000).hexdigest(),
        "H": hashlib.sha256(bytes(3 << 20)).hexdigest(),
    }
