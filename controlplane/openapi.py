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
    for path, operations in result.get("paths", {}).items():
        for operation in operations.values():
            if isinstance(operation, dict) and "responses" in operation:
                for status in (*_refusals(path, operation), "default"):
                    operation["responses"].setdefault(status, _ANSWER)
                operation["responses"] = dict(sorted(operation["responses"].items()))
    return result


def _refusals(path: str, operation: dict[str, Any]) -> list[str]:
    """401 and 403 of every operation, 400 of one that reads an input, 404 of one that names what it is about."""
    is_asked = "requestBody" in operation or any(each["in"] == "query" for each in operation.get("parameters", ()))
    return ["401", "403", *(["400"] if is_asked else []), *(["404"] if "{" in path else [])]
