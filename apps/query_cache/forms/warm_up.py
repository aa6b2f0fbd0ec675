"""What a forecast is asked for, by page and REST alike: keys, a rate, and how often a table is written."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

_NUMBER = {"class": "in", "autocomplete": "off", "inputmode": "decimal"}
_AS_HERE = "empty: what is known of this cluster"
MOST_KEYS = 10**12
LEAST_PER_S, MOST_PER_S = 0.001, 10.0**9
LEAST_EVERY_S, MOST_EVERY_S = 0.001, 10.0**9


class _Figure(forms.FloatField):
    """A number within bounds; whatever else comes is named with what would be right."""

    expected = "a number from {least:,g} to {most:,.0f}"

    def __init__(self, label: str, *, least: float, most: float, **options: Any) -> None:
        self.wanted = self.expected.format(least=least, most=most)
        widget = forms.NumberInput({**_NUMBER, "step": "any"})
        super().__init__(label=label, min_value=least, max_value=most, required=False, widget=widget, **options)

    def clean(self, value: Any) -> float | None:
        try:
            found: float | None = super().clean(value)
            return found
        except ValidationError as error:
            raise ValidationError(f"{str(value)[:40]!r} is not possible; expected {self.wanted}.") from error


class _WholeFigure(_Figure):
    expected = "a whole number from {least:,g} to {most:,.0f}"

    def to_python(self, value: Any) -> Any:
        found = super().to_python(value)
        if found is not None and not float(found).is_integer():
            raise ValidationError(self.wanted)
        return None if found is None else int(found)


class WarmUpForm(forms.Form):
    """cleaned_data: as queries.warm_up takes it; None for what was left out."""

    keys = _WholeFigure("Keys: SELECTs that differ", least=1, most=MOST_KEYS, help_text=_AS_HERE)
    per_s = _Figure("Cacheable SELECTs per second", least=LEAST_PER_S, most=MOST_PER_S, help_text=_AS_HERE)
    write_every_s = _Figure(
        "Seconds between writes",
        least=LEAST_EVERY_S,
        most=MOST_EVERY_S,
        help_text="to one table, whose keys and SELECTs these are then; empty: no writes",
    )
