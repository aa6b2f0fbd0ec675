"""Fields of what a workload lets one choose, whatever it is: each parameter says its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from apps.benchmarks.domain.workload_parameters import ParameterDescribed
from apps.benchmarks.domain.workloads import Workload
from apps.benchmarks.forms.scripts import ScriptsField

PREFIX = "parameter_"
_NUMBER = {"class": "in", "autocomplete": "off"}
# As Python spells what a run keeps.
_YES = str(True)
_YES_NO = (("", "as usual"), (_YES, "yes"), (str(False), "no"))


def fields_of(workload: Workload) -> dict[str, forms.Field]:
    """By the name of the field. Ranges are shown, and held by the workload itself."""
    return {f"{PREFIX}{name}": _field(parameter.described()) for name, parameter in workload.parameters.items()}


def initial_of(workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
    """given: of an earlier run; what it does not name is as usual."""
    return {f"{PREFIX}{name}": given.get(name, parameter.default) for name, parameter in workload.parameters.items()}


def values_of(workload: Workload, cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """As REST takes them. What was left empty is left out, so that it is as usual."""
    found = {name: cleaned.get(f"{PREFIX}{name}") for name in workload.parameters}
    return {name: value for name, value in found.items() if value is not None and value != ""}


def field_name(path: str) -> str:
    """Of what a story refused: parameters.scale -> parameter_scale; parameters.scripts.0.sql -> parameter_scripts."""
    kind, _, rest = path.partition(".")
    return f"{PREFIX}{rest.partition('.')[0]}" if kind == "parameters" and rest else path


def place_words(path: str) -> str:
    """Of a part inside a parameter: parameters.scripts.0.sql -> script 1, sql; "" for the whole."""
    _, _, inside = path.partition(".")[2].partition(".")
    position, _, field = inside.partition(".")
    if not position.isdigit():
        return inside
    return f"script {int(position) + 1}" + (f", {field}" if field else "")


def _field(described: ParameterDescribed) -> forms.Field:
    label = described["label"]
    if described["kind"] == "yes_no" and described["default"] is None:
        return forms.TypedChoiceField(
            label=label, required=False, choices=_YES_NO, coerce=_YES.__eq__, empty_value=None,
            widget=forms.Select({"class": "in"}),
        )  # fmt: skip
    if described["kind"] == "yes_no":
        return forms.BooleanField(label=label, required=False)
    if described["kind"] == "whole_number":
        return forms.IntegerField(
            label=label, required=False, help_text=_range(described), widget=forms.NumberInput(_NUMBER)
        )
    if described["kind"] == "choice":
        names = described["choices"] or []
        return forms.ChoiceField(
            label=label, required=False, choices=[(name, name) for name in names], widget=forms.Select({"class": "in"})
        )
    if described["kind"] == "scripts":
        return ScriptsField(label=label, required=False)
    return forms.JSONField(
        label=label, required=False, help_text="as JSON, as the REST interface takes it", widget=_Text()
    )


def _range(described: ParameterDescribed) -> str:
    unit = f" {described['unit']}" if described["unit"] else ""
    usual = "empty: none" if described["default"] is None else f"usually {described['default']:,}"
    if described["least"] is None or described["most"] is None:
        return usual
    return f"{described['least']:,} to {described['most']:,}{unit}; {usual}"


class _Text(forms.Textarea):
    def __init__(self) -> None:
        super().__init__({"class": "in mono", "rows": 6, "spellcheck": "false", "autocomplete": "off"})
