"""Put the kubelet stand-in onto a lab host, the way one of the usual installers lays a kubelet out."""

from __future__ import annotations

import base64
import io
import ipaddress
import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.errors import LabError
from lab.kubelet.kubelet import merge_patch
from lab.vm import Lab

PORT = 10250
CONTROLLER = "10.0.2.2"  # the controller as QEMU's guests reach it
_HERE = Path(__file__).parent
_LIBRARY = "usr/local/lib/kubelet-standin"
# -I -S: nothing but the stand-in itself; each module that Python does not load saves time under TCG.
_LAUNCHER = f"""#!/usr/bin/python3 -IS
import sys
sys.path.insert(0, "/{_LIBRARY}")
import kubelet
sys.exit(kubelet.installed())
"""
_NO_API = """apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: lab, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
users: [{name: lab, user: {token: none}}]
"""
_RESTART = 1  # seconds from failing to starting anew; the real units wait 10 (k3s: 5)
# Without an API server nobody could be authenticated, so that the kubelet could not be asked at all.
_OPEN = {
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
}


class Api(Protocol):
    """What is needed of the API server (lab.kube.Api)."""

    @property
    def port(self) -> int:
        """Its port on the controller."""

    def node_kubeconfig(self, node: str, server: str) -> str:
        """The text of a kubeconfig for the kubelet of a node that reaches the API at `server`."""


@dataclass(frozen=True)
class Layout:
    """Where an installer puts things; the files themselves lie in layouts/NAME/."""

    unit: str
    program: str
    kubeconfig: str
    certificate: str  # without .crt and .key
    config: str | None = None  # the file that --config names
    config_dir: str | None = None  # the directory that --config-dir names, where the release reads one
    config_dir_since: int = 30
    masked: tuple[str, ...] = ()  # units
    private: tuple[str, ...] = ()  # files that only root may read


LAYOUTS = {
    "kubeadm": Layout(
        unit="kubelet.service",
        program="/usr/bin/kubelet",
        kubeconfig="/etc/kubernetes/kubelet.conf",
        certificate="/var/lib/kubelet/pki/kubelet",
        config="/var/lib/kubelet/config.yaml",
    ),
    "kubespray": Layout(
        unit="kubelet.service",
        program="/usr/local/bin/kubelet",
        kubeconfig="/etc/kubernetes/kubelet.conf",
        certificate="/var/lib/kubelet/pki/kubelet",
        config="/etc/kubernetes/kubelet-config.yaml",
        masked=("swap.target",),
        private=("/etc/kubernetes/kubelet-config.yaml", "/etc/kubernetes/kubelet.env"),
    ),
    "bare": Layout(
        unit="kubelet.service",
        program="/usr/local/bin/kubelet",
        kubeconfig="/etc/kubernetes/kubelet.kubeconfig",
        certificate="/var/lib/kubelet/pki/kubelet",
        config="/etc/kubernetes/kubelet.yaml",
        config_dir="/etc/kubernetes/kubelet.conf.d",
    ),
    "k3s": Layout(
        unit="k3s-agent.service",
        program="/usr/local/bin/k3s",
        kubeconfig="/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
        certificate="/var/lib/rancher/k3s/agent/serving-kubelet",
        config_dir="/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
        config_dir_since=32,
        private=("/etc/rancher/k3s/config.yaml", "/etc/systemd/system/k3s-agent.service.env"),
    ),
}


@dataclass(frozen=True)
class Installed:
    """A stand-in on a lab host: the node's name, the unit, and where its configuration is (None: this one has none)."""

    node: str
    unit: str
    program: str
    config: str | None
    config_dir: str | None


