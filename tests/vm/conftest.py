"""One lab host serves all tests of a file: booted once, put back by each test to what it found."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import paths
from lab.vm import Lab


@pytest.fixture(scope="module")
def lab(request):
    """A fresh lab host with the disks and options of the test file's LAB (see lab.vm.Lab.up)."""
    name = request.module.__name__.rpartition(".")[2].replace("_", "-")
    if (paths.lab_dir(name) / "config.json").exists():  # a run that was cut off left it
        Lab.load(name).down()
    host = Lab.up(name, **request.module.LAB)
    fingerprint = (Path(__file__).parent / "fingerprint.sh").read_text(encoding="utf-8")
    host.run(["sh", "-c", "cat > /root/fingerprint && chmod +x /root/fingerprint"], input=fingerprint)
    yield host
    host.down()
