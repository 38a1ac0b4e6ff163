# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import kubelet_schema as schema
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.releases import Release

OLD, MIDDLE, NEW = Release(1, 28), Release(1, 33), Release(1, 36)


def only(settings: dict[str, t.Any], release: Release = MIDDLE) -> Problem:
    (problem,) = schema.problems(settings, release)
    return problem


def test_a_whole_configuration_is_taken() -> None:
    settings = {
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "featureGates": {"CPUManagerPolicyAlphaOptions": True},
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "2m0s"}},
        "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m"}},
        "clusterDNS": ["10.96.0.10"],
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "cpuManagerReconcilePeriod": "0s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "60s"},
        "enforceNodeAllocatable": ["pods", "system-reserved-compressible"],
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        "evictionSoft": {"memory.available": "1.5Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "evictionMinimumReclaim": {"memory.available": "0Mi", "imagefs.available": "5%"},
        "kubeReserved": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1e9", "pid": "1000"},
        "logging": {"format": "json", "options": {"json": {"infoBufferSize": "0"}}},
        "memoryManagerPolicy": "Static",
        "memoryThrottlingFactor": 0.9,
        "podPidsLimit": -1,
        "podLogsDir": "/var/log/pods",
        "qosReserved": {"memory": "50%"},
        "registerWithTaints": [{"key": "swap", "value": "yes", "effect": "NoSchedule"}],
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi", "hugepages-1Gi": 1}}],
        "reservedSystemCPUs": "0-1,32-33",
        "resolvConf": "/run/systemd/resolve/resolv.conf",
        "shutdownGracePeriodByPodPriority": [{"priority": 1000, "shutdownGracePeriodSeconds": 60}],
        "staticPodURLHeader": {"X-Token": ["a", "b"]},
        "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"],
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16", "prefer-closest-numa-nodes": "true"},
        "tracing": {"samplingRatePerMillion": 100},
        "userNamespaces": {"idsPerPod": 131072},
    }
    assert schema.problems(settings, MIDDLE) == []


@pytest.mark.parametrize(
    ("minor", "number"),
    [(28, 112), (29, 113), (30, 116), (31, 117), (32, 119), (33, 123), (34, 123), (35, 123), (36, 125)],
)
def test_the_number_of_fields_of_each_release_is_that_of_its_source(minor: int, number: int) -> None:
    names = [
        name
        for name in schema._FIELDS
        if not any("the key" in str(problem) for problem in schema.problems({name: None}, Release(1, minor)))
    ]
    assert len(names) == number


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("FailSwapOn", "failSwapOn"),
        ("failswapon", "failSwapOn"),
        ("failSwapOff", "failSwapOn"),
        ("cpuManagerpolicy", "cpuManagerPolicy"),
        ("clusterDns", "clusterDNS"),
    ],
)
def test_a_misspelt_key_is_named_with_the_right_one(key: str, near: str) -> None:
    problem = only({key: False})
    assert problem.found == f"the key '{key}'"
    assert problem.wanted == "a key that the kubelet of Kubernetes 1.33 knows"
    assert problem.remedy == f"write {near}; upper and lower case count"


def test_nested_keys_are_named_with_their_path() -> None:
    assert "write swapBehavior" in only({"memorySwap": {"swapbehavior": "LimitedSwap"}}).remedy
    assert only({"memorySwap": {"size": 1}}).found == "the key 'memorySwap.size'"
    assert only({"evictionHard": {"memory.free": "1Gi"}}).found == "the key 'evictionHard.memory.free'"
    assert only({"systemReserved": {"hugepages-1Gi": "4Gi"}}).found == "the key 'systemReserved.hugepages-1Gi'"
    assert only({"reservedMemory": [{}, {"numa": 1}]}).found == "the key 'reservedMemory[1].numa'"


