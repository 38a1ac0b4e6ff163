#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: slice_limits
short_description: Resource limits of a systemd slice, proven in cgroupfs
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Writes one drop-in for the slice, lets systemd apply it, and reads the cgroup files to see whether the kernel
    has it.
  - Refuses when a drop-in that is read later would take a limit back.
extends_documentation_fragment:
  - virt.hostprep.attributes
options:
  name:
    description: The slice, such as V(system.slice).
    type: str
    required: true
  state:
    description: Whether our drop-in is there. V(absent) removes it and lifts its limits.
    type: str
    choices: [present, absent]
    default: present
  properties:
    description:
      - Resource-control properties by their systemd names, V(CPUWeight), V(IOWeight), V(MemoryHigh), V(MemoryLow),
        V(MemoryMax), V(MemoryMin), V(MemorySwapMax), V(MemoryZSwapMax) and V(TasksMax).
      - Sizes may be written as V(8G), V(8GiB) or V(8192M); V(infinity) lifts a limit.
    type: dict
    default: {}
  latency_targets:
    description:
      - I/O latency targets (C(IODeviceLatencyTargetSec)). A path is resolved to the physical disks below it.
      - Kernels without C(CONFIG_BLK_CGROUP_IOLATENCY) enforce nothing; the result then says so.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: A mount point such as V(/), or a device.
        type: path
        required: true
      target:
        description: The target with its unit, such as V(5ms).
        type: str
        required: true
  latency_fallback:
    description:
      - What to do on kernels without C(io.latency). V(weight) gives the slice an C(IOWeight), 800 unless
        O(properties) says otherwise, and enables C(io.cost) for the disks, now and at boot.
      - Nothing is done where the kernel has C(io.latency), or has no C(io.cost) either.
    type: str
    choices: [none, weight]
    default: none
"""

EXAMPLES = r"""
- name: The system itself never swaps, and its disks answer quickly
  virt.hostprep.slice_limits:
    name: system.slice
    properties:
      MemorySwapMax: 0
      CPUWeight: 800
    latency_targets:
      - path: /
        target: 5ms

- name: Lift the limits
  virt.hostprep.slice_limits:
    name: system.slice
    state: absent
"""

RETURN = r"""
actions:
  description: What was done, or in check mode would be done, in order and each with its reason.
  returned: always
  type: list
  elements: dict
  sample:
    - write: /etc/systemd/system/system.slice.d/90-hostprep.conf
      reason: limit system.slice
    - command: [systemctl, daemon-reload]
      reason: let systemd apply the limits
checks:
  description: The evidence. What is wanted, what the running system says, and where it says so.
  returned: success
  type: list
  elements: dict
  sample:
    - name: MemorySwapMax of system.slice
      wanted: 0 B
      found: 0 B
      proof: /sys/fs/cgroup/system.slice/memory.swap.max
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
slice:
  description: What the kernel says about the slice, after the change.
  returned: success
  type: dict
  sample:
    name: system.slice
    cgroup: /sys/fs/cgroup/system.slice
    values:
      CPUWeight: "800"
      MemorySwapMax: "0"
    io_latency: []
    io_latency_supported: false
    drop_ins:
      - /etc/systemd/system/system.slice.d/90-hostprep.conf
"""

from ansible_collections.virt.hostprep.plugins.module_utils import slices
from ansible_collections.virt.hostprep.plugins.module_utils.subject import run_module


def main() -> None:
    run_module(slices)


if __name__ == "__main__":
    main()
