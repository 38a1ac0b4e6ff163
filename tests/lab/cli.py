"""The command line: ``lab up dev``, ``lab run dev -- lsblk``, …"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from lab import cluster, disks, inventory, vm
from lab.config import DEFAULT_MEMORY, ROOTS
from lab.errors import LabError
from lab.image import RECIPES
from lab.kubelet.install import LAYOUTS
from lab.progress import step
from lab.vm import Lab

_NAME = "NAME"


def up(args: argparse.Namespace) -> int:
    """Make and boot a lab; boot it if it is stopped; leave it alone if it is running."""
    Lab.up(args.name, args.image, args.disk, args.root, args.memory, args.forward)
    return 0


def down(args: argparse.Namespace) -> int:
    """End labs and remove their folders; --keep only shuts them down. A lab that does not exist is down already."""
    for name in args.name:
        if Lab.exists(name):
            Lab.load(name).down(keep=args.keep)
        else:
            step(f"there is no lab {name}")
    return 0


def list_labs(args: argparse.Namespace) -> int:
    """Show all labs."""
    rows: list[dict[str, Any]] = [
        {
            "name": lab.config.name,
            "state": "running" if lab.running else "stopped",
            "image": lab.config.image,
            "accel": lab.config.accel,
            "root": lab.config.root,
            "port": lab.config.port,
            "forwards": lab.forwards,
            "disks": [disk.serial for disk in lab.config.disks],
        }
        for lab in vm.all_labs()
    ]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    layout = "{name:<16} {state:<8} {image:<10} {accel:<5} {root:<7} {port:<6} {disks}"
    print(layout.format(**{key: key.upper() for key in ("name", "state", "image", "accel", "root", "port", "disks")}))
    for row in rows:
        print(layout.format(**{**row, "disks": " ".join(row["disks"])}))
    return 0


def ssh(args: argparse.Namespace) -> int:
    """Log in, or run a command line of the remote shell."""
    lab = _running(args.name)
    return subprocess.run(
        [*lab.connection.argv(*(["-t"] if sys.stdin.isatty() else [])), *args.command], check=False
    ).returncode


def run(args: argparse.Namespace) -> int:
    """Run a command, its words passed exactly; output and exit code are the command's own."""
    lab = _running(args.name)
    return subprocess.run([*lab.connection.argv("-T"), shlex.join(args.command)], check=False).returncode


def reboot(args: argparse.Namespace) -> int:
    """Ask the guest to reboot; wait until another boot has settled."""
    Lab.load(args.name).reboot()
    return 0


def cut(args: argparse.Namespace) -> int:
    """Power loss: kill QEMU, then boot again; --off leaves it off."""
    Lab.load(args.name).cut(off=args.off)
    return 0


def renumber(args: argparse.Namespace) -> int:
    """Shut down, boot with the NVMe disks in another order, print the new kernel names as JSON."""
    print(json.dumps(Lab.load(args.name).renumber(args.serial or None), indent=2))
    return 0


def snapshot(args: argparse.Namespace) -> int:
    """Keep a copy of all disks under a tag."""
    Lab.load(args.name).snapshot(args.tag)
    return 0


def restore(args: argparse.Namespace) -> int:
    """Cut the power, put the disks of a snapshot back, boot."""
    Lab.load(args.name).restore(args.tag)
    return 0


def attach(args: argparse.Namespace) -> int:
    """Plug a disk in while the guest runs (PCIe hot-plug)."""
    Lab.load(args.name).attach(args.disk, wait=not args.no_wait)
    return 0


def detach(args: argparse.Namespace) -> int:
    """Unplug a disk; its content is kept for a later attach."""
    Lab.load(args.name).detach(args.serial)
    return 0


def hash_disks(args: argparse.Namespace) -> int:
    """Print the sha256 of whole data disks, read from outside, as JSON."""
    print(json.dumps(Lab.load(args.name).hash(args.serial or None), indent=2))
    return 0


def print_inventory(args: argparse.Namespace) -> int:
    """Print an Ansible inventory."""
    hosts = {name: Lab.load(name).inventory() for name in args.name}
    sys.stdout.write(inventory.render(hosts, args.format))
    return 0


def cluster_up(args: argparse.Namespace) -> int:
    """Make and start a cluster of lab hosts with kubelet stand-ins; leave alone what is running."""
    cluster.Cluster.up(args.name, args.nodes, args.layout, args.release, args.image)
    return 0


def cluster_down(args: argparse.Namespace) -> int:
    """End a cluster with its hosts. One that does not exist is down already."""
    if cluster.Cluster.exists(args.name):
        cluster.Cluster.load(args.name).down()
    else:
        step(f"there is no cluster {args.name}")
    return 0


def cluster_kubeconfig(args: argparse.Namespace) -> int:
    """Print the path of the administrator's kubeconfig."""
    print(cluster.Cluster.load(args.name).kubeconfig)
    return 0


