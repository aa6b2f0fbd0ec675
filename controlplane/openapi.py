"""Completes the OpenAPI description: every operation may answer with a problem (RFC 9457)."""

from typing import Any

PROBLEM = {
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
_ANSWER = {
    "description": "What was refused or failed, and why.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def describe_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            if isinstance(operation, dict) and "responses" in operation:
                operation["responses"].setdefault("default", _ANSWER)
    return result
