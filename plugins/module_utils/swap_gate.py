# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be true of a kubelet before swap is turned on under it. Pure, but for observe."""

from __future__ import annotations

import typing as t

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet, kubelet_files, releases
from ansible_collections.virt.hostprep.plugins.module_utils.host import Host
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem

_HARM = (
    "a kubelet with failSwapOn true exits at its next start while swap is on, and the node never becomes Ready again"
)
_REMEDY = (
    "run the role kubelet_swap and wait for the pool first (site.yml does both); on a node that is prepared, set "
    "hostprep_platform to kubernetes, so that the role nvme_swap asks the kubelet"
)


def observe(host: Host) -> dict[str, t.Any]:
    """`kubelet`: what recognises it, None on a host without one. `on_disk`: failSwapOn at its next start, if known."""
    found = kubelet.find(host)
    if found is None:
        return {"kubelet": None, "on_disk": None}
    return {"kubelet": found, "on_disk": _on_disk(host)}


def gates(observed: dict[str, t.Any], live: dict[str, t.Any] | None) -> list[Problem]:
    """live: the configuration that the running kubelet itself reports (/configz), as pool_sync returns it."""
    if observed["kubelet"] is None:
        return []
    if live is None:
        return [
            Problem(
                found=f"a kubelet on this host ({observed['kubelet']}), and no word of what it runs with; {_HARM}",
                wanted="failSwapOn: false from the running kubelet (/configz): being told so by a file is not enough",
                remedy=f"{_REMEDY}; a task of its own passes kubelet_config as virt.hostprep.pool_sync returns it",
            )
        ]
    says = live.get("failSwapOn", True)
    if says is not False:
        return [
            Problem(
                found=f"the running kubelet says failSwapOn: {kubelet_files.show(says)}; {_HARM}",
                wanted="failSwapOn: false in /configz",
                remedy=_REMEDY,
            )
        ]
    if observed["on_disk"] is True:
        return [
            Problem(
                found=f"the running kubelet tolerates swap, but its files say failSwapOn: true again; {_HARM}",
                wanted="failSwapOn: false in the files, too, for its next start",
                remedy=_REMEDY,
            )
        ]
    return []


def _on_disk(host: Host) -> bool | None:
    """None where it cannot be told: k3s and RKE2 hand their kubelet flags that nobody sees, and tolerate swap."""
    try:
        found = host.once("kubelet", kubelet.observe)
        if found is None or found.distribution in ("k3s", "rke2"):
            return None
        config_dir = releases.kubernetes(releases.parse(found.version)).config_dir
        return kubelet_files.effective(found, config_dir).get("failSwapOn", True) is not False
    except HostprepError:
        return None
