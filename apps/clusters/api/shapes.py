"""OpenAPI shapes from the TypedDicts that the reads return, so that each answer is described once."""

from typing import Any

from drf_spectacular.plumbing import resolve_type_hint
from drf_spectacular.utils import OpenApiParameter

from controlplane.problems import CONTENT_TYPE, SHAPE


def answer(shape: Any, *problems: int, status: int = 200) -> dict[Any, Any]:
    """The responses of an operation: its shape, and a problem for each status that it may refuse with."""
    found: dict[Any, Any] = {status: _schema(shape) if shape is not None else None}
    for refused in (401, 403, *problems):
        found[(refused, CONTENT_TYPE)] = SHAPE
    return found


def listed(shape: Any) -> dict[str, Any]:
    """A list's answer: one page of results, and the address of the next page or null."""
    return {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": _schema(shape)},
            "next": {"type": "string", "nullable": True},
        },
        "required": ["results", "next"],
    }


def page_of(shape: Any, *problems: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {200: listed(shape)}
    for refused in (401, 403, *problems):
        found[(refused, CONTENT_TYPE)] = SHAPE
    return found


BEFORE = OpenApiParameter("before", int, description="only what is older than this id or number: the next page")
LIMIT = OpenApiParameter("limit", int, description="how many, 1 to 200; 50 unless told")
ORGANISATION = OpenApiParameter(
    "organisation", str, description="for a browser session of a member of several organisations: which one"
)


def _schema(shape: Any) -> Any:
    # drf-spectacular types it in part only.
    return _with_tuples(resolve_type_hint(shape))  # type: ignore[no-untyped-call]


def _with_tuples(schema: Any) -> Any:
    """drf-spectacular takes a tuple for many of its first type, as long as a text of so many characters.

    OpenAPI 3.0 has one schema for every place of an array, so any place of a tuple may be null.
    """
    if isinstance(schema, list):
        return [_with_tuples(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _with_tuples(inner) for name, inner in schema.items()}
    if found.get("type") == "array" and "minLength" in found:
        found["minItems"], found["maxItems"] = found.pop("minLength"), found.pop("maxLength")
        found["items"] = {**found["items"], "nullable": True}
    return found
