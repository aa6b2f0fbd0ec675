"""Inputs of measurements: a number is a number, and what stands inside lists is named by the domain."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

_NUMBER = {"type": "number", "minimum": 0, "exclusiveMinimum": True}
# A text keeps the zeros at its end, which say how exact the figure is.
_PRINTED = {"oneOf": [_NUMBER, {"type": "string", "example": "8364.560"}], "nullable": True}


@extend_schema_field({"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 1000})
class MeasurementsField(serializers.JSONField):
    """One value a run, in the order of the runs."""


@extend_schema_field(_PRINTED)
class PrintedField(serializers.JSONField):
    """A figure as printed, a number or its text; null where it is not known."""

    def __init__(self, help_text: str) -> None:
        super().__init__(required=False, allow_null=True, default=None, help_text=help_text)


@extend_schema_field(
    {"type": "array", "items": {"oneOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}, "nullable": True}
)
class PrintedListField(PrintedField):
    """The same of several figures."""


class NumberField(serializers.FloatField):
    """No text for a number, and no true for 1."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float) or not abs(data) < 1e300:
            raise serializers.ValidationError(f"{str(data)[:40]!r} is not possible; expected a number")
        return float(data)
