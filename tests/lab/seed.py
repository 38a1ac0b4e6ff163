"""The cloud-init seed (NoCloud) for images that boot by their own boot loader."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from lab.files import Files
from lab.tools import call


def user_data(files: Files, name: str) -> str:
    """cloud-config (JSON is YAML): root with the lab's key, and the host key that the lab knows."""
    return (
        "#cloud-config\n"
        + json.dumps(
            {
                "hostname": name,
                "disable_root": False,
                "users": [
                    {
                        "name": "root",
                        "ssh_authorized_keys": [files.key.with_suffix(".pub").read_text(encoding="ascii").strip()],
                    }
                ],
                "ssh_deletekeys": True,
                "ssh_keys": {
                    "ed25519_private": files.host_key.read_text(encoding="ascii"),
                    "ed25519_public": files.host_key.with_suffix(".pub").read_text(encoding="ascii").strip(),
                },
            },
            indent=2,
        )
        + "\n"
    )


def create(files: Files, name: str) -> None:
    """Write the seed disk."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "meta-data").write_text(
            json.dumps({"instance-id": name, "local-hostname": name}), encoding="utf-8"
        )
        (Path(folder) / "user-data").write_text(user_data(files, name), encoding="utf-8")
        call("genisoimage", "-quiet", "-output", files.seed, "-volid", "CIDATA", "-joliet", "-rock", folder)
