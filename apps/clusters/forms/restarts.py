"""The form that restarts pgpools one after the other."""

from collections.abc import Sequence
from typing import cast

from django import forms

from apps.clusters.control.restarts import LONGEST_NOTE
from apps.clusters.forms import fields


class RestartForm(forms.Form):
    """names: of all pgpools that can be restarted from here; those that wait for a restart are ticked."""

    instances = forms.MultipleChoiceField(
        label="Which pgpools",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one pgpool."},
    )
    note = fields.text("Why", max_length=LONGEST_NOTE, hint="for the audit trail; may stay empty", required=False)

    def __init__(self, *args: object, names: Sequence[str], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed on as they came
        cast("forms.MultipleChoiceField", self.fields["instances"]).choices = [(name, name) for name in names]
