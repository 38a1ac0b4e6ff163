"""Protobuf, as far as kubectl speaks it: newer ones send the requests of their typed clients in it.

A body is `k8s\\0` and a runtime.Unknown {typeMeta: 1 {apiVersion: 1, kind: 2}, raw: 2}. The tables below name the
fields that the lab reads, by their numbers in the generated.proto files of k8s.io/api and apimachinery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.kube.statuses import ApiError, Json

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

# Types of fields: a table is a message, str and int are scalars, [type] repeats, dict is map<string, string>.
Table = dict[int, tuple[str, Any]]

_META: Table = {1: ("name", str), 2: ("generateName", str), 3: ("namespace", str), 11: ("labels", dict)}
_META[12] = ("annotations", dict)
_OPTIONS: Table = {
    1: ("gracePeriodSeconds", int),
    2: ("preconditions", {1: ("uid", str), 2: ("resourceVersion", str)}),
    4: ("propagationPolicy", str),
    5: ("dryRun", [str]),
}
_ACCESS: Table = {
    1: ("namespace", str),
    2: ("verb", str),
    3: ("group", str),
    4: ("version", str),
    5: ("resource", str),
    6: ("subresource", str),
    7: ("name", str),
}
_SPEC: Table = {1: ("resourceAttributes", _ACCESS), 2: ("nonResourceAttributes", {1: ("path", str), 2: ("verb", str)})}
_KINDS: dict[str, Table] = {
    "ConfigMap": {1: ("metadata", _META), 2: ("data", dict)},
    "DeleteOptions": _OPTIONS,
    "Eviction": {1: ("metadata", _META), 2: ("deleteOptions", _OPTIONS)},
    "Namespace": {1: ("metadata", _META)},
    "SelfSubjectAccessReview": {1: ("metadata", _META), 2: ("spec", _SPEC)},
    "ServiceAccount": {1: ("metadata", _META)},
}
_UNKNOWN: Table = {1: ("typeMeta", {1: ("apiVersion", str), 2: ("kind", str)}), 2: ("raw", bytes)}


def decode(body: bytes) -> Json:
    """The object in a request's body; 415 for a kind that has no table."""
    unknown = _message(body.removeprefix(_MAGIC), _UNKNOWN)
    kind = unknown["typeMeta"]["kind"]
    if kind not in _KINDS:
        raise ApiError(415, "UnsupportedMediaType", f"the lab's API reads {kind} as JSON only, got protobuf", {})
    return {**unknown["typeMeta"], **_message(unknown.get("raw", b""), _KINDS[kind])}


def field(number: int, value: bytes) -> bytes:
    """A length-delimited field, encoded."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def text(number: int, value: str) -> bytes:
    """A string field, encoded."""
    return field(number, value.encode())


def _message(data: bytes, table: Table) -> Json:
    """The known fields of a message that are set; empty strings count as not set, as in Go's JSON."""
    found: Json = {}
    for number, value in _fields(data):
        if number not in table:
            continue
        name, kind = table[number]
        if isinstance(kind, list):
            found.setdefault(name, []).append(_value(value, kind[0]))
        elif kind is dict:
            entry = _message(value, {1: ("key", str), 2: ("value", str)})
            found.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
        elif value != b"":
            found[name] = _value(value, kind)
    return found


def _value(value: Any, kind: Any) -> Any:
    if isinstance(kind, dict):
        return _message(value, kind)
    return value.decode() if kind is str else value


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            length, at = _read_varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ApiError(400, "BadRequest", f"protobuf wire type {tag & 7} is not expected here")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
