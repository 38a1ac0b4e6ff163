#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: block_device_info
short_description: Every block device, and whether it may become swap
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Reads sysfs, lsblk, blkid, wipefs, the mount table and the devices themselves, and changes nothing.
  - Each device comes with a verdict. It is V(usable) only if it is provably empty and unused, V(ours) if it carries
    swap of ours, and V(refused) otherwise, with every reason.
  - Needs root and util-linux.
extends_documentation_fragment:
  - virt.hostprep.attributes.info
options:
  root:
    description: Root of the host to read. Anything but V(/) is a recording, see C(docs/recordings.md).
    type: path
    default: /
  label:
    description: Label by which swap is taken for ours.
    type: str
    default: hostprep
seealso:
  - module: virt.hostprep.swap_device
"""

EXAMPLES = r"""
- name: Look at the disks
  virt.hostprep.block_device_info:
  register: disks

- name: Show what may become swap
  ansible.builtin.debug:
    msg: "{{ disks.devices | selectattr('verdict', 'equalto', 'usable') | map(attribute='stable_name') }}"
"""

RETURN = r"""
devices:
  description: The devices, by kernel name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Kernel name, good for this boot only.
      type: str
      sample: nvme0n1
    stable_name:
      description: The name to use in variables and files.
      type: str
      sample: /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SWAP0001_1
    path:
      description: Device node.
      type: str
      sample: /dev/nvme0n1
    number:
      description: Major and minor number.
      type: str
      sample: "259:0"
    type:
      description: V(disk), V(part), or what lsblk calls it.
      type: str
      sample: disk
    parent:
      description: The disk of a partition, else null.
      type: str
      sample: null
    virtual:
      description: Whether no hardware of its own stands behind it (zvol, network, RAM or stacked device).
      type: bool
      sample: false
    size:
      description: Bytes.
      type: int
      sample: 1073741824
    read_only:
      description: Whether the kernel refuses writes.
      type: bool
      sample: false
    removable:
      description: Whether the medium can be taken out.
      type: bool
      sample: false
    rotational:
      description: Whether it is a spinning disk.
      type: bool
      sample: false
    zoned:
      description: Whether it takes sequential writes only.
      type: bool
      sample: false
    state:
      description: State of its controller, null where there is none.
      type: str
      sample: live
    transport:
      description: How it is attached; V(nvme) is local, V(nvme-tcp) and the like are not.
      type: str
      sample: nvme
    model:
      description: Model.
      type: str
      sample: QEMU NVMe Ctrl
    serial:
      description: Serial number; a partition has that of its disk.
      type: str
      sample: SWAP0001
    wwid:
      description: World-wide id.
      type: str
      sample: nvme.1b36-5357415030303031-51454d55204e564d65204374726c-00000001
    numa_node:
      description: NUMA node, null if the kernel does not know.
      type: int
      sample: 0
    partition_table:
      description: Kind of partition table, null if there is none.
      type: str
      sample: null
    partlabel:
      description: GPT name of a partition.
      type: str
      sample: null
    partuuid:
      description: GPT id of a partition.
      type: str
      sample: null
    partitions:
      description: Kernel names of its partitions.
      type: list
      elements: str
      sample: []
    holders:
      description: Devices that lie on it.
      type: list
      elements: str
      sample: []
    slaves:
      description: Devices that it lies on.
      type: list
      elements: str
      sample: []
    links:
      description: Its names in C(/dev/disk) by kind.
      type: dict
      sample:
        by_id: [nvme-QEMU_NVMe_Ctrl_SWAP0001_1]
    mounts:
      description: Where it is mounted.
      type: list
      elements: str
      sample: []
    swap:
      description: Its line in C(/proc/swaps), null if it is not active swap.
      type: dict
      sample: null
    signatures:
      description: What libblkid finds on it, at the start and at the end.
      type: list
      elements: dict
      sample: []
    held:
      description: Whether somebody has it opened exclusively, null if that could not be tried.
      type: bool
      sample: false
    content:
      description: V(zero), V(data) or V(unreadable), by samples; null where that was not looked at.
      type: str
      sample: zero
    verdict:
      description: V(usable), V(ours) or V(refused).
      type: str
      sample: usable
    reasons:
      description: Why it is refused, all of it.
      type: list
      elements: str
      sample: []
    wipeable:
      description: Whether the consent of O(virt.hostprep.swap_device#module:wipe) would be enough.
      type: bool
      sample: false
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.virt.hostprep.plugins.module_utils import block, units
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.plugins.module_utils.subject import make_host
from ansible_collections.virt.hostprep.plugins.module_utils.verdict import judge_all


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "label": {"type": "str", "default": "hostprep"},
        },
        supports_check_mode=True,
    )
    host = make_host(module, module.params["root"])
    try:
        devices = block.observe(host)
    except HostprepError as error:
        module.fail_json(msg=str(error), problems=[problem.as_dict() for problem in error.problems])
    recorded = units.read_own_swap_units(host)
    module.exit_json(changed=False, devices=judge_all(devices, module.params["label"], recorded))


if __name__ == "__main__":
    main()
