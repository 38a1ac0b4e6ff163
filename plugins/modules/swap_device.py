#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: swap_device
short_description: Dedicated swap on whole devices or partitions
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Finds the devices, refuses whatever is not provably empty or provably ours, formats, makes the swap persistent
    by a systemd unit that names the area by its UUID, and turns it on.
  - The UUID is derived from the identity of the device. A local disk that comes back blank gets its area back.
  - A failing or missing device never blocks the boot.
  - Needs root, systemd and util-linux on the host, and nothing else.
extends_documentation_fragment:
  - virt.hostprep.attributes
options:
  select:
    description:
      - Which devices. All given criteria have to hold.
      - The options O(select.by_id), O(select.wwid), O(select.serial), O(select.by_path) and O(select.partlabel)
        name devices. Each name has to be there, and its device has to be empty or ours.
      - The other criteria are patterns. They pass over devices that are refused.
      - Required with O(state=present). With O(state=absent) and no selector, all areas that are ours are meant.
    type: dict
    default: {}
    suboptions:
      by_id:
        description: Links in C(/dev/disk/by-id), with or without that directory. May name partitions.
        type: list
        elements: str
      wwid:
        description: World-wide ids of whole disks, as in C(/sys/block/*/wwid).
        type: list
        elements: str
      serial:
        description: Serial numbers of whole disks.
        type: list
        elements: str
      by_path:
        description: Links in C(/dev/disk/by-path), with or without that directory. May name partitions.
        type: list
        elements: str
      partlabel:
        description: GPT names of partitions.
        type: list
        elements: str
      model:
        description: Shell pattern for the model.
        type: str
      min_size:
        description: Smallest size, such as V(8G), V(8GiB) or V(8192M); powers of 1024.
        type: str
      max_size:
        description: Largest size.
        type: str
      numa_node:
        description: NUMA node that the device is local to.
        type: int
      transport:
        description: How the device is attached. Network and USB devices never become swap.
        type: str
        choices: [nvme, sata, sas, virtio]
  count:
    description:
      - How many devices O(select) has to match. More or fewer are an error that lists them; the first is never picked.
      - By default as many as O(select) names, or one. Not used with O(state=absent).
    type: int
  state:
    description:
      - V(present) formats what is empty, makes the swap persistent and turns it on.
      - V(absent) turns off exactly this swap and removes exactly its unit.
        The area itself stays on the device, unless O(wipe=true).
    type: str
    choices: [present, absent]
    default: present
  priority:
    description: Priority from 0 to 32767, higher is used first. Areas of equal priority are striped.
    type: int
    default: 100
  discard:
    description: Whether freed pages are discarded, and when, as in swapon(8).
    type: str
    choices: [none, once, pages]
    default: none
  label:
    description: Label of the areas, at most 15 bytes. Swap with this label is taken for ours.
    type: str
    default: hostprep
  wipe:
    description:
      - Consent to destroy what is on the selected devices.
        Counts only where O(select) names them by serial, wwid or by_id.
      - A device that is mounted, held or otherwise in use is refused even so.
    type: bool
    default: false
  kubelet_config:
    description:
      - What the running kubelet of this host says about itself (C(/configz)), as M(virt.hostprep.pool_sync) returns it.
      - Needed on a host with a kubelet to turn swap on. It has to say C(failSwapOn=false), and the kubelet's files have
        to say the same for its next start.
    type: dict
seealso:
  - module: virt.hostprep.kubelet_config
  - module: virt.hostprep.pool_sync
  - module: virt.hostprep.block_device_info
"""

EXAMPLES = r"""
- name: Two NVMe devices as striped swap
  virt.hostprep.swap_device:
    select:
      serial: [SWAP0001, SWAP0002]
    priority: 100

- name: The one empty NVMe device of at least 100 GiB on NUMA node 1
  virt.hostprep.swap_device:
    select:
      transport: nvme
      min_size: 100G
      numa_node: 1
    discard: once

- name: Turn off and forget the swap on one device
  virt.hostprep.swap_device:
    select:
      serial: SWAP0002
    state: absent
"""

RETURN = r"""
actions:
  description: What was done, or in check mode would be done, in order and each with its reason.
  returned: always
  type: list
  elements: dict
  sample:
    - command: [mkswap, --label, hostprep, --uuid, 1c7f3a52-59a1-5b0e-8a0c-d7a3b6a0f2c4, /dev/nvme0n1]
      reason: format SWAP0001
    - write: /etc/systemd/system/dev-disk-by\x2duuid-1c7f3a52\x2d59a1\x2d5b0e\x2d8a0c\x2dd7a3b6a0f2c4.swap
      reason: make the swap persistent (SWAP0001)
checks:
  description: The evidence. What is wanted, what the running system says, and where it says so.
  returned: success
  type: list
  elements: dict
  sample:
    - name: swap on SWAP0001
      wanted: active, priority 100
      found: active, priority 100
      proof: /proc/swaps
      ok: true
      supported: true
problems:
  description: Why nothing was done, each with what was found, what was wanted and the remedy.
  returned: failure
  type: list
  elements: dict
  sample:
    - found: no device with serial 'SWAP0009'
      wanted: one device with serial 'SWAP0009'
      remedy: correct the name
swap:
  description: Our areas and those of others, after the change. Sizes in bytes.
  returned: success
  type: dict
  contains:
    areas:
      description: Areas that are ours, active or not.
      type: list
      elements: dict
      sample:
        - device: /dev/nvme0n1
          stable_name: /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SWAP0001_1
          serial: SWAP0001
          numa_node: 0
          size: 1073741824
          uuid: 1c7f3a52-59a1-5b0e-8a0c-d7a3b6a0f2c4
          label: hostprep
          unit: dev-disk-by\x2duuid-1c7f3a52\x2d59a1\x2d5b0e\x2d8a0c\x2dd7a3b6a0f2c4.swap
          active: true
          priority: 100
          used: 0
    other_active:
      description: Active swap of other owners, left alone.
      type: list
      elements: dict
      sample: []
    declared_elsewhere:
      description: Swap that fstab, GPT auto-discovery or another unit declares.
      type: list
      elements: dict
      sample:
        - where: /etc/fstab:3
          what: /swap.img
          device: ""
          priority: null
          discard: none
"""

from ansible_collections.virt.hostprep.plugins.module_utils import swap
from ansible_collections.virt.hostprep.plugins.module_utils.subject import run_module


def main() -> None:
    run_module(swap)


if __name__ == "__main__":
    main()