@pytest.mark.parametrize(
    ("settings", "minor"),
    [
        ({"imageMaximumGCAge": "24h"}, 29),
        ({"evictionHard": {"containerfs.available": "10%"}}, 29),
        ({"containerLogMaxWorkers": 2}, 30),
        ({"failCgroupV1": True}, 31),
        ({"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"}}, 31),
        ({"singleProcessOOMKill": True}, 32),
        ({"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}, 32),
        ({"userNamespaces": {"idsPerPod": 65536}}, 33),
        ({"tlsCurvePreferences": [29]}, 36),
    ],
)
def test_a_key_of_a_newer_release_says_which(settings: dict[str, t.Any], minor: int) -> None:
    assert schema.problems(settings, Release(1, minor)) == []
    problem = only(settings, Release(1, minor - 1))
    assert f"which came with Kubernetes 1.{minor}" in problem.found
    assert f"upgrade the node to 1.{minor}" in problem.remedy


def test_an_unknown_key_of_an_unknown_release_says_where_the_table_ends() -> None:
    assert "ends at 1.36" in only({"quantumScheduling": True}, Release(1, 40)).remedy
    assert "ends at" not in only({"quantumScheduling": True}, NEW).remedy
    assert schema.problems({"failSwapOn": False, "memoryReservationPolicy": "None"}, Release(1, 40)) == []


@pytest.mark.parametrize(
    ("settings", "found", "wanted", "remedy"),
    [
        ({"failSwapOn": "false"}, 'failSwapOn: the text "false"', "true or false", "without quotes"),
        ({"failSwapOn": 0}, "failSwapOn: the number 0", "true or false", "without quotes"),
        ({"maxPods": "110"}, 'maxPods: the text "110"', "a whole number", "without quotes"),
        ({"maxPods": True}, "maxPods: true", "a whole number", "number"),
        ({"maxPods": 1.0}, "maxPods: the number 1.0", "a whole number", "number"),
        ({"maxPods": 1 << 31}, "maxPods: the number 2147483648", "to 2147483647", "range"),
        ({"maxPods": -1}, "maxPods: the number -1", "from 0", "range"),
        ({"port": 65536}, "port: the number 65536", "from 0 to 65535", "range"),
        ({"oomScoreAdj": -1001}, "oomScoreAdj: the number -1001", "from -1000 to 1000", "range"),
        ({"imageGCHighThresholdPercent": 101}, "the number 101", "from 0 to 100", "range"),
        ({"containerLogMaxFiles": 1}, "containerLogMaxFiles: the number 1", "from 2", "range"),
        ({"syncFrequency": 60}, "syncFrequency: the number 60", "a duration", '"30s"'),
        ({"syncFrequency": "60"}, 'syncFrequency: the text "60"', "a duration", '"30s"'),
        ({"syncFrequency": ""}, 'syncFrequency: the text ""', "a duration", '"30s"'),
        ({"containerLogMonitorInterval": "2s"}, 'the text "2s"', "from 3s", "range"),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "6m"}}, 'Period: the text "6m"', "to 300s", "range"),
        ({"systemReserved": {"cpu": 2}}, "systemReserved.cpu: the number 2", "as text", "in quotes"),
        ({"systemReserved": {"memory": "1GB"}}, 'systemReserved.memory: the text "1GB"', "a quantity", "500Mi"),
        ({"kubeReserved": {"memory": "-1Gi"}}, 'the text "-1Gi"', "zero or more", "500Mi"),
        ({"evictionHard": {"memory.available": "0"}}, 'the text "0"', "above zero", "100Mi"),
        ({"evictionHard": {"memory.available": "101%"}}, 'the text "101%"', "a percentage", "10%"),
        ({"evictionMinimumReclaim": {"memory.available": "0%"}}, 'the text "0%"', "above zero", "5%"),
        ({"reservedMemory": [{"limits": {"memory": "1 Gi"}}]}, "reservedMemory[0].limits.memory", "a quantity", "1Gi"),
        ({"reservedMemory": [{"limits": {"memory": True}}]}, "limits.memory: true", "a quantity", "1Gi"),
        ({"reservedMemory": {"numaNode": 0}}, "reservedMemory: a mapping", "a list", "list"),
        ({"clusterDNS": "10.96.0.10"}, 'clusterDNS: the text "10.96.0.10"', "a list", "list"),
        ({"clusterDNS": [None]}, "clusterDNS[0]: nothing", "text", "quotes"),
        ({"memorySwap": "LimitedSwap"}, 'memorySwap: the text "LimitedSwap"', "a mapping", "below"),
        ({"featureGates": {"NodeSwap": "true"}}, 'featureGates.NodeSwap: the text "true"', "true or false", "quotes"),
        ({"featureGates": {1: True}}, "the key of featureGates: the number 1", "text", "quotes"),
        ({"cpuManagerPolicyOptions": {"full-pcpus-only": True}}, "full-pcpus-only: true", '"true"', "in quotes"),
        (
            {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "4"}},
            'nodes: the text "4"',
            "8 or more",
            '"16"',
        ),
        ({"reservedSystemCPUs": "0, 1"}, 'reservedSystemCPUs: the text "0, 1"', "no blanks", "0-1,32-33"),
        ({"reservedSystemCPUs": "3-0"}, 'reservedSystemCPUs: the text "3-0"', "CPUs", "0-1,32-33"),
        ({"reservedSystemCPUs": "0-7:1/2"}, "reservedSystemCPUs", "CPUs", "0-1,32-33"),
        ({"reservedSystemCPUs": 0}, "reservedSystemCPUs: the number 0", "CPUs", "0-1,32-33"),
        ({"qosReserved": {"memory": "5.5%"}}, 'qosReserved.memory: the text "5.5%"', "whole percentage", "50%"),
        ({"memoryThrottlingFactor": 0}, "memoryThrottlingFactor: the number 0", "above 0", "0.9"),
        ({"userNamespaces": {"idsPerPod": 65537}}, "idsPerPod: the number 65537", "65536", "65536"),
        ({"podLogsDir": "/var/log/../pods"}, "podLogsDir", "absolute", "/var/log/pods"),
        ({"logging": "json"}, 'logging: the text "json"', "a mapping", "below"),
        ({"cpuManagerPolicy": "Static"}, 'cpuManagerPolicy: the text "Static"', "none or static", "write static"),
        ({"memoryManagerPolicy": "static"}, 'the text "static"', '"" or None or Static', "write Static"),
        ({"cgroupDriver": "cgroupsfs"}, 'the text "cgroupsfs"', "systemd", "write cgroupfs"),
        ({"enforceNodeAllocatable": ["pod"]}, 'enforceNodeAllocatable[0]: the text "pod"', "pods", "write pods"),
    ],
)
def test_a_wrong_value_says_what_was_found_and_how_to_write_it(
    settings: dict[str, t.Any], found: str, wanted: str, remedy: str
) -> None:
    problem = only(settings)
    assert found in problem.found
    assert wanted in problem.wanted
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("minor", "taken", "refused"),
    [
        (28, ["", "LimitedSwap", "UnlimitedSwap"], ["NoSwap", "limitedSwap"]),
        (29, ["", "LimitedSwap", "UnlimitedSwap"], ["NoSwap"]),
        (30, ["", "NoSwap", "LimitedSwap"], ["UnlimitedSwap"]),
        (36, ["", "NoSwap", "LimitedSwap"], ["UnlimitedSwap", "noSwap", True]),
    ],
)
def test_swap_behaviour_by_release(minor: int, taken: list[str], refused: list[t.Any]) -> None:
    release = Release(1, minor)
    for behavior in taken:
        assert schema.problems({"memorySwap": {"swapBehavior": behavior}}, release) == []
    for behavior in refused:
        problem = only({"memorySwap": {"swapBehavior": behavior}}, release)
        assert str(behavior) in problem.found or "true" in problem.found
        assert f"Kubernetes 1.{minor}" in problem.wanted
        assert "LimitedSwap" in problem.wanted


