"""What the path and method of a request mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from lab.kube.statuses import method_not_allowed
from lab.kube.users import Access

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Target:
    """A request's target: a resource (with `plural`), or only a path."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    raw_query: str = ""
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # behind the subresource: what is asked of a proxy

    @property
    def watch(self) -> bool:
        """Whether a list is to be followed."""
        return self.query.get("watch", "") in ("true", "1")

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed."""
        return self.query.get("dryRun") == "All"

    @property
    def verb(self) -> str:
        """As in RBAC."""
        verb = _VERBS[self.method]
        if not self.plural:
            return self.method.lower()
        if self.name:
            return verb
        return {"get": "watch" if self.watch else "list", "delete": "deletecollection"}.get(verb, verb)

    def access(self) -> Access:
        """What the user has to be allowed."""
        if not self.plural:
            return Access(self.verb, path=self.path)
        resource = f"{self.plural}/{self.subresource}" if self.subresource else self.plural
        return Access(self.verb, self.group, resource, self.namespace, self.name)


def parse(method: str, url: str) -> Target:
    """Read a request line's method and target."""
    if method not in _VERBS:
        raise method_not_allowed()
    split = urlsplit(url)
    query = {key: values[-1] for key, values in parse_qs(split.query, keep_blank_values=True).items()}
    bare = Target(method, split.path, query, split.query)
    raw = split.path.strip("/").split("/")
    if raw[:2] == ["api", "v1"] and len(raw) > 2:
        group, version, raw = "", "v1", raw[2:]
    elif raw[0] == "apis" and len(raw) > 3:
        group, version, raw = raw[1], raw[2], raw[3:]
    else:
        return bare
    parts = [unquote(part) for part in raw]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts, raw = parts[1], parts[2:], raw[2:]
    return Target(
        method,
        split.path,
        query,
        split.query,
        group,
        version,
        plural=parts[0],
        namespace=namespace,
        name=parts[1] if len(parts) > 1 else "",
        subresource=parts[2] if len(parts) > 2 else "",
        rest="/".join(raw[3:]),
    )
