"""Who may do what: users with tokens, groups, and rules as in a ClusterRole."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.kube import statuses
from lab.kube.statuses import ApiError

# A rule is what a ClusterRole has in `rules`: {verbs, apiGroups, resources, resourceNames} or
# {verbs, nonResourceURLs}. Here it holds in the whole cluster.
Rule = dict[str, list[str]]

ADMIN, KUBELET_CLIENT = "kubernetes-admin", "kube-apiserver-kubelet-client"
MASTERS, NODES = "system:masters", "system:nodes"
_AUTHENTICATED, _UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"

_PUBLIC = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_PUBLIC]
_GROUP_RULES: dict[str, list[Rule]] = {
    MASTERS: [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ],
    NODES: [
        {
            "verbs": ["create", "get", "list", "watch", "update", "patch"],
            "apiGroups": [""],
            "resources": ["nodes", "nodes/status"],
        },
        {
            "verbs": ["create", "get", "update", "patch", "delete"],
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
        },
        {"verbs": ["get", "list", "watch", "create", "delete"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["update", "patch"], "apiGroups": [""], "resources": ["pods/status"]},
        {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps", "secrets"]},
        {"verbs": ["create", "update", "patch"], "apiGroups": [""], "resources": ["events"]},
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"]},
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"]},
    ],
    _AUTHENTICATED: [
        {"verbs": ["get"], "nonResourceURLs": _DISCOVERY},
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"]},
    ],
    _UNAUTHENTICATED: [{"verbs": ["get"], "nonResourceURLs": _PUBLIC}],
}


@dataclass(frozen=True)
class User:
    """Who a request comes from."""

    name: str
    groups: tuple[str, ...]


ANONYMOUS = User("system:anonymous", (_UNAUTHENTICATED,))


@dataclass(frozen=True)
class Access:
    """What somebody wants to do, with a resource or (`path`) without one."""

    verb: str
    group: str = ""
    resource: str = ""  # plural, with the subresource: nodes/proxy
    namespace: str = ""
    name: str = ""
    path: str = ""

    def refused(self, user: User) -> ApiError:
        """The 403 that says so."""
        if self.path:
            message = f'forbidden: User "{user.name}" cannot {self.verb} path "{self.path}"'
            return ApiError(403, "Forbidden", message, {})
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        why = f'User "{user.name}" cannot {self.verb} resource "{self.resource}" in API group "{self.group}" {where}'
        return statuses.forbidden(self.group, self.resource.partition("/")[0], self.name, why)


@dataclass(frozen=True)
class _Account:
    token: str
    groups: tuple[str, ...]
    rules: tuple[Rule, ...]


class Users:
    """The accounts, kept in a file so that tokens stay valid when the API is started again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._accounts: dict[str, _Account] = {}
        if path.exists():
            for name, account in json.loads(path.read_text(encoding="utf-8")).items():
                self._accounts[name] = _Account(account["token"], tuple(account["groups"]), tuple(account["rules"]))

    def add(self, name: str, groups: Sequence[str] = (), rules: Sequence[Rule] = ()) -> str:
        """Make an account, or give an existing one other groups and rules; returns its token, which stays."""
        with self._lock:
            known = self._accounts.get(name)
            token = known.token if known else secrets.token_urlsafe(24)
            self._accounts[name] = _Account(token, tuple(groups), tuple(rules))
            new = self._path.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_text(json.dumps({key: asdict(value) for key, value in self._accounts.items()}), encoding="utf-8")
            os.replace(new, self._path)
            return token

    def by_token(self, token: str) -> User | None:
        """Whose token it is."""
        for name, account in self._accounts.items():
            if secrets.compare_digest(account.token.encode(), token.encode()):
                return User(name, (*account.groups, _AUTHENTICATED))
        return None

    def authenticate(self, authorization: str | None) -> User:
        """The user of an Authorization header; without one it is anonymous, with a wrong one 401."""
        if not authorization:
            return ANONYMOUS
        scheme, _separator, token = authorization.partition(" ")
        user = self.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise statuses.unauthorized()
        return user

    def allowed(self, user: User, access: Access) -> bool:
        """Whether any rule of the user or of their groups grants it."""
        account = self._accounts.get(user.name)
        rules = [*(account.rules if account else ()), *(rule for group in user.groups for rule in _of_group(group))]
        return any(_grants(rule, access) for rule in rules)


def _of_group(group: str) -> list[Rule]:
    return _GROUP_RULES.get(group, [])


def _grants(rule: dict[str, Any], access: Access) -> bool:
    if not _covers(rule["verbs"], access.verb):
        return False
    if access.path:
        return any(_path_matches(url, access.path) for url in rule.get("nonResourceURLs", ()))
    names = rule.get("resourceNames")
    return (
        _covers(rule.get("apiGroups", ()), access.group)
        and _covers(rule.get("resources", ()), access.resource)
        and (not names or access.name in names)
    )


def _covers(values: Sequence[str], wanted: str) -> bool:
    subresource = wanted.partition("/")[2]
    return "*" in values or wanted in values or bool(subresource and f"*/{subresource}" in values)


def _path_matches(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else path == url