def test_compressible_enforcement_came_with_1_32() -> None:
    settings = {"enforceNodeAllocatable": ["system-reserved-compressible"]}
    assert schema.problems(settings, Release(1, 32)) == []
    assert "Kubernetes 1.31" in only(settings, Release(1, 31)).wanted


def test_the_header_is_not_a_setting() -> None:
    problems = schema.problems({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}, NEW)
    assert [problem.found for problem in problems] == [
        "the key 'apiVersion' among the settings",
        "the key 'kind' among the settings",
    ]
    assert "leave it out" in problems[0].remedy


def test_nothing_removes_a_key_and_is_taken_for_every_known_one() -> None:
    settings = {"failSwapOn": None, "memorySwap": {"swapBehavior": None}, "featureGates": {"NodeSwap": None}}
    assert schema.problems(settings, MIDDLE) == []
    assert only({"FailSwapOn": None}).remedy.startswith("write failSwapOn")


def test_every_mistake_is_reported_at_once() -> None:
    assert len(schema.problems({"FailSwapOn": False, "maxPods": "1", "memorySwap": {"a": 1, "b": 2}}, MIDDLE)) == 4


def test_a_release_that_is_too_old_is_refused() -> None:
    with pytest.raises(HostprepError, match=r"1\.28 or newer"):
        schema.problems({"memorySwap": {"swapBehavior": "LimitedSwap"}}, Release(1, 27))


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1Ki", 1024),
        ("1124Mi", 1124 << 20),
        ("1.5Gi", 3 << 29),
        ("1Ei", 1 << 60),
        ("1k", 1000),
        ("8M", 8_000_000),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12e-1", Fraction(6, 5)),
        ("500m", Fraction(1, 2)),
        ("100n", Fraction(1, 10**7)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+2", 2),
        ("-2Gi", -(2 << 30)),
        (1073741824, 1 << 30),
        (0.5, Fraction(1, 2)),
    ],
)
def test_quantities_are_exact(text: str | int | float, amount: Fraction | int) -> None:
    assert schema.quantity(text) == amount


@pytest.mark.parametrize(
    "text", ["", "Gi", "1GiB", "1GB", "1K", "1 Gi", "1ki", "1g", "0x10", "1e", "1,5Gi", "٣Gi", "nan"]
)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        schema.quantity(text)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1124 << 20), "1124Mi"),
        (Fraction(2), "2"),
        (Fraction(1, 2), "500m"),
        (Fraction(1, 10**6), "1e-06"),
        (Fraction(1500), "1500"),
    ],
)
def test_quantities_for_people(amount: Fraction, text: str) -> None:
    assert schema.quantity_text(amount) == text
    assert schema.quantity(text) == amount


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("1h30m", 5400),
        ("2m0s", 120),
        ("1.5s", Fraction(3, 2)),
        ("100ms", Fraction(1, 10)),
        ("1us", Fraction(1, 10**6)),
        ("1µs", Fraction(1, 10**6)),
        ("0", 0),
        ("-5s", -5),
    ],
)
def test_durations_are_exact(text: str, seconds: Fraction | int) -> None:
    assert schema.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "10", "10 s", "1d", "1h 30m", "-", "ten", "1h30"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        schema.duration(text)
