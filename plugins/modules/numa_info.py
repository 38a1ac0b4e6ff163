#!/usr/bin/python
# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: numa_info
short_description: Read the NUMA nodes, CPUs and device locality of a host
version_added: 1.0.0
description:
  - Reads NUMA nodes with their CPUs, memory, huge pages and distances, the state of every CPU, and the
    place of network, NVMe, display and accelerator devices, from C(/sys) and C(/proc) and nothing else.
  - Copes with node numbers that have gaps, nodes without memory or without CPUs, CPUs that are offline,
    firmware that makes several nodes claim the same CPUs, and machines without NUMA.
  - What the host does not tell, because a file is missing, unreadable or damaged, is null, or empty for a
    list or dictionary.
author:
  - virt.hostprep authors (@virt-hostprep)
options:
  root:
    description:
      - Folder that takes the place of C(/) on the host. With another value than the default, a recorded
        machine is read from the files below C(ROOT/sys) and C(ROOT/proc).
      - No link is followed out of this folder.
    type: path
    default: /
extends_documentation_fragment:
  - virt.hostprep.attributes.info
seealso:
  - module: virt.hostprep.block_device_info
"""

EXAMPLES = r"""
- name: Read the topology
  virt.hostprep.numa_info:
  register: topology

- name: Show which nodes have memory
  ansible.builtin.debug:
    msg: "{{ topology.numa.nodes | selectattr('has_memory') | map(attribute='id') | join(', ') }}"

- name: Require an NVMe controller that is local to node 1
  ansible.builtin.assert:
    that: >-
      topology.numa.devices | selectattr('kind', 'eq', 'nvme') | selectattr('numa_node', 'eq', 1)
      | length > 0

- name: Read a machine that was recorded earlier
  virt.hostprep.numa_info:
    root: /var/tmp/recorded/host7
  register: recorded
