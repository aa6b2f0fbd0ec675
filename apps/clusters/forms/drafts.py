"""One parameter for a draft."""

from collections.abc import Sequence

from django import forms

from apps.clusters.domain.conf_secrets import mask_value
from apps.clusters.forms import fields


class ParameterForm(forms.Form):
    """instance: empty for every pgpool. An empty value is a value; the default has a box of its own."""

    name = fields.text("Parameter", max_length=100, list="parameter-names", hint="as pgpool.conf spells it")
    value = forms.CharField(
        label="New value",
        max_length=8000,
        required=False,
        strip=False,
        help_text="without quotes; empty is a value too",
        widget=forms.TextInput({"class": "in", "autocomplete": "off", "spellcheck": "false"}),
    )
    is_default = forms.BooleanField(label="its default instead, written out", required=False)
    instance = forms.ChoiceField(label="On", required=False, widget=forms.Select({"class": "in"}))

    def __init__(self, data: object = None, *, instance_names: Sequence[str], initial: object = None) -> None:
        super().__init__(data, initial=initial)  # type: ignore[arg-type]  # a QueryDict or nothing
        choices = [("", "every pgpool"), *((name, f"{name} only") for name in instance_names)]
        field = self.fields["instance"]
        if isinstance(field, forms.ChoiceField):
            field.choices = choices

    def forget_secret(self) -> None:
        """Before a refused form is shown again: a secret goes one way."""
        value = str(self.data.get("value") or "")
        if mask_value(str(self.data.get("name") or ""), value) != value:
            self.data = {**self.data, "value": ""}

    @property
    def wanted_value(self) -> str | None:
        return None if self.cleaned_data["is_default"] else self.cleaned_data["value"]
