"""The form by which an admin allows load on a cluster, and says how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from apps.benchmarks.control.access import (
    FIELDS,
    LONGEST_DURATION_S,
    MOST_CLIENTS,
    QUEUE,
    QUEUE_EXPECTED,
    AccessRefused,
)
from apps.clusters.forms import fields
from apps.clusters.forms.refusals import sentence


def _number(label: str, hint: str, most: int) -> forms.IntegerField:
    widget = forms.NumberInput({"class": "in", "autocomplete": "off"})
    return forms.IntegerField(label=label, min_value=1, max_value=most, help_text=hint, widget=widget)


class AccessForm(forms.Form):
    """has_password: whether one is stored, which stays where the field is left empty."""

    is_on = forms.BooleanField(label="This cluster may be put under load", required=False)
    database = fields.text("Database", max_length=63, hint="tables of the workloads are made anew there, as pgbench_…")
    username = fields.text("Role", max_length=63, hint="that may create tables there, through every pgpool too")
    password = fields.secret("Password of this role", required=False)
    most_clients = _number("Clients at most", "of one run, all servers together", MOST_CLIENTS)
    most_duration_s = _number("Seconds at most", "of one run, its warm-up included", LONGEST_DURATION_S)
    most_lag_s = forms.FloatField(
        label="Replay lag at most, s",
        min_value=0.1,
        required=False,
        help_text="a run is stopped once a standby is further behind; empty: lag is not watched",
        widget=forms.NumberInput({"class": "in", "autocomplete": "off", "step": "any"}),
    )
    most_failed_percent = forms.FloatField(
        label="Failed transactions at most, %",
        min_value=0,
        max_value=100,
        required=False,
        help_text="a run is stopped once a larger part of its transactions failed; empty: not watched",
        widget=forms.NumberInput({"class": "in", "autocomplete": "off", "step": "any"}),
    )
    queue = forms.RegexField(
        QUEUE,
        label="Queue of the workers",
        strip=True,
        help_text="bench, or bench-… of workers that stand where the applications do",
        error_messages={"invalid": f"It {QUEUE_EXPECTED}."},
        widget=forms.TextInput({"class": "in mono", "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, stored: Mapping[str, Any], has_password: bool) -> None:
        share = stored.get("most_failed_share")
        percent = None if share is None else round(share * 100, 6)
        super().__init__(data, initial={**stored, "most_failed_percent": percent})
        self.fields["password"].help_text = (
            "empty: as it is; it is never shown again" if has_password else "stored encrypted and never shown again"
        )

    def changes(self) -> dict[str, Any]:
        """As access.change takes it."""
        percent = self.cleaned_data["most_failed_percent"]
        cleaned = {**self.cleaned_data, "most_failed_share": None if percent is None else percent / 100}
        changed = {name: cleaned[name] for name in FIELDS}
        return {**changed, "password": cleaned["password"]} if cleaned["password"] else changed

    def refuse(self, error: AccessRefused) -> None:
        self.add_error(error.field if error.field in self.fields else None, sentence(error.expected))