def install(
    lab: Lab,
    layout: str,
    release: str,
    api: Api | None = None,
    node: str | None = None,
    flags: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
    cert: str | None = None,
    key: str | None = None,
    start: bool = True,
) -> Installed:
    """Install the stand-in for a kubelet of `release` ("v1.34.1") on a running lab host, enable and (re)start it.

    layout: one of LAYOUTS. api: the API server that the node joins; without one the kubelet looks in vain for one at
    127.0.0.1:6443, and anyone may ask it. node: the Node's name, by default the lab's. flags: further ones, put where
    this layout has them. config: settings merged (RFC 7386) into the layout's own file, for k3s into a drop-in.
    cert, key: PEM texts of the serving certificate, by default a self-signed one. Raises LabError.
    """
    if layout not in LAYOUTS:
        raise LabError(f"kubelet layout {layout!r} is not known; wanted one of {', '.join(LAYOUTS)}")
    match = re.fullmatch(r"v1\.(\d+)\.\d+", release)
    if match is None:
        raise LabError(f"release {release!r} is none; wanted one such as v1.34.1")
    if api is not None and PORT not in lab.forwards:
        name = lab.config.name
        raise LabError(f"lab {name} does not forward port {PORT}; make it with Lab.up({name!r}, forward=[{PORT}])")
    place, name = LAYOUTS[layout], node or lab.config.name
    minor = int(match[1])
    config_dir = place.config_dir if minor >= place.config_dir_since else None
    values = {
        "@NODE@": name,
        "@FLAGS@": " ".join(flags),
        "@RESTART@": str(_RESTART),
        "@CONFIG_DIR@": f"--config-dir={config_dir}" if config_dir else "",
    }
    settings = merge_patch(_OPEN if api is None else {}, dict(config or {}))
    files = dict(_layout_files(layout, values))
    if place.config:
        files[place.config] = merged(files[place.config], settings)
    else:
        files.update(_k3s_settings(files, settings, flags, config_dir))
    files[place.kubeconfig] = _NO_API if api is None else api.node_kubeconfig(name, f"https://{CONTROLLER}:{api.port}")
    certificate, private_key = (cert, key) if cert and key else self_signed(name)
    files[f"{place.certificate}.crt"], files[f"{place.certificate}.key"] = certificate, private_key
    advertise = f"127.0.0.1:{lab.forwards[PORT]}" if PORT in lab.forwards else f"127.0.0.1:{PORT}"
    version = f"{release}+k3s1" if layout == "k3s" else release
    files[f"/{_LIBRARY}/settings.json"] = json.dumps({"version": version, "advertise": advertise})
    files[f"/{_LIBRARY}/kubelet.py"] = (_HERE / "kubelet.py").read_text(encoding="utf-8")
    for path in sorted(Path(yaml.__file__).parent.glob("*.py")):
        files[f"/{_LIBRARY}/yaml/{path.name}"] = path.read_text(encoding="utf-8")

    archive = _archive(files, place, config_dir)
    lab.run(["sh", "-c", "base64 -d | tar --extract --no-overwrite-dir --directory /"], input=archive)
    lab.run(["systemctl", "enable", place.unit])  # which also lets systemd read the units anew
    if start:
        lab.run(["systemctl", "restart", place.unit])
    return Installed(name, place.unit, place.program, place.config, config_dir)


def merged(text: str, settings: Mapping[str, Any]) -> str:
    """A configuration file with settings merged in; without any it stays as it is, comments and all."""
    if not settings:
        return text
    data = merge_patch(yaml.safe_load(text), dict(settings))
    return str(yaml.safe_dump(data, default_flow_style=False))


def _layout_files(layout: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path on the host → text; @NAMES@ are filled in. A name that ends in .in loses it."""
    base = _HERE / "layouts" / layout
    for path in sorted(base.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for name, value in values.items():
                text = text.replace(name, value)
            yield f"/{path.relative_to(base)}".removesuffix(".in"), text


def _k3s_settings(
    files: Mapping[str, str], settings: Mapping[str, Any], flags: Sequence[str], config_dir: str | None
) -> dict[str, str]:
    """k3s has no file for --config: flags stand in its own config.yaml, settings in a drop-in behind its defaults."""
    result = {}
    if flags:
        own = "/etc/rancher/k3s/config.yaml"
        lines = "".join(f'  - "{flag.removeprefix("--")}"\n' for flag in flags)
        result[own] = f"{files[own]}kubelet-arg:\n{lines}"
    if settings:
        if config_dir is None:
            raise LabError("k3s older than v1.32 reads no drop-ins: give an API server, and flags instead of a config")
        kind = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
        result[f"{config_dir}/10-lab.conf"] = str(yaml.safe_dump({**kind, **settings}))
    return result


def _archive(files: Mapping[str, str], place: Layout, config_dir: str | None) -> str:
    """All of it as a tar archive in base64; private things only for root."""
    private = (place.kubeconfig, f"{place.certificate}.key", *place.private)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path, text in {**files, place.program: _LAUNCHER}.items():
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = len(content)
            entry.mode = 0o755 if path == place.program else 0o600 if path in private else 0o644
            archive.addfile(entry, io.BytesIO(content))
        for unit in place.masked:
            entry = tarfile.TarInfo(f"etc/systemd/system/{unit}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "/dev/null"
            archive.addfile(entry)
        if config_dir:
            entry = tarfile.TarInfo(config_dir.lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
    return base64.b64encode(data.getvalue()).decode()


def self_signed(node: str) -> tuple[str, str]:
    """A serving certificate and its key as PEM, as a kubelet makes itself one when it has none."""
    private_key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{node}@lab")])
    today = datetime.now(UTC)
    addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "10.0.2.15")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))  # the guest's clock may be behind
        .not_valid_after(today + timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(node), *addresses]), critical=False)
        .sign(private_key, hashes.SHA256())
    )
    key = private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), key.decode()