"""

RETURN = r"""
numa:
  description:
    - The topology. CPUs and nodes are the kernel's numbers, lists of them are in ascending order, memory is
      in kB.
  returned: success
  type: dict
  contains:
    cpus_total:
      description: Number of CPUs that are present. Null if none is recorded.
      returned: success
      type: int
      sample: 4
    cpus_online:
      description: Number of CPUs that are online. Null if no file tells.
      returned: success
      type: int
      sample: 3
    cpus_offline:
      description: CPUs that are present but not online.
      returned: success
      type: list
      elements: int
      sample: [3]
    cpus_isolated:
      description:
        - CPUs that the scheduler does not balance tasks over.
        - Taken from C(cpu/isolated), otherwise what the kernel makes of C(isolcpus=) on its command line.
          Null if neither is recorded.
      returned: success
      type: list
      elements: int
      sample: [2]
    cpus_nohz_full:
      description:
        - CPUs that run without the periodic tick while they have a single task.
        - Taken from C(cpu/nohz_full), otherwise what the kernel makes of C(nohz_full=) and
          C(isolcpus=nohz,) on its command line. Null if neither is recorded.
      returned: success
      type: list
      elements: int
      sample: [2]
    cpus:
      description: One entry for each CPU that is present, in ascending order.
      returned: success
      type: list
      elements: dict
      sample:
        - {id: 0, online: true, node: 0, package: 0, core: 0, siblings: [0, 2]}
      contains:
        id:
          description: Number of the CPU.
          returned: success
          type: int
          sample: 0
        online:
          description: Whether the CPU is online.
          returned: success
          type: bool
          sample: true
        node:
          description: Node of the CPU. Null if no node claims it, or several do.
          returned: success
          type: int
          sample: 0
        package:
          description: Number of the physical package (socket), null if unknown.
          returned: success
          type: int
          sample: 0
        core:
          description: Number of the core, unique only within its package; null if unknown.
          returned: success
          type: int
          sample: 0
        siblings:
          description: The online CPUs of the same core, this one included.
          returned: success
          type: list
          elements: int
          sample: [0, 2]
    cpu_kinds:
      description:
        - Kinds of cores by speed, the fastest first. One entry if all are alike, none if no file tells.
        - CPUs of which each is less than 10 percent slower than the next faster one are of one kind.
      returned: success
      type: list
      elements: dict
      sample:
        - {measure: base_frequency, speed: 1900000, cpus: [0, 1, 2]}
      contains:
        measure:
          description:
            - File that tells the speed, the first of these that every online CPU has.
            - V(cpu_capacity) is relative, with 1024 for the fastest core. V(base_frequency) and
              V(cpuinfo_max_freq) are in kHz.
          returned: success
          type: str
          sample: base_frequency
        speed:
          description: Speed of the fastest CPU of this kind.
          returned: success
          type: int
          sample: 1900000
        cpus:
          description: The online CPUs of this kind.
          returned: success
          type: list
          elements: int
          sample: [0, 1, 2]
    smt:
      description: Simultaneous multithreading.
      returned: success
      type: dict
      sample: {active: true, control: "on", threads_per_core: 2}
      contains:
        active:
          description: Whether a core runs more than one thread. Null if the kernel does not tell.
          returned: success
          type: bool
          sample: true
        control:
          description:
            - The kernel's switch, such as V(on), V(off), V(forceoff) or V(notsupported); null without one.
          returned: success
          type: str
          sample: "on"
        threads_per_core:
          description: Most CPUs that are online in one core, null if unknown.
          returned: success
          type: int
          sample: 2
    numa:
      description:
        - Whether the kernel shows NUMA nodes. If V(false), RV(numa.nodes) describes the whole machine as
          node 0.
      returned: success
      type: bool
      sample: true
    nodes:
      description: One entry for each node, in ascending order. The numbers need not be consecutive.
      returned: success
      type: list
      elements: dict
      sample:
        - id: 0
          cpus: [0, 1, 2]
          memory_kb: 16747124
          hugepages: {2048kB: {nr: 512, free: 512}, 1048576kB: {nr: 0, free: 0}}
          distances: {"0": 10, "1": 21}
          has_cpu: true
          has_memory: true
        - id: 1
          cpus: []
          memory_kb: 16777216
          hugepages: {2048kB: {nr: 0, free: 0}, 1048576kB: {nr: 0, free: 0}}
          distances: {"0": 21, "1": 10}
          has_cpu: false
          has_memory: true
      contains:
        id:
          description: Number of the node.
          returned: success
          type: int
          sample: 0
        cpus:
          description: The online CPUs of the node.
          returned: success
          type: list
          elements: int
          sample: [0, 1, 2]
        memory_kb:
          description: Memory of the node, null if unknown.
          returned: success
          type: int
          sample: 16747124
        hugepages:
          description:
            - For each page size, the number of huge pages of the node (C(nr)) and of those not in use
              (C(free)).
          returned: success
          type: dict
          sample: {2048kB: {nr: 512, free: 512}}
        distances:
          description: Distance to each node, by its number as text. Empty if unknown.
          returned: success
          type: dict
          sample: {"0": 10, "1": 21}
        has_cpu:
          description: Whether the node has a CPU that is online.
          returned: success
          type: bool
          sample: true
        has_memory:
          description: Whether the node has memory.
          returned: success
          type: bool
          sample: true
    memory:
      description: Memory of each node at this moment, in the order of the nodes.
      returned: success
      type: list
      elements: dict
      sample:
        - {node: 0, total_kb: 16747124, free_kb: 9123456}
      contains:
        node:
          description: Number of the node.
          returned: success
          type: int
          sample: 0
        total_kb:
          description: Memory of the node, null if unknown.
          returned: success
          type: int
          sample: 16747124
        free_kb:
          description: Memory of the node that is in no use at all, not even as page cache; null if unknown.
          returned: success
          type: int
          sample: 9123456
    devices:
      description: PCI devices of the kinds whose place matters, by address.
      returned: success
      type: list
      elements: dict
      sample:
        - address: "0000:01:00.0"
          class: "0x010802"
          kind: nvme
          numa_node: 0
          local_cpus: [0, 1, 2]
          names: [nvme0]
      contains:
        address:
          description: PCI address.
          returned: success
          type: str
          sample: "0000:01:00.0"
        class:
          description: PCI class code.
          returned: success
          type: str
          sample: "0x010802"
        kind:
          description: One of V(net), V(nvme), V(infiniband), V(display) and V(accelerator).
          returned: success
          type: str
          sample: nvme
        numa_node:
          description:
            - Node of the device. V(-1) if the kernel does not know it, which means no affinity. Null
              without such a file.
          returned: success
          type: int
          sample: 0
        local_cpus:
          description: CPUs that the kernel calls local to the device, null if it does not say.
          returned: success
          type: list
          elements: int
          sample: [0, 1, 2]
        names:
          description: Network interfaces or NVMe controllers of the device.
          returned: success
          type: list
          elements: str
          sample: [nvme0]
    interfaces:
      description: Network interfaces and NVMe controllers, by class and name.
      returned: success
      type: list
      elements: dict
      sample:
        - {class: nvme, name: nvme0, pci: "0000:01:00.0", numa_node: 0, device_link: true}
        - {class: net, name: br0, pci: null, numa_node: null, device_link: false}
      contains:
        class:
          description: V(net) or V(nvme).
          returned: success
          type: str
          sample: nvme
        name:
          description: Name of the interface or controller.
          returned: success
          type: str
          sample: nvme0
        pci:
          description: Address of the PCI device that it belongs to, null for a virtual one.
          returned: success
          type: str
          sample: "0000:01:00.0"
        numa_node:
          description: Node of that PCI device, with the meaning it has in RV(numa.devices[].numa_node).
          returned: success
          type: int
          sample: 0
        device_link:
          description: Whether the entry names its device (C(device) in its folder).
          returned: success
          type: bool
          sample: true
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Problem
from ansible_collections.virt.hostprep.plugins.module_utils.topology import read


def main() -> None:
    module = AnsibleModule(
        argument_spec={"root": {"type": "path", "default": "/"}},
        supports_check_mode=True,
    )
    root = module.params["root"]
    if not os.path.isdir(root):
        problem = Problem(
            found=f"no folder '{root}' on this host",
            wanted="the root folder of a machine, with sys/ and proc/ in it",
            remedy="leave out 'root' to read this host, or name the folder that a recording is unpacked in",
        )
        module.fail_json(msg=str(problem), problems=[problem.as_dict()])
    numa = read(root)
    if numa["cpus_total"] is None:
        module.warn(f"'{root}' has no CPU in sys/devices/system/cpu: is it the root folder of a machine?")
    module.exit_json(changed=False, numa=numa)


if __name__ == "__main__":
    main()
