"""TokenReview and (Self)SubjectAccessReview: how kubelets ask who somebody is and what they may do."""

from __future__ import annotations

from lab.kube.statuses import Json
from lab.kube.users import Access, User, Users


def answer(users: Users, kind: str, asking: User, body: Json) -> Json:
    """The review with its status filled in."""
    spec = body.get("spec") or {}
    if kind == "TokenReview":
        return {**body, "status": _token(users, spec.get("token", ""))}
    if kind == "SubjectAccessReview":
        asking = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
    return {**body, "status": _access(users, asking, spec)}


def _token(users: Users, token: str) -> Json:
    user = users.by_token(token)
    if user is None:
        return {"authenticated": False, "user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": {"username": user.name, "groups": list(user.groups)}}


def _access(users: Users, user: User, spec: Json) -> Json:
    if "resourceAttributes" in spec:
        asked = spec["resourceAttributes"]
        resource = "/".join(filter(None, (asked.get("resource", ""), asked.get("subresource", ""))))
        access = Access(
            asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", "")
        )
    else:
        asked = spec.get("nonResourceAttributes") or {}
        access = Access(asked.get("verb", ""), path=asked.get("path", "/"))
    return {"allowed": True} if users.allowed(user, access) else {"allowed": False}
