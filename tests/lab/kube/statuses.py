"""The API's errors: `Status` objects with the wording of a real API server."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """An answer that is no success: HTTP code, machine-readable reason, message for people, details."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def body(self) -> Json:
        """The `Status` object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if self.details is not None:
            status["details"] = self.details
        return status


def success(details: Json | None = None, code: int | None = None) -> Json:
    """The `Status` of a request that has no object to return."""
    status: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code is not None:
        status["code"] = code
    return status


def qualified(group: str, plural: str) -> str:
    """How messages name a resource: `nodes`, `deployments.apps`."""
    return f"{plural}.{group}" if group else plural


def details(group: str, plural: str, name: str = "") -> Json:
    """The part of a Status that says which object it is about; empty values are left out, as Go does."""
    found = {"name": name, "group": group, "kind": plural}
    return {key: value for key, value in found.items() if value}


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404: the object does not exist."""
    return ApiError(404, "NotFound", f'{qualified(group, plural)} "{name}" not found', details(group, plural, name))


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """409 on create."""
    return ApiError(
        409, "AlreadyExists", f'{qualified(group, plural)} "{name}" already exists', details(group, plural, name)
    )


def conflict(group: str, plural: str, name: str, why: str = "") -> ApiError:
    """409 on a stale resourceVersion or a precondition that does not hold."""
    why = why or ("the object has been modified; please apply your changes to the latest version and try again")
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, details(group, plural, name))


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    """403 about a resource."""
    about = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    return ApiError(403, "Forbidden", f"{about} is forbidden: {why}", details(group, plural, name))


def invalid(group: str, kind: str, name: str, field: str, why: str, reason: str = "FieldValueInvalid") -> ApiError:
    """422: one field of the object does not hold."""
    about = details(group, kind, name)
    about["causes"] = [{"reason": reason, "message": why, "field": field}]
    return ApiError(422, "Invalid", f'{qualified(group, kind)} "{name}" is invalid: {field}: {why}', about)


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    """405."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def unauthorized() -> ApiError:
    """401: a token that nobody has."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def page_not_found() -> ApiError:
    """404 for a path that is not served at all."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def expired(asked: int, oldest: int) -> ApiError:
    """410: the history before `oldest` is gone."""
    return ApiError(410, "Expired", f"too old resource version: {asked} ({oldest})")


def unsupported_media_type(accepted: list[str]) -> ApiError:
    """415."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiError(415, "UnsupportedMediaType", message, {})
