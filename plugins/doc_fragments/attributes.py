# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules promise about check mode, diff mode and platforms."""

from __future__ import annotations


class ModuleDocFragment:
    # Modules that change a host.
    DOCUMENTATION = r"""
attributes:
  check_mode:
    support: full
    description: Predicts exactly what a run would do, and writes nothing.
  diff_mode:
    support: full
    description: The state in words, and every file as a whole.
  platform:
    support: full
    platforms: linux
    description: Linux with systemd and cgroup v2.
"""

    # Modules that only look.
    INFO = r"""
attributes:
  check_mode:
    support: full
    description: Reads only.
  diff_mode:
    support: none
    description: Changes nothing, so there is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Linux.
"""
