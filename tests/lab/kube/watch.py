"""Watches: changes of one resource as a stream of events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from lab.kube.operations import matcher
from lab.kube.resources import Resource
from lab.kube.statuses import ApiError, Json, bad_request
from lab.kube.store import Event, Store
from lab.kube.target import Target

_DEFAULT_SECONDS = 1800.0
_BOOKMARK_SECONDS = 60.0
_LAST_BOOKMARK_SECONDS = 2.0  # before the end
_LOOK_SECONDS = 1.0  # how often a quiet watch looks whether its client has gone


class Watch:
    """One watch. Making it checks the request; events() follows the store."""

    def __init__(self, store: Store, resource: Resource, target: Target) -> None:
        self._store, self._resource, self._namespace = store, resource, target.namespace
        self._matches = matcher(resource, target)
        self._asked = _number(target.query.get("resourceVersion", ""))
        self._bookmarks = target.query.get("allowWatchBookmarks", "") in ("true", "1")
        self._deadline = time.monotonic() + float(target.query.get("timeoutSeconds") or _DEFAULT_SECONDS)

    def events(self, ended: Callable[[], bool]) -> Iterator[Json]:
        """Its events until its timeout or until `ended()`.

        From the given resourceVersion; without one (or with 0) first ADDED for everything that there is.
        """
        resource, store = self._resource, self._store
        with store.changed:
            version = self._asked or store.version
            there = [] if self._asked else store.select(resource.group, resource.plural, self._namespace)
        for _key, obj in there:
            if self._matches(obj):
                yield _event("ADDED", resource, obj)
        bookmark = min(time.monotonic() + _BOOKMARK_SECONDS, self._deadline - _LAST_BOOKMARK_SECONDS)
        while time.monotonic() < self._deadline and not ended():
            with store.changed:
                try:
                    fresh = list(store.since(version, resource.group, resource.plural))
                except ApiError as error:  # in the stream, as a real server does it once it has accepted a watch
                    yield {"type": "ERROR", "object": error.body()}
                    return
                version = max(version, store.version)
                if not fresh:
                    store.changed.wait(min(_LOOK_SECONDS, max(self._deadline - time.monotonic(), 0)))
            for event in fresh:
                if self._namespace in ("", event.key.namespace):
                    yield from _translated(resource, event, self._matches)
            if self._bookmarks and time.monotonic() >= bookmark:
                yield _bookmark(resource, version)
                bookmark = time.monotonic() + _BOOKMARK_SECONDS


def _translated(resource: Resource, event: Event, matches: Callable[[Json], Any]) -> Iterator[Json]:
    """The change as this watch sees it: an object that leaves the selection is DELETED for it."""
    was = event.before is not None and matches(event.before)
    if event.after is not None and matches(event.after):
        yield _event("MODIFIED" if was else "ADDED", resource, event.after)
    elif was and event.before is not None:
        metadata = {**event.before["metadata"], "resourceVersion": str(event.version)}
        yield _event("DELETED", resource, {**event.before, "metadata": metadata})


def _event(kind: str, resource: Resource, obj: Json) -> Json:
    return {"type": kind, "object": {**obj, "apiVersion": resource.api_version}}


def _bookmark(resource: Resource, version: int) -> Json:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return {
        "type": "BOOKMARK",
        "object": {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    }


def _number(version: str) -> int:
    if not version:
        return 0
    if not version.isdigit():
        raise bad_request(
            f'invalid resource version "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        )
    return int(version)