def cluster_inventory(args: argparse.Namespace) -> int:
    """Print an Ansible inventory of the cluster's hosts."""
    sys.stdout.write(inventory.render(cluster.Cluster.load(args.name).inventory(), args.format))
    return 0


def console(args: argparse.Namespace) -> int:
    """Print the end of the serial console's log."""
    print(Lab.load(args.name).console(args.lines))
    return 0


def _running(name: str) -> Lab:
    lab = Lab.load(name)
    if not lab.running:
        raise LabError(f"lab {name} is not running; boot it with: lab up {name}")
    return lab


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="lab",
        description="Real virtual machines under QEMU, with NVMe disks and two NUMA nodes.",
        epilog="State is kept under LAB_HOME (default ~/.cache/hostprep-lab). Also read: LAB_IMAGE, LAB_MIRROR, "
        "LAB_ACCEL (kvm or tcg), LAB_BOOT_TIMEOUT (seconds).",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=act.__doc__, description=act.__doc__)
        command.set_defaults(act=act)
        return command

    command = add("up", up)
    command.add_argument("name", metavar=_NAME)
    command.add_argument(
        "--image",
        help=f"{', '.join(RECIPES)}, or a disk image's path or URL (default: LAB_IMAGE, else {vm.DEFAULT_IMAGE})",
    )
    command.add_argument("--root", choices=ROOTS, help=f"bus of the root disk (default {ROOTS[0]})")
    command.add_argument("--memory", type=int, metavar="MIB", help=f"default {DEFAULT_MEMORY}")
    command.add_argument(
        "--disk",
        action="append",
        metavar="SERIAL:SIZE[:numa=N][:content=blank|ext4|gpt]",
        help=f"an NVMe disk, may be given several times (default: {', '.join(disks.DEFAULT)})",
    )
    command.add_argument(
        "--forward",
        action="append",
        type=int,
        metavar="PORT",
        help="a TCP port of the guest to reach from here, may be given several times; `list --json` shows where",
    )
    command = add("down", down)
    command.add_argument("name", metavar=_NAME, nargs="+")
    command.add_argument("--keep", action="store_true", help="keep the lab's disks; `lab up` boots it again")
    command = add("list", list_labs)
    command.add_argument("--json", action="store_true")
    command = add("ssh", ssh)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER)
    command = add("run", run)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("command", metavar="-- COMMAND", nargs="+")
    add("reboot", reboot).add_argument("name", metavar=_NAME)
    command = add("cut", cut)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("--off", action="store_true", help="do not boot again")
    command = add("renumber", renumber)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("serial", metavar="SERIAL", nargs="*", help="all disks in the new order (default: reversed)")
    for name, act in (("snapshot", snapshot), ("restore", restore)):
        command = add(name, act)
        command.add_argument("name", metavar=_NAME)
        command.add_argument("tag", metavar="TAG")
    command = add("attach", attach)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("disk", metavar="SERIAL:SIZE[:numa=N][:content=blank|ext4|gpt]")
    command.add_argument("--no-wait", action="store_true", help="do not wait until the guest sees it")
    command = add("detach", detach)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("serial", metavar="SERIAL")
    command = add("hash", hash_disks)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("serial", metavar="SERIAL", nargs="*", help="default: all data disks")
    command = add("inventory", print_inventory)
    command.add_argument("name", metavar=_NAME, nargs="+")
    command.add_argument("--format", choices=inventory.FORMATS, default=inventory.FORMATS[0])
    command = add("console", console)
    command.add_argument("name", metavar=_NAME)
    command.add_argument("--lines", type=int, default=40)
    _add_cluster(commands.add_parser("cluster", help="several lab hosts as nodes of one Kubernetes cluster"))
    return top


def _add_cluster(parent: argparse.ArgumentParser) -> None:
    commands = parent.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=act.__doc__, description=act.__doc__)
        command.set_defaults(act=act)
        command.add_argument("name", metavar=_NAME, help="of the cluster; its hosts are NAME-1, NAME-2, …")
        return command

    command = add("up", cluster_up)
    command.add_argument("--nodes", type=int, default=2, help="how many (default 2)")
    command.add_argument("--layout", choices=LAYOUTS, default=cluster.DEFAULT_LAYOUT, help="who set the kubelets up")
    command.add_argument("--release", default=cluster.DEFAULT_RELEASE, help=f"default {cluster.DEFAULT_RELEASE}")
    command.add_argument("--image", help="as for `lab up`")
    add("down", cluster_down)
    add("kubeconfig", cluster_kubeconfig)
    command = add("inventory", cluster_inventory)
    command.add_argument("--format", choices=inventory.FORMATS, default=inventory.FORMATS[0])


def main(argv: list[str] | None = None) -> int:
    """Run one command; an error becomes one message and exit code 1."""
    args = parser().parse_args(argv)
    try:
        code: int = args.act(args)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; a lab that was starting goes on; see: lab list", file=sys.stderr)
        return 130
    return code
