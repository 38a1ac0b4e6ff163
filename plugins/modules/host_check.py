#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: host_check
short_description: Compare a host with what is wanted, and change nothing
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Runs the observation and the planning of the other modules in one execution. It never fails for what it finds.
    It returns all problems, everything that would be done, and the evidence for what is there already.
  - The roles V(preflight) and V(verify) stand on it.
extends_documentation_fragment:
  - virt.hostprep.attributes.info
options:
  platform:
    description:
      - What kind of host this is to be. V(auto) takes the one that is found.
    type: str
    choices: [auto, libvirt, kubernetes, openshift]
    default: auto
  kubelet:
    description: >-
      Options of M(virt.hostprep.kubelet_config), checked as there, on hosts with a kubelet. Left out, the kubelet is
      not looked at, and swap under a kubelet is a problem.
    type: dict
  swap:
    description: Options of M(virt.hostprep.swap_device), checked as there. Left out, swap is not looked at.
    type: dict
  sysctl:
    description: >-
      Options of M(virt.hostprep.sysctl_settings), checked as there. Left out, kernel parameters are not looked at.
    type: dict
  slices:
    description: Options of M(virt.hostprep.slice_limits), checked as there, one entry for each slice.
    type: list
    elements: dict
    default: []
seealso:
  - module: virt.hostprep.swap_device
  - module: virt.hostprep.slice_limits
  - module: virt.hostprep.sysctl_settings
"""

EXAMPLES = r"""
- name: Would this host take what we want, and what would happen?
  virt.hostprep.host_check:
    swap:
      select:
        serial: SWAP0001
    slices:
      - name: system.slice
        properties:
          MemorySwapMax: 0
  register: check

- name: Stop here if not
  ansible.builtin.assert:
    that: check.problems | length == 0
    fail_msg: "{{ check.problems }}"
"""

RETURN = r"""
platform:
  description: V(libvirt) or V(kubernetes), as found.
  returned: success
  type: str
  sample: libvirt
system:
  description: Operating system, kernel and systemd.
  returned: success
  type: dict
  sample:
    os: Debian GNU/Linux 13 (trixie)
    kernel: 6.12.48+deb13-amd64
problems:
  description: Why the host could not be prepared. Each with subject, found, wanted and remedy.
  returned: success
  type: list
  elements: dict
  sample: []
warnings_found:
  description: What the modules would warn of.
  returned: success
  type: list
  elements: str
  sample: []
gates:
  description: What an action waits for, brought about by an earlier one. Each with subject, found, wanted and remedy.
  returned: success
  type: list
  elements: dict
  sample: []
actions:
  description: What would be done, in order. Each with its subject and reason.
  returned: success
  type: list
  elements: dict
  sample:
    - subject: swap
      command: [swapoff, /dev/nvme0n1]
      reason: turn off the swap on SWAP0001 to remove it
changes:
  description: The same in words, before and after, as in the diff of the modules.
  returned: success
  type: list
  elements: dict
  sample:
    - subject: swap
      before: ["/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SWAP0001_1: empty"]
      after: ["/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SWAP0001_1: swap, priority 100"]
checks:
  description: The evidence. What is wanted, what the running system says, and where it says so.
  returned: success
  type: list
  elements: dict
  sample:
    - subject: swap
      name: swap on SWAP0001
      wanted: active, priority 100
      found: active, priority 100
      proof: /proc/swaps
      ok: true
      supported: true
devices:
  description: All block devices as M(virt.hostprep.block_device_info) returns them.
  returned: success, if they could be read
  type: list
  elements: dict
  sample: []
numa:
  description: The topology as M(virt.hostprep.numa_info) returns it.
  returned: success
  type: dict
  sample: {}
kubelet:
  description: The kubelet as M(virt.hostprep.kubelet_config) returns it.
  returned: success, if the host has a kubelet and it was asked for
  type: dict
  sample: {}
swap:
  description: Our swap and that of others as M(virt.hostprep.swap_device) returns it.
  returned: success, if swap was asked for and could be read
  type: dict
  sample: {}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.virt.hostprep.plugins.module_utils import check
from ansible_collections.virt.hostprep.plugins.module_utils.subject import make_host


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "platform": {
                "type": "str",
                "choices": ["auto", "libvirt", "kubernetes", "openshift"],
                "default": "auto",
            },
            "kubelet": {"type": "dict"},
            "swap": {"type": "dict"},
            "sysctl": {"type": "dict"},
            "slices": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, **check.check(make_host(module), module.params))


if __name__ == "__main__":
    main()
