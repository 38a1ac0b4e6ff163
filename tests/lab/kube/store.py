"""The objects, one counter of resource versions, and the history that watches read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from lab.kube.statuses import Json, expired

_FIRST = 1000  # clusters are never at 0; versions before this one are "too old", as after a compaction
_HISTORY = 10_000  # events


class Key(NamedTuple):
    """Where an object is stored: all versions of a group share it."""

    group: str
    plural: str
    namespace: str
    name: str


class Event(NamedTuple):
    """One change. `before` and `after` are whole objects; before a creation and after a removal there is none."""

    version: int
    key: Key
    before: Json | None
    after: Json | None


class Store:
    """Stored objects are never changed in place: whoever wants a change puts another object.

    Callers hold `changed` (a re-entrant lock that is notified of every change) over what has to be atomic.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = _FIRST
        self._objects: dict[Key, Json] = {}
        self._events: deque[Event] = deque(maxlen=_HISTORY)

    def get(self, key: Key) -> Json | None:
        """The object, or None."""
        with self.changed:
            return self._objects.get(key)

    def select(self, group: str, plural: str, namespace: str = "") -> list[tuple[Key, Json]]:
        """Objects of one resource, in one namespace or in all, by namespace and name."""
        with self.changed:
            found = [
                (key, obj)
                for key, obj in self._objects.items()
                if key.group == group and key.plural == plural and namespace in ("", key.namespace)
            ]
        return sorted(found, key=lambda pair: pair[0])

    def inside(self, namespace: str) -> list[Key]:
        """Everything in a namespace."""
        with self.changed:
            return [key for key in self._objects if key.namespace == namespace]

    def put(self, key: Key, obj: Json) -> Json:
        """Store an object under a new resource version and return it with that version."""
        with self.changed:
            before = self._objects.get(key)
            stored = self._stamped(obj)
            self._objects[key] = stored
            self._record(key, before, stored)
            return stored

    def remove(self, key: Key) -> Json:
        """Remove an object; returns its last state, with the resource version of the removal."""
        with self.changed:
            last = self._stamped(self._objects.pop(key))
            self._record(key, last, None)
            return last

    def since(self, version: int, group: str, plural: str) -> Iterator[Event]:
        """The changes of one resource after `version`; 410 Expired if the history does not reach back so far."""
        with self.changed:
            oldest = self._events[0].version - 1 if len(self._events) == _HISTORY else _FIRST
            if version < oldest:
                raise expired(version, oldest)
            found: list[Event] = []
            for event in reversed(self._events):
                if event.version <= version:
                    break
                if event.key.group == group and event.key.plural == plural:
                    found.append(event)
        return reversed(found)

    def dump(self) -> Json:
        """Everything, as JSON data, for load()."""
        with self.changed:
            return {
                "version": self.version,
                "objects": [[*key, obj] for key, obj in self._objects.items()],
                "events": [[event.version, event.key, event.before, event.after] for event in self._events],
            }

    def load(self, data: Json) -> None:
        """Continue where the store that was dumped ended."""
        with self.changed:
            self.version = data["version"]
            self._objects = {Key(*row[:4]): row[4] for row in data["objects"]}
            for version, key, before, after in data["events"]:
                self._events.append(Event(version, Key(*key), before, after))

    def _stamped(self, obj: Json) -> Json:
        self.version += 1
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}

    def _record(self, key: Key, before: Json | None, after: Json | None) -> None:
        self._events.append(Event(self.version, key, before, after))
        self.changed.notify_all()
