"""Errors of the REST interface as problem+json (RFC 9457): each names its field, what is wrong, what is right."""

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NoReturn

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.parsers import JSONParser
from rest_framework.response import Response

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
HOW_TO_SIGN_IN = (
    "Nobody is signed in. Send a token in the header Authorization: Bearer <token>; tokens are made in Settings."
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NAME = 40
# No request has use for more, and what looks at a body, or tells it back in words, goes down with it.
DEEPEST = 32
# How OpenAPI describes such an answer.
SHAPE: dict[str, Any] = {
    "type": "object",
    "description": "An error as RFC 9457 lays it out; `errors` names each field that was refused.",
    "properties": {
        "type": {"type": "string", "example": "urn:lifeguard:invalid"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["field", "reason"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": True,
}


class Problem(exceptions.APIException):
    """An answer that is not a success: kind (the last word of its type), HTTP status, title, detail, more facts."""

    def __init__(self, kind: str, status: int, title: str, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status_code = status
        self.title = title
        self.facts = facts


def invalid(**errors: str) -> NoReturn:
    """Refuse an input: field -> what is wrong with it and what would be right."""
    raise exceptions.ValidationError({field: [message] for field, message in errors.items()})


class StrictJSONParser(JSONParser):
    """JSON without NaN and Infinity, and without a key twice: of two values one would be lost without a word.

    Nor with texts that no database keeps: half a character (a lone surrogate), the character NUL. Nor nested deeper
    than DEEPEST: at the very limit of Python's recursion it is the answer that would fail.
    """

    strict = True

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        encoding = (parser_context or {}).get("encoding") or "utf-8"
        try:
            text = stream.read().decode(encoding)
            found = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant) if text else {}
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"the body is not valid JSON: {_printable(str(error))}") from error
        _refuse_broken_texts(found)
        return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} stands there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _refuse_broken_texts(whole: Any) -> None:
    """Looked for without recursion: the body may be nested as deep as the JSON reader goes."""
    left: list[tuple[str, int, Any]] = [("", 0, whole)]
    while left:
        field, depth, value = left.pop()
        if depth > DEEPEST and isinstance(value, dict | list):
            outermost = field.split(".")[0] if isinstance(whole, dict) else "body"
            invalid(**{outermost: f"is nested deeper than {DEEPEST} levels"})
        if isinstance(value, str):
            if trouble := _broken(value):
                invalid(**{field or "body": trouble})
        elif isinstance(value, dict):
            for name, inner in value.items():
                path = f"{field}.{_printable(name)[:_LONGEST_NAME]}".lstrip(".")
                if trouble := _broken(name):
                    invalid(**{path: f"in its name, {trouble}"})
                left.append((path, depth + 1, inner))
        elif isinstance(value, list):
            left += [(f"{field}.{position}".lstrip("."), depth + 1, inner) for position, inner in enumerate(value)]


def _broken(text: str) -> str:
    if "\0" in text:
        return r"the character NUL, \u0000, stands there, which no text here may hold"
    found = _SURROGATE.search(text)
    return (
        f"{_printable(found[0])} is half a character only; send both halves, or the character itself" if found else ""
    )


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\u0000")


def problem_answer(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler."""
    if isinstance(error, Http404):
        error = exceptions.NotFound(*error.args)
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(*error.args)
    elif isinstance(error, RequestDataTooBig):
        error = Problem("too-large", 413, "Too large", "body: is larger than 2.5 MiB")
    elif isinstance(error, OperationalError):
        logger.error("the database failed: %s", error)
        error = Problem("unavailable", 503, "Not available now", "Lifeguard's own database does not answer. Try again.")
    if not isinstance(error, exceptions.APIException):
        return None
    # DRF's views read this module by name while they load, so this one must not need them to load.
    from rest_framework.views import set_rollback

    set_rollback()
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]  # set by DRF's view on 401
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(int(error.wait))  # type: ignore[attr-defined]  # only Throttled has it
    return Response(_body(error), status=error.status_code, headers=headers, content_type=CONTENT_TYPE)


def _body(error: exceptions.APIException) -> dict[str, object]:
    detail = HOW_TO_SIGN_IN if isinstance(error, exceptions.NotAuthenticated) else str(error.detail)
    if isinstance(error, Problem):
        return {
            "type": f"urn:lifeguard:{error.kind}",
            "title": error.title,
            "status": error.status_code,
            "detail": str(error.detail),
            **error.facts,
        }
    if isinstance(error, exceptions.ValidationError):
        errors = flat(error.detail)
        return {
            "type": "urn:lifeguard:invalid",
            "title": "Not valid",
            "status": 400,
            "detail": "; ".join(f"{each['field']}: {each['reason']}" for each in errors),
            "errors": errors,
        }
    return {
        "type": f"urn:lifeguard:{str(error.default_code).replace('_', '-')}",
        "title": _title(error),
        "status": error.status_code,
        "detail": detail,
    }


def _title(error: exceptions.APIException) -> str:
    """DRF leaves a place for the method open in some of its words."""
    words = str(error.default_detail).rstrip(".")
    return HTTPStatus(error.status_code).phrase if "{" in words else words


def flat(detail: Any, field: str = "") -> list[dict[str, str]]:
    """Nested DRF errors -> [{field: "pgpools.0.port", reason}]."""
    if isinstance(detail, Mapping):
        return [found for name, inner in detail.items() for found in flat(inner, f"{field}.{name}".strip("."))]
    if isinstance(detail, list):
        found = []
        for position, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            found += flat(inner, f"{field}.{position}".strip(".") if nested else field)
        return found
    name = field.removesuffix(".non_field_errors").removesuffix("non_field_errors") or "body"
    return [{"field": name, "reason": str(detail)}]
