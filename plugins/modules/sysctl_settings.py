#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: sysctl_settings
short_description: Kernel parameters, in one file and live
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Looks at the running kernel and at the file separately. The kernel has to take a value before it is made persistent.
  - Refuses when a file that is read later sets another value, since the setting would be gone after the next boot.
  - Leaves out parameters that the kernel does not have.
extends_documentation_fragment:
  - virt.hostprep.attributes
options:
  file:
    description: Name of the file in C(/etc/sysctl.d). It belongs to this module alone.
    type: str
    required: true
  state:
    description: V(absent) removes the file; running values stay until the next boot.
    type: str
    choices: [present, absent]
    default: present
  settings:
    description: Values by parameter. A parameter that this kernel does not have is left out, with a warning.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Swap in single pages, as suits NVMe
  virt.hostprep.sysctl_settings:
    file: 90-hostprep-swap.conf
    settings:
      vm.page-cluster: 0
      vm.swappiness: 60
"""

RETURN = r"""
actions:
  description: What was done, or in check mode would be done, in order and each with its reason.
  returned: always
  type: list
  elements: dict
  sample:
    - kernel: /proc/sys/vm/page-cluster
      value: "0"
      reason: set vm.page-cluster now
    - write: /etc/sysctl.d/90-hostprep-swap.conf
      reason: keep the settings over reboots
checks:
  description: The evidence. What is wanted, what the running system says, and where it says so.
  returned: success
  type: list
  elements: dict
  sample:
    - name: vm.page-cluster
      wanted: "0"
      found: "0"
      proof: /proc/sys/vm/page-cluster
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
sysctl:
  description: The file, and the running values after the change; null for a parameter that the kernel does not have.
  returned: success
  type: dict
  sample:
    file: /etc/sysctl.d/90-hostprep-swap.conf
    live:
      vm.page-cluster: "0"
"""

from ansible_collections.virt.hostprep.plugins.module_utils import sysctl
from ansible_collections.virt.hostprep.plugins.module_utils.subject import run_module


def main() -> None:
    run_module(sysctl)


if __name__ == "__main__":
    main()
