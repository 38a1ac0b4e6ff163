# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait on a cluster that is played by a script: what it says when, and how it ends. No real time passes."""

from __future__ import annotations

import datetime
import itertools
import typing as t

import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.action import pool_sync
from ansible_collections.virt.hostprep.plugins.module_utils import pool
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.modules import pool_sync as documentation
from ansible_collections.virt.hostprep.plugins.plugin_utils.kube_api import Change, Configz, Unavailable, WatchEnded

Data = dict[str, t.Any]

NAMES = ("node-1", "node-2")
WANTED = pool.Wanted({"failSwapOn": False}, {})
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp()


class Cluster:
    """Nodes whose kubelets renew their leases every 10 s, and what a script does to them. Its clock is the only one."""

    def __init__(self, *names: str, failswapon: bool = True, skew: float = 0.0) -> None:
        self.time = 1000.0
        self.skew = skew  # of the clocks of the nodes
        self.node: dict[str, Data] = {}
        self.lease: dict[str, Data] = {}
        self.config: dict[str, Configz | Exception] = {}
        self.dead: set[str] = set()
        self.reads: list[tuple[float, str]] = []
        self.lists: list[float] = []
        self.leases_readable = True
        self.away: Exception | None = None
        self.watch_errors: list[Exception] = []
        self._script: list[tuple[float, t.Callable[[], object]]] = []
        self._changes: list[Change] = []
        for name in names or NAMES:
            self.add(name, failswapon)

    # --- what a script can do -----------------------------------------------------------------------------------------

    def at(self, seconds: float, do: t.Callable[[], object]) -> None:
        self._script.append((1000.0 + seconds, do))
        self._script.sort(key=lambda entry: entry[0])

    def add(self, name: str, failswapon: bool = True) -> None:
        self.node[name] = {
            "metadata": {"name": name},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.33.1", "swap": {"capacity": 1024}},
            },
        }
        self.lease[name] = {"metadata": {"name": name}, "spec": {}}
        self._renew(name)
        self.configure(name, failswapon)
        self._changes.append(Change("Node", "ADDED", self.node[name]))

    def configure(self, name: str, failswapon: bool) -> None:
        self.config[name] = Configz({"failSwapOn": failswapon}, "proxy")

    def ready(self, name: str, status: str, reason: str = "", message: str = "") -> None:
        node = {**self.node[name], "status": dict(self.node[name]["status"])}
        node["status"]["conditions"] = [{"type": "Ready", "status": status, "reason": reason, "message": message}]
        self.node[name] = node
        self._changes.append(Change("Node", "MODIFIED", node))

    def delete(self, name: str) -> None:
        self._changes.append(Change("Node", "DELETED", self.node.pop(name)))

    def restart(self, name: str, failswapon: bool) -> None:
        """A kubelet that comes back says so in its Node."""
        self.configure(name, failswapon)
        self.ready(name, "True")

    def go_away(self) -> None:
        self.away = Unavailable("connection refused")

    def come_back(self) -> None:
        self.away = None

    # --- the Reader ---------------------------------------------------------------------------------------------------

    def nodes(self) -> dict[str, Data]:
        if self.away:
            raise self.away
        self.lists.append(self.time - 1000.0)
        assert len(self.lists) < 100, "a flood of lists"
        self._changes = []
        return dict(self.node)

    def leases(self) -> dict[str, Data] | None:
        return dict(self.lease) if self.leases_readable else None

    def configz(self, nodes: t.Sequence[Data], /) -> list[Configz]:
        if self.away:
            raise self.away
        answers = []
        for node in nodes:
            name = node["metadata"]["name"]
            self.reads.append((self.time - 1000.0, name))
            answer = self.config[name]
            if isinstance(answer, Exception):
                raise answer
            answers.append(answer)
        return answers

    def now(self) -> float:
        return EPOCH + self.time

    def wait(self, seconds: float, /) -> list[Change]:
        assert seconds <= pool_sync._REREAD_SECONDS
        end = self.time + max(seconds, 0.001)
        while not self._changes and not self.away and not self.watch_errors and self.time < end:
            self._step(end)
        if self.away:
            raise WatchEnded("the connection is gone")
        if self.watch_errors:
            raise self.watch_errors.pop()
        changes, self._changes = self._changes, []
        return changes

    def pause(self, seconds: float, /) -> None:
        end = self.time + seconds
        while self.time < end:
            self._step(end)

    def _step(self, end: float) -> None:
        """To the next moment at which something happens."""
        renewal = (self.time // 10 + 1) * 10
        script = self._script[0][0] if self._script else float("inf")
        self.time = min(end, renewal, script)
        if self.time == renewal:
            for name in self.lease.keys() - self.dead:
                self._renew(name)
        while self._script and self._script[0][0] <= self.time:
            self._script.pop(0)[1]()

    def _renew(self, name: str) -> None:
        when = datetime.datetime.fromtimestamp(self.now() + self.skew, datetime.UTC)
        spec = {"renewTime": when.isoformat().replace("+00:00", "Z"), "leaseDurationSeconds": 40}
        self.lease[name] = {"metadata": {"name": name}, "spec": spec}
        self._changes.append(Change("Lease", "MODIFIED", self.lease[name]))


class Run:
    """A wait on a cluster, and what it said."""

    def __init__(self, cluster: Cluster, names: tuple[str, ...] | None = NAMES, wanted: pool.Wanted = WANTED) -> None:
        self.cluster = cluster
        self.said: list[str] = []
        self.said_at: list[float] = []
        self.wait = pool_sync.Wait(cluster, names, wanted, self._say, lambda: cluster.time)

    def _say(self, line: str) -> None:
        self.said.append(line)
        self.said_at.append(self.cluster.time)

    def until(self, timeout: float = 600) -> Run:
        self.wait.until(timeout)
        return self

    def fails(self, timeout: float = 600) -> Problem:
        with pytest.raises(HostprepError) as raised:
            self.wait.until(timeout)
        return raised.value.problems[0]

    @property
    def seconds(self) -> float:
        return self.cluster.time - 1000.0


# --- yes ----------------------------------------------------------------------------------------------------------


def test_a_pool_that_is_in_sync_is_looked_at_once() -> None:
    run = Run(Cluster(failswapon=False)).until()
    assert run.seconds == 0
    assert run.said == ["pool_sync: 2/2 nodes run it · 0s"]
    assert [name for _at, name in run.cluster.reads] == list(NAMES)
    assert run.wait.report()["node-1"]["kubelet_config"] == {"failSwapOn": False}


def test_it_reacts_at_once_and_says_what_moves() -> None:
    cluster = Cluster()
    cluster.at(3, lambda: cluster.restart("node-1", False))
    cluster.at(7.5, lambda: cluster.ready("node-2", "False", "KubeletNotReady", "container runtime down"))
    cluster.at(130, lambda: cluster.restart("node-2", False))
    run = Run(cluster).until()
    assert run.seconds == 130
    assert run.said == [
        "pool_sync: 0/2 nodes run it · node-1 failSwapOn: wanted false, found true · 0s",
        "pool_sync: 1/2 nodes run it · node-2 failSwapOn: wanted false, found true · 3s",
        "pool_sync: 1/2 nodes run it · node-2 NotReady (KubeletNotReady: container runtime down) · 7s",
        "pool_sync: 2/2 nodes run it · 2m10s",
    ]
    report = run.wait.report()
    assert [report[name]["seconds"] for name in NAMES] == [3.0, 130.0]


def test_the_node_that_moved_last_is_the_one_that_is_shown() -> None:
    cluster = Cluster("node-1", "node-2", "node-3")
    cluster.at(2, lambda: cluster.ready("node-3", "False", "A", "a"))
    cluster.at(4, lambda: cluster.ready("node-2", "False", "B", "b"))
    cluster.at(6, lambda: [cluster.restart(name, False) for name in ("node-2", "node-1", "node-3")])
    run = Run(cluster, None).until()
    assert [line.split(" · ")[1].split()[0] for line in run.said[:-1]] == ["node-1", "node-3", "node-2"]


def test_configz_cannot_be_watched_and_is_read_again_every_5_seconds() -> None:
    cluster = Cluster("node-1")
    cluster.dead.add("node-1")  # no lease that would wake it up
    cluster.at(12, lambda: cluster.configure("node-1", False))
    run = Run(cluster, ["node-1"]).until()
    assert run.seconds == 15
    assert [at for at, _name in cluster.reads] == [0, 5, 10, 15]


def test_a_lease_that_changes_is_a_reason_to_read_configz() -> None:
    cluster = Cluster("node-1")
    cluster.time = 1006.0  # the next renewal is at 10
    cluster.at(8, lambda: cluster.configure("node-1", False))
    run = Run(cluster, ["node-1"]).until()
    assert run.seconds == 10


def test_nodes_in_sync_are_left_alone_until_the_end_and_then_asked_again() -> None:
    cluster = Cluster()
    cluster.configure("node-1", False)
    cluster.at(60, lambda: cluster.restart("node-2", False))
    Run(cluster).until()
    assert [at for at, name in cluster.reads if name == "node-1"] == [0, 60]


def test_no_yes_if_a_node_went_back_meanwhile() -> None:
    """Somebody restored the old configuration, and no event told."""
    cluster = Cluster()
    cluster.configure("node-1", False)
    cluster.at(30, lambda: cluster.configure("node-1", True))
    cluster.at(60, lambda: cluster.restart("node-2", False))
    cluster.at(90, lambda: cluster.configure("node-1", False))
    run = Run(cluster).until()
    assert run.seconds == 90
    assert "1/2 nodes run it · node-1 failSwapOn: wanted false, found true · 1m0s" in run.said[-2]


def test_no_yes_from_a_node_list_that_is_older_than_configz() -> None:
    """Ready was the old kubelet's word; the new one answers /configz and then says NotReady."""
    cluster = Cluster("node-1", failswapon=False)
    calls: list[float] = []
    answer = cluster.configz

    def configz(nodes: t.Sequence[Data]) -> list[Configz]:
        calls.append(cluster.time)
        if len(calls) == 1:
            cluster.ready("node-1", "False", "KubeletNotReady", "starting")
            cluster.at(20, lambda: cluster.ready("node-1", "True"))
        return answer(nodes)

    cluster.configz = configz  # type: ignore[method-assign]
    assert Run(cluster, ["node-1"]).until().seconds == 20


def test_a_node_that_joins_the_pool_has_to_be_in_sync_too() -> None:
    cluster = Cluster()
    cluster.configure("node-1", False)
    cluster.at(5, lambda: cluster.add("node-9"))
    cluster.at(7, lambda: cluster.restart("node-2", False))
    cluster.at(40, lambda: cluster.restart("node-9", False))
    run = Run(cluster, None).until()
    assert run.seconds == 40
    assert run.said[1].endswith("1/3 nodes run it · node-9 failSwapOn: wanted false, found true · 5s")
    assert sorted(run.wait.report()) == ["node-1", "node-2", "node-9"]


def test_nodes_that_were_not_named_do_not_matter() -> None:
    cluster = Cluster()
    cluster.add("node-3")
    cluster.configure("node-1", False)
    cluster.configure("node-2", False)
    run = Run(cluster).until()
    assert sorted(run.wait.report()) == list(NAMES)
    assert "node-3" not in [name for _at, name in cluster.reads]


def test_swap_capacity() -> None:
    cluster = Cluster(failswapon=False)
    wanted = pool.Wanted({}, {"node-2": 2048})
    cluster.at(4, lambda: cluster.node["node-2"]["status"]["nodeInfo"].update(swap={"capacity": 4096}))
    cluster.at(4, lambda: cluster.ready("node-2", "True"))
    run = Run(cluster, NAMES, wanted).until()
    assert run.seconds == 4
    assert run.said[0].endswith("1/2 nodes run it · node-2 swap capacity: wanted at least 2 KiB, found 1 KiB · 0s")


# --- alive --------------------------------------------------------------------------------------------------------


def test_ready_of_a_dead_kubelet_is_no_yes() -> None:
    cluster = Cluster(failswapon=False)
    cluster.dead.add("node-2")
    cluster.time += 50
    problem = Run(cluster).fails(30)
    assert "1 of 2 nodes are not in sync; node-2: NotReady (Ready=True is stale" in problem.found


def test_a_kubelet_that_dies_while_we_wait() -> None:
    cluster = Cluster()
    cluster.configure("node-1", False)
    cluster.at(25, lambda: cluster.dead.add("node-1"))
    cluster.at(200, lambda: cluster.restart("node-2", False))
    problem = Run(cluster).fails(260)
    assert "node-1: NotReady (Ready=True is stale" in problem.found


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_a_node_whose_clock_is_wrong_is_alive_once_it_was_seen_to_renew(skew: float) -> None:
    cluster = Cluster(failswapon=False, skew=skew)
    run = Run(cluster).until()
    assert run.seconds == 10
    assert "stale" in run.said[0]


def test_a_dead_kubelet_whose_clock_was_ahead() -> None:
    cluster = Cluster(failswapon=False, skew=3600)
    cluster.dead.update(NAMES)
    assert "2 of 2 nodes are not in sync" in Run(cluster).fails(120).found


def test_leases_that_may_not_be_read() -> None:
    cluster = Cluster(failswapon=False)
    cluster.leases_readable = False
    run = Run(cluster).until()
    assert "its Lease cannot be read" in run.wait.report()["node-1"]["notes"][0]


# --- no -----------------------------------------------------------------------------------------------------------


def test_out_of_time_lists_every_node_and_what_it_lacks() -> None:
    cluster = Cluster("node-1", "node-2", "node-3")
    cluster.configure("node-3", False)
    cluster.ready("node-2", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    cluster.config["node-2"] = Configz(None, None, "503 connection refused")
    run = Run(cluster, None)
    problem = run.fails(125)
    assert run.seconds == 125
    assert problem.found == (
        "after 2m5s 2 of 3 nodes are not in sync; node-1: failSwapOn: wanted false, found true; node-2: NotReady "
        "(NodeStatusUnknown: Kubelet stopped posting node status.), /configz not readable: 503 connection refused"
    )
    report = run.wait.report()
    assert [report[name]["seconds"] for name in sorted(report)] == [125.0, 125.0, 0.0]
    assert report["node-1"]["waiting_for"] == ["failSwapOn: wanted false, found true"]


def test_with_timeout_0_it_looks_once() -> None:
    run = Run(Cluster())
    assert "after 0s 2 of 2 nodes are not in sync" in run.fails(0).found
    assert run.seconds == 0
    assert Run(Cluster(failswapon=False)).until(0).seconds == 0


def test_a_named_node_that_does_not_exist() -> None:
    problem = Run(Cluster(), ["node-1", "node-7", "node-8"]).fails()
    assert problem.found == "no node node-7, node-8; the cluster has node-1, node-2"


@pytest.mark.parametrize(
    ("names", "found"),
    [([], "'nodes' is empty; the cluster has node-1, node-2"), (None, "the label selector selects none")],
)
def test_a_pool_without_nodes(names: list[str] | None, found: str) -> None:
    cluster = Cluster()
    if names is None:
        cluster.node.clear()
    run = Run(cluster, names)
    assert found in run.fails().found
    assert run.seconds == 0


def test_swap_capacity_of_a_node_that_is_not_in_the_pool() -> None:
    problem = Run(Cluster(), NAMES, pool.Wanted({}, {"node-3": 1})).fails()
    assert problem.found == "swap_capacity for node-3, not in the pool"


def test_a_node_that_leaves_the_pool_fails_at_once() -> None:
    cluster = Cluster()
    cluster.at(33, lambda: cluster.delete("node-2"))
    run = Run(cluster, None)
    assert run.fails().found == "node node-2 left the pool: deleted, or no longer labelled so"
    assert run.seconds == 33


def test_a_node_that_left_while_nobody_watched() -> None:
    cluster = Cluster()
    cluster.at(10, cluster.go_away)
    cluster.at(15, lambda: cluster.delete("node-2"))
    cluster.at(20, cluster.come_back)
    run = Run(cluster)
    assert "node-2 left the pool" in run.fails().found
    assert run.seconds <= 21


def test_a_kubelet_that_is_too_old_fails_at_once() -> None:
    cluster = Cluster()
    cluster.node["node-2"]["status"]["nodeInfo"]["kubeletVersion"] = "v1.26.3"
    run = Run(cluster)
    assert run.fails().found == "node node-2: Kubernetes 1.26"
    assert run.seconds == 0


def test_a_permission_that_is_taken_away_fails_at_once() -> None:
    cluster = Cluster()
    cluster.at(42, lambda: cluster.config.update({"node-1": HostprepError(Problem("403", "200", "a rule"))}))
    run = Run(cluster)
    assert run.fails().found == "403"
    assert run.seconds <= 47


# --- an API server that comes and goes ----------------------------------------------------------------------------


def test_a_restart_of_the_api_server_is_survived() -> None:
    cluster = Cluster()
    cluster.at(10, cluster.go_away)
    cluster.at(30, lambda: [cluster.configure(name, False) for name in NAMES])
    cluster.at(50, cluster.come_back)
    run = Run(cluster).until()
    assert 50 <= run.seconds <= 51
    assert run.said[1:] == [
        "pool_sync: the API server is away, asking again (connection refused) · 10s",
        "pool_sync: 2/2 nodes run it · 50s",
    ]


def test_an_api_server_that_is_away_from_the_beginning() -> None:
    cluster = Cluster(failswapon=False)
    cluster.go_away()
    cluster.at(7, cluster.come_back)
    assert Run(cluster).until().seconds == 7


def test_an_api_server_that_stays_away() -> None:
    cluster = Cluster()
    cluster.at(10, cluster.go_away)
    run = Run(cluster)
    problem = run.fails(60)
    assert run.seconds == 60
    assert problem.found.startswith(
        "after 1m0s the API server does not answer (connection refused); last known: 2 of 2 nodes are not in sync; "
    )
    assert "/readyz" in problem.remedy


def test_a_watch_that_is_too_old_begins_anew_with_a_list() -> None:
    cluster = Cluster()
    cluster.at(20, lambda: cluster.watch_errors.append(WatchEnded("410 too old resource version")))
    cluster.at(20, lambda: [cluster.configure(name, False) for name in NAMES])
    run = Run(cluster).until()
    assert run.seconds == 20
    assert cluster.lists == [0, 20, 20]


def test_an_api_server_that_ends_every_watch_at_once_is_not_flooded() -> None:
    cluster = Cluster()

    def ended(_seconds: float) -> list[t.Any]:
        raise WatchEnded("no")

    cluster.wait = ended  # type: ignore[method-assign]
    Run(cluster).fails(30)
    assert len(cluster.lists) <= 32


# --- progress lines -----------------------------------------------------------------------------------------------


def test_lines_are_not_repeated_and_come_once_a_second_at_most() -> None:
    cluster = Cluster()
    for tenth in range(1, 51):
        status = "False" if tenth % 2 else "True"
        cluster.at(tenth / 10, lambda status=status: cluster.ready("node-1", status, "Flapping", status))
    run = Run(cluster)
    run.fails(60)
    assert len(run.said) <= 7
    assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(run.said_at))
    texts = [line.rpartition(" · ")[0] for line in run.said]
    assert all(one != another for one, another in itertools.pairwise(texts))


def test_the_last_of_several_quick_changes_is_said_a_second_later() -> None:
    cluster = Cluster()
    cluster.at(0.2, lambda: cluster.ready("node-1", "False", "A", "a"))
    cluster.at(0.4, lambda: cluster.ready("node-1", "False", "B", "b"))
    run = Run(cluster)
    run.fails(60)
    assert run.said_at[1] == 1001.0
    assert "node-1 NotReady (B: b)" in run.said[1]


def test_nothing_is_said_while_nothing_moves() -> None:
    cluster = Cluster()
    cluster.dead.add("node-1")
    run = Run(cluster)
    run.fails(600)
    assert len(run.said) == 2  # at the beginning, and when the lease of node-1 had run out


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (59.9, "59s"), (60, "1m0s"), (130, "2m10s"), (3720, "1h2m")]
)
def test_show_seconds(seconds: float, text: str) -> None:
    assert pool_sync.show_seconds(seconds) == text


