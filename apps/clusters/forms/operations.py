"""The form that attaches, detaches or drains a backend."""

from django import forms

from apps.clusters.control.backend_operations import DEFAULT_WAIT_S, LONGEST_REASON, LONGEST_WAIT_S
from apps.clusters.forms import fields


class OperationForm(forms.Form):
    """is_drain: whether it waits, and for how long."""

    reason = fields.text("Why", max_length=LONGEST_REASON, hint="for the audit trail; may stay empty", required=False)
    wait_minutes = forms.IntegerField(
        label="Wait for sessions, minutes at most",
        min_value=0,
        max_value=LONGEST_WAIT_S // 60,
        initial=DEFAULT_WAIT_S // 60,
        help_text="then it asks whether to go on",
        widget=forms.NumberInput({"class": "in", "autocomplete": "off"}),
    )

    def __init__(self, *args: object, is_drain: bool, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed on as they came
        if not is_drain:
            del self.fields["wait_minutes"]

    @property
    def wait_limit_s(self) -> int:
        minutes = self.cleaned_data.get("wait_minutes")
        return DEFAULT_WAIT_S if minutes is None else int(minutes) * 60
