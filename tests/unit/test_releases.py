# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError
from ansible_collections.virt.hostprep.plugins.module_utils.releases import NEWEST, OLDEST, Release, kubernetes, parse


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("Kubernetes v1.33.1", Release(1, 33)),
        ("Kubernetes v1.33.1\n", Release(1, 33)),
        ("v1.33.1+k3s1", Release(1, 33)),
        ("v1.30.14-eks-d1c6e07", Release(1, 30)),
        ("v1.28.9-gke.1069000", Release(1, 28)),
        ("v1.31.0-rc.1+rke2r1", Release(1, 31)),
        ("1.30", Release(1, 30)),
        ("v1.9.0", Release(1, 9)),
    ],
)
def test_versions_as_kubelets_print_them(text: str, release: Release) -> None:
    assert parse(text) == release


@pytest.mark.parametrize(
    "text", ["", "Kubernetes", "v1", "Kubernetes v1.x", "bash: kubelet: not found", "v1.33.1 v1.34"]
)
def test_anything_else_is_one_problem(text: str) -> None:
    with pytest.raises(HostprepError, match=r"Found: .* as the version of the kubelet\. Wanted: .*v1\.33\.1"):
        parse(text)


def test_releases_compare_as_numbers_and_show_as_people_write_them() -> None:
    assert Release(1, 9) < Release(1, 28) < Release(1, 100) < Release(2, 0)
    assert str(Release(1, 30)) == "1.30"


@pytest.mark.parametrize(
    ("minor", "config_dir", "behaviors", "default", "gate", "capacity"),
    [
        (28, False, ("LimitedSwap", "UnlimitedSwap"), "UnlimitedSwap", "off", False),
        (29, False, ("LimitedSwap", "UnlimitedSwap"), "UnlimitedSwap", "off", False),
        (30, True, ("NoSwap", "LimitedSwap"), "NoSwap", "on", False),
        (32, True, ("NoSwap", "LimitedSwap"), "NoSwap", "on", False),
        (33, True, ("NoSwap", "LimitedSwap"), "NoSwap", "on", True),
        (34, True, ("NoSwap", "LimitedSwap"), "NoSwap", "locked", True),
        (36, True, ("NoSwap", "LimitedSwap"), "NoSwap", "locked", True),
    ],
)
def test_swap_by_release(
    minor: int, config_dir: bool, behaviors: tuple[str, ...], default: str, gate: str, capacity: bool
) -> None:
    row = kubernetes(Release(1, minor))
    assert (row.config_dir, row.swap_behaviors, row.default_swap_behavior) == (config_dir, behaviors, default)
    assert (row.node_swap_gate, row.swap_capacity_in_status) == (gate, capacity)
    assert row.gates["NodeSwap"] is (gate != "off")


@pytest.mark.parametrize(
    ("minor", "options"),
    [
        (28, {"full-pcpus-only": "beta", "distribute-cpus-across-numa": "alpha", "align-by-socket": "alpha"}),
        (
            32,
            {
                "full-pcpus-only": "beta",
                "distribute-cpus-across-numa": "alpha",
                "align-by-socket": "alpha",
                "distribute-cpus-across-cores": "alpha",
                "strict-cpu-reservation": "alpha",
                "prefer-align-cpus-by-uncorecache": "alpha",
            },
        ),
        (
            36,
            {
                "full-pcpus-only": "stable",
                "distribute-cpus-across-numa": "beta",
                "align-by-socket": "alpha",
                "distribute-cpus-across-cores": "alpha",
                "strict-cpu-reservation": "stable",
                "prefer-align-cpus-by-uncorecache": "stable",
            },
        ),
    ],
)
def test_options_of_the_cpu_manager_by_release(minor: int, options: dict[str, str]) -> None:
    assert kubernetes(Release(1, minor)).cpu_manager_options == options


def test_options_of_the_topology_manager_by_release() -> None:
    assert kubernetes(Release(1, 30)).topology_manager_options == {"prefer-closest-numa-nodes": "beta"}
    assert kubernetes(Release(1, 31)).topology_manager_options["max-allowable-numa-nodes"] == "beta"


def test_a_gate_is_there_from_the_release_of_its_field() -> None:
    assert "KubeletCrashLoopBackOffMax" not in kubernetes(Release(1, 31)).gates
    assert kubernetes(Release(1, 32)).gates["KubeletCrashLoopBackOffMax"] is False
    assert kubernetes(Release(1, 35)).gates["KubeletCrashLoopBackOffMax"] is True


@pytest.mark.parametrize("release", [Release(1, 27), Release(1, 9), Release(0, 40)])
def test_what_is_too_old_is_refused(release: Release) -> None:
    with pytest.raises(HostprepError, match=rf"Found: Kubernetes {release}\. Wanted: 1\.28 or newer.*upgrade the node"):
        kubernetes(release)


@pytest.mark.parametrize("release", [Release(1, 37), Release(1, 99), Release(2, 0)])
def test_what_is_newer_is_taken_for_the_newest(release: Release) -> None:
    assert kubernetes(release) == kubernetes(NEWEST)


def test_every_release_of_the_span_has_a_row() -> None:
    for minor in range(OLDEST.minor, NEWEST.minor + 1):
        assert kubernetes(Release(1, minor)).swap_behaviors
