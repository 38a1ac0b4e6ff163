#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_sync
short_description: Wait until every node of a Kubernetes pool runs what is wanted
version_added: 1.0.0
author:
  - virt.hostprep authors (@virt-hostprep)
description:
  - Waits until every node of the pool is Ready and alive, its I(running) kubelet shows the wanted keys in C(/configz),
    and it reports at least the wanted swap. What a file says is not asked.
  - Watches nodes and their leases instead of polling, prints a line when something moves, and survives restarts of the
    API server.
  - A node that is cordoned may be in sync. A node whose kubelet has died is not, even while it still says Ready.
  - Fails at once for what waiting does not heal, which is a node that leaves the pool, a kubelet that is too old or
    does not know a wanted key, credentials that are refused, or a missing permission.
  - Runs on the controller and opens no connection to the host. The Python library C(kubernetes) is needed there.
  - The user of the kubeconfig needs the verbs C(list) and C(watch) of C(nodes), C(get) of C(nodes/proxy), and
    should have C(list) and C(watch) of C(leases) in the namespace C(kube-node-lease). Where C(nodes/proxy) is refused,
    each kubelet is asked itself, for which C(get) of C(nodes/configz) or C(nodes/proxy) is needed, and a certificate
    of the kubelet that the CA of the kubeconfig has signed; credentials are sent to nobody else.
extends_documentation_fragment:
  - virt.hostprep.attributes.info
attributes:
  action:
    support: full
    description: Runs as an action plugin on the controller.
  async:
    support: none
    description: It prints its progress while it waits.
  check_mode:
    support: full
    description: Looks once, says what it would wait for, and does not fail for that.
  platform:
    support: full
    platforms: posix
    description: The controller. Nothing runs on the host.
options:
  kubeconfig:
    description: Path of the kubeconfig on the controller. Left out, it is found as C(kubectl) finds it.
    type: path
  context:
    description: Context of the kubeconfig. Left out, its current one.
    type: str
  nodes:
    description: The nodes of the pool, by name. Either this or O(label_selector) is required.
    type: list
    elements: str
  label_selector:
    description:
      - Selects the nodes of the pool by their labels. A node that joins the pool while this waits has to be in sync,
        too.
    type: str
  kubelet:
    description:
      - Keys of the KubeletConfiguration with the values that C(/configz) has to show. Keys that are not named may have
        any value, also in nested maps. Lists have to be equal.
      - Durations and quantities are compared by what they mean, so that V(60s) is V(1m0s).
    type: dict
    default: {}
  swap_capacity:
    description:
      - Swap that a node has to report at least, in bytes or such as V(8G), by the name of the node.
      - Kubelets before Kubernetes 1.33 report none. That is said in RV(nodes) and is no failure.
    type: dict
    default: {}
  timeout:
    description: Seconds to wait. With V(0) it looks once, and fails at once if the pool is not in sync.
    type: int
    default: 600
seealso:
  - module: virt.hostprep.kubelet_config
  - module: virt.hostprep.swap_device
"""

EXAMPLES = r"""
- name: No swap before every kubelet tolerates it
  virt.hostprep.pool_sync:
    label_selector: node-role.kubernetes.io/worker
    kubelet:
      failSwapOn: false
      memorySwap:
        swapBehavior: LimitedSwap
  run_once: true

- name: Do these two nodes report their swap by now?
  virt.hostprep.pool_sync:
    kubeconfig: ~/.kube/lab
    nodes: [node-1, node-2]
    swap_capacity:
      node-1: 64G
      node-2: 64G
    timeout: 0
  run_once: true
"""

RETURN = r"""
nodes:
  description: The evidence, by the name of the node. Empty if it failed before it saw any.
  returned: always
  type: dict
  sample:
    node-1:
      ready: true
      unschedulable: false
      kubelet_version: v1.33.1
      kubelet_config:
        failSwapOn: false
      swap_capacity: 68719472640
      source: proxy
      seconds: 12.4
      waiting_for: []
      notes: []
    node-2:
      ready: true
      unschedulable: false
      kubelet_version: v1.32.5
      kubelet_config:
        failSwapOn: true
      swap_capacity:
      source: node
      seconds: 600.0
      waiting_for:
        - "failSwapOn: wanted false, found true"
      notes:
        - "swap capacity: not reported by this release (v1.32.5)"
  contains:
    ready:
      description: The Ready condition is True, and the kubelet has renewed its Lease in time.
      type: bool
    unschedulable:
      description: The node is cordoned.
      type: bool
    kubelet_version:
      description: The version of its kubelet; null if it has not reported one yet.
      type: str
    kubelet_config:
      description: The wanted keys as C(/configz) shows them; null if it could not be read.
      type: dict
    swap_capacity:
      description: Bytes of swap that the node reports; null where its release reports none.
      type: int
    source:
      description: V(proxy) if C(/configz) was read through the API server, V(node) from the kubelet's own port.
      type: str
    seconds:
      description: Seconds until the node was in sync, or those waited in vain.
      type: float
    waiting_for:
      description: What is not as wanted. Empty for a node that is in sync.
      type: list
      elements: str
    notes:
      description: What could not be judged, and why.
      type: list
      elements: str
waited:
  description: Seconds that it took.
  returned: always
  type: float
  sample: 132.1
problems:
  description: Why it failed. Each with found, wanted and remedy.
  returned: failure
  type: list
  elements: dict
  sample:
    - found: >-
        after 10m0s 1 of 2 nodes are not in sync; node-2: failSwapOn: wanted false, found true
      wanted: every node of the pool Ready, and its running kubelet with the wanted configuration
      remedy: >-
        'kubectl describe node' and 'journalctl -u kubelet' of these nodes say why; then run again
"""
