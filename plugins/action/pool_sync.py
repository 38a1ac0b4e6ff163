# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait on the controller until every node of a pool runs what is wanted. Documented in plugins/modules/pool_sync.py."""

from __future__ import annotations

import time
import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.virt.hostprep.plugins.module_utils import pool
from ansible_collections.virt.hostprep.plugins.module_utils.plan import HostprepError, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import parse_size
from ansible_collections.virt.hostprep.plugins.plugin_utils import kube_api

Data = dict[str, t.Any]
Clock = t.Callable[[], float]
Say = t.Callable[[str], None]

ARGUMENT_SPEC: Data = {
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "nodes": {"type": "list", "elements": "str"},
    "label_selector": {"type": "str"},
    "kubelet": {"type": "dict", "default": {}},
    "swap_capacity": {"type": "dict", "default": {}},
    "timeout": {"type": "int", "default": 600},
}

_REREAD_SECONDS = 5.0  # /configz cannot be watched
_RETRY_SECONDS = 1.0
_LINE_SECONDS = 1.0  # between two progress lines


class Reader(t.Protocol):
    """What the wait needs of an API server: kube_api.Api, and the fake of the unit tests."""

    def nodes(self) -> dict[str, Data]: ...

    def leases(self) -> dict[str, Data] | None: ...

    def configz(self, nodes: t.Sequence[Data], /) -> list[kube_api.Configz]: ...

    def now(self) -> float: ...

    def wait(self, seconds: float, /) -> list[kube_api.Change]: ...

    def pause(self, seconds: float, /) -> None: ...


class OutOfTime(HostprepError):
    """The only error that more time might have healed."""


