"""What every body of a REST request keeps to: no unknown field, and true or false said plainly."""

from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not know: a misspelled one would be lost without a word."""

    def to_internal_value(self, data: Any) -> Any:
        known = ", ".join(self.fields)
        if not isinstance(data, dict):
            expected = f"must be a JSON object, {{…}}, with these fields: {known}"
            raise serializers.ValidationError({"non_field_errors": [expected]})
        if unknown := sorted(set(data) - set(self.fields)):
            raise serializers.ValidationError({name: [f"is no field here; known are {known}"] for name in unknown})
        return super().to_internal_value(data)


class StrictBoolean(serializers.BooleanField):
    """true or false of JSON, and no word for it: what hangs on it is worth being said plainly."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(f"{str(data)[:40]!r} is neither true nor false")
        return data
