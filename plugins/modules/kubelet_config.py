#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: kubelet_config
short_description: Keys of a kubelet's configuration
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Finds how the kubelet of this node gets its configuration (its command line, its unit, the unit's environment
    files), and sets keys of it without touching any other.
  - Where the kubelet reads a drop-in directory (Kubernetes 1.30 and newer), the keys get a file of their own there. If
    it could, but is not told to, the directory is added where this set-up takes further flags. Otherwise the keys are
    merged into the file that the kubelet reads; comments and everything else in it stay as they are.
  - Refuses settings that would not come into force, since a flag or a later file wins over them, and those that this
    kubelet would not start with.
  - Knows kubelets that kubeadm, kubespray, k3s or RKE2 set up, and those that run as a service of their own.
  - What the kubelet runs with is a question for C(/configz), see M(virt.hostprep.pool_sync).
extends_documentation_fragment:
  - virt.hostprep.attributes
options:
  settings:
    description:
      - Keys of C(KubeletConfiguration) and their values, nested as there. Checked against what this release knows.
      - With O(state=absent), the keys to take out of what was set by this module with the same O(order).
      - V(auto) as C(memorySwap.swapBehavior) is V(LimitedSwap) where this release grants swap, else it is left unset.
    type: dict
    required: true
  state:
    description:
      - V(absent) takes the settings back. It is refused as long as swap is on that the kubelet would not tolerate then.
    type: str
    choices: [present, absent]
    default: present
  order:
    description: Number in front of the drop-in's name, C(NN-hostprep.conf), from 10 to 99. Later files win.
    type: int
    default: 90
  accept_rewrite:
    description:
      - Consent to write into a file that kubeadm or kubespray write anew at their next run.
      - Give it when the same settings stand where that tool takes them from. The error says where.
    type: bool
    default: false
  restart:
    description:
      - Restart the kubelet if it does not run what its files say, and wait until it is healthy. Also if swap was turned
        on since it started, for it counts swap only then.
      - A kubelet that does not come back gets its files back as they were, and the module fails with the kubelet's own
        last words.
      - Without it, RV(kubelet.restart_required) says whether a restart is needed.
    type: bool
    default: false
  drained:
    description:
      - The node has been drained, so that state files of the CPU and memory manager may go.
      - Needed for changes that RV(kubelet.drain_required) names.
    type: bool
    default: false
  swap_counted:
    description:
      - Bytes of swap that the node reports (C(status.nodeInfo.swap.capacity)). If the host has another amount, and any,
        the kubelet has to be restarted.
    type: int
  node_name:
    description: Name of the node in the cluster, where it is another than the one that its command line tells.
    type: str
    default: ""
seealso:
  - module: virt.hostprep.pool_sync
  - module: virt.hostprep.swap_device
"""

EXAMPLES = r"""
- name: The kubelet tolerates swap, and gives it to burstable pods where its release does so
  virt.hostprep.kubelet_config:
    settings:
      failSwapOn: false
      memorySwap:
        swapBehavior: auto
    restart: true
  become: true

- name: Only ask what this would take
  virt.hostprep.kubelet_config:
    settings:
      cpuManagerPolicy: static
      reservedSystemCPUs: 0-1
    order: 80
  become: true
  check_mode: true
  register: pinning

- name: Show it
  ansible.builtin.debug:
    msg: "restart: {{ pinning.kubelet.restart_required }}, drain: {{ pinning.kubelet.drain_required }}"

- name: Take the settings back, once no swap is on any more
  virt.hostprep.kubelet_config:
    settings:
      failSwapOn: false
      memorySwap:
        swapBehavior: auto
    state: absent
    restart: true
  become: true
"""

RETURN = r"""
actions:
  description: What was done, or would be done in check mode, in order. Each with its reason.
  returned: always
  type: list
  elements: dict
  sample:
    - write: /etc/kubernetes/kubelet.conf.d/90-hostprep.conf
      reason: set failSwapOn, memorySwap for the kubelet
    - restart: kubelet.service
      reason: "let the kubelet read its configuration: /etc/kubernetes/kubelet.conf.d/90-hostprep.conf changes"
checks:
  description: The evidence from the kubelet's files. What is wanted, what was found, and where.
  returned: success
  type: list
  elements: dict
  sample:
    - name: kubelet failSwapOn
      wanted: "false"
      found: "false"
      proof: merged from /var/lib/kubelet/config.yaml, /etc/kubernetes/kubelet.conf.d/90-hostprep.conf, flags
      ok: true
      supported: true
problems:
  description: Why nothing was done, each with what was found, what was wanted and the remedy.
  returned: failure
  type: list
  elements: dict
  sample:
    - found: the flag --fail-swap-on=true, which wins over every file
      wanted: "failSwapOn: false"
      remedy: take the flag out of the kubelet's unit or environment file
kubelet:
  description: The kubelet of this node, and what is still to come for it.
  returned: success
  type: dict
  contains:
    distribution:
      description: Who set it up. One of V(kubeadm), V(kubespray), V(k3s), V(rke2), V(bare).
      type: str
      sample: kubeadm
    unit:
      description: The service that runs it.
      type: str
      sample: kubelet.service
    running:
      description: Whether its process was there.
      type: bool
      sample: true
    version:
      description: Its version.
      type: str
      sample: v1.33.4
    node_name:
      description: The name under which it registers its node.
      type: str
      sample: worker-1
    swap_total:
      description: Bytes of swap that the host has now, which the kubelet counts at its next start.
      type: int
      sample: 2147475456
    config_file:
      description: The file of C(--config).
      type: str
      sample: /var/lib/kubelet/config.yaml
    config_dir:
      description: Its drop-in directory, null if it reads none.
      type: str
      sample: /etc/kubernetes/kubelet.conf.d
    drop_ins:
      description: The files in it that the kubelet reads.
      type: list
      elements: str
      sample: [/etc/kubernetes/kubelet.conf.d/90-hostprep.conf]
    written_to:
      description: The file that carries the settings.
      type: str
      sample: /etc/kubernetes/kubelet.conf.d/90-hostprep.conf
    config:
      description: What the kubelet makes of its files and flags, after the change.
      type: dict
      sample:
        failSwapOn: false
        memorySwap:
          swapBehavior: LimitedSwap
    restart_required:
      description: Why a restart is needed that was not done; in check mode, why it would be.
      type: list
      elements: str
      sample: []
    drain_required:
      description: State files that have to go before the restart, with the reason. They need a drained node.
      type: list
      elements: str
      sample: []
"""

from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_config
from ansible_collections.virt.hostprep.plugins.module_utils.subject import run_module


def main() -> None:
    run_module(kubelet_config)


if __name__ == "__main__":
    main()