class Progress:
    """Says a line when it has something new to say, and not more than one a second."""

    def __init__(self, say: Say, clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._started = clock()
        self._said = ""
        self._said_at = -_LINE_SECONDS
        self._next = ""

    def show(self, text: str) -> None:
        self._next = text
        if self._clock() >= self._said_at + _LINE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Say what is still unsaid, now."""
        if self._next != self._said:
            self._said, self._said_at = self._next, self._clock()
            self._say(f"pool_sync: {self._next} · {show_seconds(self.seconds)}")

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def due(self) -> float:
        """In how many seconds there will be something to say; a long time if there is nothing."""
        return float("inf") if self._next == self._said else max(0.0, self._said_at + _LINE_SECONDS - self._clock())


class Wait:
    """The wait for one pool. verdicts holds the last judgement, also after an error."""

    def __init__(
        self, reader: Reader, names: t.Sequence[str] | None, wanted: pool.Wanted, say: Say, clock: Clock
    ) -> None:
        """names: the nodes of the pool; None: all that the reader selects."""
        self._reader = reader
        self._names = names
        self._wanted = wanted
        self._clock = clock
        self._progress = Progress(say, clock)
        self._members: set[str] = set()
        self._nodes: dict[str, Data] = {}
        self._leases: dict[str, Data] | None = {}
        self._renewals: dict[str, tuple[float | None, float | None]] = {}
        self._configz: dict[str, tuple[kube_api.Configz, float]] = {}
        self._in_sync_since: dict[str, float] = {}
        self._listed_at = clock()
        self._watching = False
        self._shown = ""
        self._reasons: dict[str, tuple[str, ...]] = {}
        self.verdicts: list[pool.Verdict] = []

    def until(self, timeout: float) -> None:
        """Returns when the pool is in sync; raises OutOfTime after so many seconds."""
        while True:
            try:
                if self._look():
                    break
                if self._progress.seconds >= timeout:
                    raise self._out_of_time()
                self._apply(self._reader.wait(self._pause(timeout)))
            except kube_api.WatchEnded:
                self._watching = False
                if self._clock() < self._listed_at + _RETRY_SECONDS:
                    self._reader.pause(_RETRY_SECONDS)  # a server that ends every watch at once is not to be flooded
            except kube_api.Unavailable as error:
                self._watching = False
                self._progress.show(f"the API server is away, asking again ({error})")
                if self._progress.seconds >= timeout:
                    raise self._out_of_time(away=str(error)) from error
                self._reader.pause(min(_RETRY_SECONDS, timeout - self._progress.seconds))
        self._progress.flush()

    def _look(self) -> bool:
        """Is the pool in sync? Raises HostprepError for what waiting will not heal."""
        if not self._watching:
            self._list()
        self._read_configz([verdict.name for verdict in self._judge() if not verdict.in_sync])
        if pool.in_sync(self._judge()):
            # A yes speaks of one moment: whatever is older is looked at again.
            self._read_configz(sorted(self._members))
            self._list()
            self._judge()
        problems = [problem for verdict in self.verdicts for problem in verdict.problems]
        if problems:
            raise HostprepError(*problems)
        self._progress.show(self._line())
        return pool.in_sync(self.verdicts)

    @property
    def seconds(self) -> float:
        return self._progress.seconds

    def report(self) -> Data:
        """The evidence by node, as pool_sync returns it."""
        now = self._progress.seconds
        return {verdict.name: verdict.as_dict(self._in_sync_since.get(verdict.name, now)) for verdict in self.verdicts}

    def _pause(self, timeout: float) -> float:
        """How long nothing needs to be done unless something changes."""
        now = self._clock()
        reread = [
            self._configz[verdict.name][1] + _REREAD_SECONDS - now if verdict.name in self._configz else 0.0
            for verdict in self.verdicts
            if not verdict.in_sync
        ]
        return max(0.0, min([*reread, timeout - self._progress.seconds, self._progress.due]))

    # --- evidence ---------------------------------------------------------------------------------------------------

    def _list(self) -> None:
        nodes = self._reader.nodes()
        if not self._members:
            self._members = self._resolve(nodes)
        self._nodes = {name: node for name, node in nodes.items() if self._belongs(name)}
        self._members |= self._nodes.keys()
        leases = self._reader.leases()
        self._leases = None if leases is None else {}
        for name, lease in (leases or {}).items():
            self._renew(name, lease)
        self._listed_at = self._clock()
        self._watching = True

    def _apply(self, changes: t.Iterable[kube_api.Change]) -> None:
        for change in changes:
            name = change.item["metadata"]["name"]
            if not self._belongs(name):
                continue
            if change.kind == "Lease":
                self._renew(name, None if change.event == "DELETED" else change.item)
            elif change.event == "DELETED":
                self._nodes.pop(name, None)
            else:
                self._members.add(name)
                self._nodes[name] = change.item
            if name not in self._in_sync_since:
                self._configz.pop(name, None)  # something happened there: ask its kubelet again

    def _belongs(self, name: str) -> bool:
        return self._names is None or name in self._names

    def _resolve(self, nodes: dict[str, Data]) -> set[str]:
        """The names of the pool's nodes, if they are all there."""
        there = f"the cluster has {', '.join(sorted(nodes)[:20]) or 'none'}{' and more' if len(nodes) > 20 else ''}"
        if self._names is None:
            if not nodes:
                raise HostprepError(
                    Problem(
                        found="a pool without nodes: the label selector selects none",
                        wanted="at least one node",
                        remedy="'kubectl get nodes --show-labels' shows what there is to select by; correct it",
                    )
                )
            members = set(nodes)
        else:
            members = set(self._names)
            missing = sorted(members - nodes.keys())
            if missing or not members:
                found = f"no node {', '.join(missing)}" if missing else "a pool without nodes: 'nodes' is empty"
                raise HostprepError(
                    Problem(
                        found=f"{found}; {there}",
                        wanted="nodes of this cluster",
                        remedy="correct the names, or the kubeconfig and context: this may be another cluster",
                    )
                )
        strangers = sorted(self._wanted.swap_capacity.keys() - members)
        if strangers:
            raise HostprepError(
                Problem(
                    found=f"swap_capacity for {', '.join(strangers)}, not in the pool",
                    wanted=f"only nodes of the pool: {', '.join(sorted(members)[:20])}",
                    remedy="correct the name, or add the node to the pool",
                )
            )
        return members

    def _renew(self, name: str, lease: Data | None) -> None:
        """Remember a Lease, and when we saw it renewed: that needs no clocks that agree."""
        if lease is None or self._leases is None:
            (self._leases or {}).pop(name, None)
            return
        self._leases[name] = lease
        renewed = pool.renew_time(lease)
        before, _seen_at = self._renewals.setdefault(name, (renewed, None))
        if before != renewed:
            self._renewals[name] = (renewed, self._clock())

    def _lease(self, name: str) -> pool.Lease | None:
        lease = (self._leases or {}).get(name)
        renewed, seen_at = self._renewals.get(name, (None, None))
        if lease is None or renewed is None:
            return None
        # A node whose clock is ahead is not alive for longer: the difference counts either way.
        ago = abs(self._reader.now() - renewed) if seen_at is None else self._clock() - seen_at
        return pool.Lease(ago, pool.lease_duration(lease))

    def _read_configz(self, names: t.Iterable[str]) -> None:
        """Ask the kubelets whose last answer is too old."""
        now = self._clock()
        due = [
            name
            for name in names
            if name in self._nodes and (name not in self._configz or now >= self._configz[name][1] + _REREAD_SECONDS)
        ]
        answers = self._reader.configz([self._nodes[name] for name in due]) if due else []
        for name, answer in zip(due, answers):
            self._configz[name] = (answer, self._clock())

    # --- verdicts ---------------------------------------------------------------------------------------------------

    def _judge(self) -> list[pool.Verdict]:
        self.verdicts = [pool.judge(name, self._evidence(name), self._wanted) for name in sorted(self._members)]
        for verdict in self.verdicts:
            if verdict.in_sync:
                self._in_sync_since.setdefault(verdict.name, self._progress.seconds)
            else:
                self._in_sync_since.pop(verdict.name, None)
        return self.verdicts

    def _evidence(self, name: str) -> pool.Evidence:
        answer = self._configz[name][0] if name in self._configz else kube_api.Configz(None, None, "not asked yet")
        return pool.Evidence(
            node=self._nodes.get(name),
            lease=self._lease(name),
            lease_readable=self._leases is not None,
            configz=answer.config,
            source=answer.source,
            unreadable=answer.unreadable,
        )

    def _line(self) -> str:
        """How many nodes run it, and the one of the others that moved last."""
        out = {verdict.name: verdict.waiting_for for verdict in self.verdicts if not verdict.in_sync}
        counts = f"{len(self.verdicts) - len(out)}/{len(self.verdicts)} nodes run it"
        if not out:
            return counts
        name = next((name for name in out if out[name] != self._reasons.get(name)), self._shown)
        self._shown = name if name in out else next(iter(out))
        self._reasons = out
        return f"{counts} · {self._shown} {out[self._shown][0]}"

    def _out_of_time(self, away: str = "") -> OutOfTime:
        """away: why the API server does not answer; then the states are those it last told."""
        self._progress.flush()
        out = [verdict for verdict in self.verdicts if not verdict.in_sync]
        found = f"after {show_seconds(self._progress.seconds)} "
        found += f"the API server does not answer ({away}); last known: " if away else ""
        found += f"{len(out)} of {len(self.verdicts)} nodes are not in sync"
        found += "".join(f"; {verdict.name}: {', '.join(verdict.waiting_for)}" for verdict in out)
        return OutOfTime(
            Problem(
                found=found,
                wanted="every node of the pool Ready, and its running kubelet with the wanted configuration",
                remedy=(
                    "bring the API server back ('kubectl get --raw /readyz'), then run again"
                    if away
                    else "'kubectl describe node' and 'journalctl -u kubelet' of these nodes say why; then run again"
                ),
            )
        )


def show_seconds(seconds: float) -> str:
    """45s, 2m10s, 1h2m."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60}s"
    return f"{whole // 3600}h{whole % 3600 // 60}m"


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Runs on the controller alone: no connection to the host is opened."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: Data | None = None) -> Data:
        result: Data = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            ARGUMENT_SPEC,
            mutually_exclusive=[("nodes", "label_selector")],
            required_one_of=[("nodes", "label_selector")],
        )
        wait: Wait | None = None
        api: kube_api.Api | None = None
        try:
            wanted = read_wanted(options)
            api = kube_api.Api(options["kubeconfig"], options["context"], options["label_selector"])
            wait = Wait(api, options["nodes"], wanted, self._display.display, time.monotonic)
            wait.until(0 if self._task.check_mode else options["timeout"])
        except OutOfTime as error:
            if self._task.check_mode and wait and wait.verdicts:
                self._display.display(f"pool_sync: would wait. {error.problems[0].found}")
            else:
                result.update(failure(error))
        except HostprepError as error:
            result.update(failure(error))
        finally:
            if api is not None:
                api.close()
        result.update(
            changed=False,
            nodes=wait.report() if wait else {},
            waited=round(wait.seconds, 1) if wait else 0.0,
        )
        return result


def failure(error: HostprepError) -> Data:
    return {"failed": True, "msg": str(error), "problems": [problem.as_dict() for problem in error.problems]}


def read_wanted(options: Data) -> pool.Wanted:
    """The options as the judge takes them, or one error with all that is wrong in them."""
    problems = [
        Problem(
            found=f"kubelet: {name} is null",
            wanted="a value: null means the default, which only the kubelet knows",
            remedy="write the value that is to be seen, or leave the key out",
        )
        for name in null_keys(options["kubelet"])
    ]
    if options["timeout"] < 0:
        problems.append(
            Problem(
                found=f"timeout {options['timeout']}",
                wanted="seconds, 0 or more",
                remedy="0 looks once; there is no wait without an end",
            )
        )
    if options["label_selector"] == "":
        problems.append(
            Problem(
                found="label_selector is empty",
                wanted="a selector: an empty one would mean every node of the cluster",
                remedy="write one such as node-role.kubernetes.io/worker, or name the nodes",
            )
        )
    sizes = {}
    for name, size in options["swap_capacity"].items():
        try:
            sizes[name] = parse_size(size, f"swap_capacity of {name}")
        except HostprepError as error:
            problems += error.problems
    if problems:
        raise HostprepError(*problems)
    return pool.Wanted(options["kubelet"], sizes)


def null_keys(settings: Data, path: str = "") -> list[str]:
    found = []
    for key, value in settings.items():
        name = f"{path}.{key}" if path else str(key)
        if value is None:
            found.append(name)
        elif isinstance(value, dict):
            found += null_keys(value, name)
    return found
