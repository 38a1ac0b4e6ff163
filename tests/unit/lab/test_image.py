"""The image recipe's hash and the search for a package archive."""

from __future__ import annotations

import dataclasses

import pytest
from lab import image
from lab.errors import LabError


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "rootfs/etc").mkdir(parents=True)
    (tmp_path / "rootfs/etc/fstab").write_text("LABEL=lab-root / ext4\n")
    (tmp_path / "customize.sh").write_text("true\n")
    return tmp_path


def test_key_is_stable(sources):
    recipe = image.Recipe("trixie")
    assert recipe.key(sources) == image.Recipe("trixie").key(sources)
    assert recipe.key(sources).startswith("trixie-")


def test_key_does_not_depend_on_the_place(sources, tmp_path_factory):
    moved = tmp_path_factory.mktemp("other") / "lab"
    sources.rename(moved)
    before = image.Recipe("trixie").key(moved)
    moved.rename(sources)
    assert image.Recipe("trixie").key(sources) == before


@pytest.mark.parametrize(
    "change", [{"suite": "bookworm"}, {"size": 1 << 30}, {"include": ("dbus",)}, {"exclude": ("/usr/share/doc/*",)}]
)
def test_every_field_counts(sources, change):
    recipe = image.Recipe("trixie")
    assert dataclasses.replace(recipe, **change).key(sources) != recipe.key(sources)


@pytest.mark.parametrize("name", ["customize.sh", "rootfs/etc/fstab"])
def test_every_file_counts(sources, name):
    recipe = image.Recipe("trixie")
    key = recipe.key(sources)
    (sources / name).chmod(0o755)
    executable = recipe.key(sources)
    (sources / name).write_text("something else\n")
    assert len({key, executable, recipe.key(sources)}) == 3


def test_real_sources_have_a_key():
    assert len({recipe.key() for recipe in image.RECIPES.values()}) == 2


def test_unknown_image():
    with pytest.raises(LabError, match=r"neither a file nor a URL nor one of trixie, bookworm"):
        image.ensure("/no/such/image")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("deb http://mirror.example/debian trixie main\n", "http://mirror.example/debian"),
        (
            "deb [signed-by=/k.gpg arch=amd64] https://mirror.example/debian trixie main\n",
            "https://mirror.example/debian",
        ),
        (
            "# deb http://old.example/debian sid main\ndeb http://mirror.example/debian trixie main\n",
            "http://mirror.example/debian",
        ),
        ("Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie\n", "http://mirror.example/debian"),
        ("deb http://security.example/debian-security trixie-security main\n", None),
        ("deb cdrom:[Debian 13]/ trixie main\n", None),
        ("", None),
    ],
)
def test_mirror_of_the_host(sources, expected):
    assert image.find_mirror(sources) == expected