# --- options ------------------------------------------------------------------------------------------------------


OPTIONS: Data = {"kubelet": {}, "swap_capacity": {}, "label_selector": None, "timeout": 600}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"kubelet": {"memorySwap": {"swapBehavior": None}}}, "kubelet: memorySwap.swapBehavior is null"),
        ({"timeout": -1}, "timeout -1"),
        ({"label_selector": ""}, "label_selector is empty"),
        ({"swap_capacity": {"node-1": "8GB"}}, "swap_capacity of node-1: '8GB'"),
    ],
)
def test_options_that_make_no_sense(options: Data, found: str) -> None:
    with pytest.raises(HostprepError) as raised:
        pool_sync.read_wanted({**OPTIONS, **options})
    assert raised.value.problems[0].found == found


def test_all_that_is_wrong_in_the_options_is_said_at_once() -> None:
    with pytest.raises(HostprepError) as raised:
        pool_sync.read_wanted({**OPTIONS, "timeout": -1, "swap_capacity": {"a": "x", "b": "y"}})
    assert len(raised.value.problems) == 3


def test_sizes_are_bytes_or_text() -> None:
    wanted = pool_sync.read_wanted({**OPTIONS, "swap_capacity": {"a": "1G", "b": 5}})
    assert wanted.swap_capacity == {"a": 1024**3, "b": 5}


def test_the_documentation_names_the_options_of_the_code() -> None:
    documented = yaml.safe_load(documentation.DOCUMENTATION)["options"]
    plain = {
        name: {key: value for key, value in option.items() if key != "description"}
        for name, option in documented.items()
    }
    assert plain == pool_sync.ARGUMENT_SPEC


def test_the_documentation_names_the_keys_that_are_returned() -> None:
    returned = yaml.safe_load(documentation.RETURN)
    report = Run(Cluster(failswapon=False)).until().wait.report()["node-1"]
    assert set(report) == set(returned["nodes"]["contains"])
    assert all(set(sample) == set(report) for sample in returned["nodes"]["sample"].values())
