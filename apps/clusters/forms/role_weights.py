"""The form of weights by role: in per cent and minutes, as people say it."""

from decimal import Decimal
from typing import Any

from django import forms

from apps.clusters.forms.rollout_plans import ABSENT_CHOICES, absent_plan


class RoleWeightsForm(forms.Form):
    primary_percent = forms.DecimalField(
        label="Reads on the primary, %",
        min_value=Decimal(0),
        max_value=Decimal(100),
        max_digits=5,
        decimal_places=2,
        error_messages={"invalid": "Give a number from 0 to 100."},
    )
    applies_itself = forms.BooleanField(label="Roll out without a person when the roles change", required=False)
    pause_min = forms.IntegerField(
        label="Between two such rollouts at least, minutes", min_value=0, max_value=10080, required=False, initial=10
    )

    absent = forms.ChoiceField(
        label="A pgpool that cannot be reached then", choices=ABSENT_CHOICES, required=False, initial="refuse",
        widget=forms.Select({"class": "in"}),
    )  # fmt: skip

    def wanted(self) -> dict[str, Any]:
        """As the story takes it."""
        pause_min, absent = self.cleaned_data["pause_min"], absent_plan(self.cleaned_data["absent"])
        return {
            "primary_share": float(self.cleaned_data["primary_percent"] / 100),
            "applies_itself": self.cleaned_data["applies_itself"],
            "pause_s": 600 if pause_min is None else pause_min * 60,
            **(absent or {"absent": "refuse"}),
        }
