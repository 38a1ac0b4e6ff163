"""Label and field selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.kube.statuses import Json, bad_request

Matcher = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(rf"({_KEY})\s*(=|==|!=)\s*({_VALUE})")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")


def labels(selector: str) -> Matcher:
    """The matcher of a label selector in its text form: `a=b,c!=d,e in (f,g),h,!i`."""
    requirements = [_requirement(part.strip()) for part in _split(selector)]
    return lambda found: all(requirement(found) for requirement in requirements)


def label_object(selector: Json | None) -> Matcher:
    """The matcher of a LabelSelector object; an empty one matches everything, None nothing."""
    if selector is None:
        return lambda _found: False
    requirements = [_values(key, "in", [value]) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression["key"], expression["operator"].lower()
        if operator in ("exists", "doesnotexist"):
            requirements.append(_exists(key, operator == "exists"))
        else:
            requirements.append(_values(key, operator, expression["values"]))
    return lambda found: all(requirement(found) for requirement in requirements)


def fields(selector: str, supported: Sequence[str]) -> Callable[[Json], bool]:
    """The matcher of a field selector; 400 for a field that this resource cannot be selected by."""
    wanted: list[tuple[str, bool, str]] = []
    for part in filter(None, selector.split(",")):
        found = re.fullmatch(r"\s*([A-Za-z.]+)\s*(=|==|!=)(.*)", part)
        if not found:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{part}'")
        path, operator, value = found.groups()
        if path not in ("metadata.name", "metadata.namespace", *supported):
            raise bad_request(f"field label not supported: {path}")
        wanted.append((path, operator != "!=", value.strip()))
    return lambda obj: all((_field(obj, path) == value) is equal for path, equal, value in wanted)


def _field(obj: Json, path: str) -> str:
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool) or value is None:
        return "true" if value else "false" if path == "spec.unschedulable" else ""
    return str(value)


def _split(selector: str) -> list[str]:
    """At the commas outside of parentheses."""
    return [part for part in re.split(r",(?![^()]*\))", selector) if part.strip()]


def _requirement(part: str) -> Matcher:
    if found := _SET.fullmatch(part):
        return _values(found[1], found[2], [value.strip() for value in found[3].split(",")])
    if found := _EQUAL.fullmatch(part):
        return _values(found[1], "notin" if found[2] == "!=" else "in", [found[3]])
    if found := _EXISTS.fullmatch(part):
        return _exists(found[2], not found[1])
    raise bad_request(f'unable to parse requirement: found "{part}", expected a label selector')


def _values(key: str, operator: str, values: Sequence[str]) -> Matcher:
    if operator == "in":
        return lambda found: found.get(key) in values
    return lambda found: found.get(key) not in values


def _exists(key: str, wanted: bool) -> Matcher:
    return lambda found: (key in found) is wanted
