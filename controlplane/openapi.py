"""Completes the OpenAPI description: every operation may answer with a problem (RFC 9457)."""

from typing import Any

from controlplane.problems import SHAPE

_ANSWER = {
    "description": "What was refused or failed, and why.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def describe_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = SHAPE
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            if isinstance(operation, dict) and "responses" in operation:
                operation["responses"].setdefault("default", _ANSWER)
    return result
