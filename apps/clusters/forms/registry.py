"""The form that takes a registry as a file, and beside it the secrets that stand in no file."""

from typing import Any

from django import forms

from apps.clusters.domain import registry_yaml


class Unechoed(forms.Textarea):
    """What is typed here is never sent back to a browser."""

    def format_value(self, value: Any) -> str:
        return ""


class RegistryForm(forms.Form):
    file = forms.FileField(
        label="Registry file", help_text="YAML, at most 1 MiB", widget=forms.FileInput({"class": "in"})
    )
    secrets = forms.CharField(
        label="Secrets",
        required=False,
        strip=False,
        max_length=100_000,
        help_text="one a line, as LIFEGUARD_ORDERS_PASSWORD=…; those of unchanged addresses may be left out",
        widget=Unechoed({"class": "in mono", "rows": 4, "autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_file(self) -> list[Any]:
        """The clusters that it describes."""
        file = self.cleaned_data["file"]
        if file.size > registry_yaml.LARGEST_BYTES:
            raise forms.ValidationError("The file is larger than 1 MiB: that is no registry.")
        try:
            return registry_yaml.load(file.read().decode("utf-8"))
        except UnicodeDecodeError as error:
            raise forms.ValidationError("The file is not UTF-8 text.") from error
        except registry_yaml.RegistryUnreadable as error:
            raise forms.ValidationError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error

    def clean_secrets(self) -> dict[str, str]:
        found = {}
        for number, line in enumerate(self.cleaned_data["secrets"].splitlines(), start=1):
            name, sign, value = line.partition("=")
            if not line.strip():
                continue
            if not sign or not name.strip():
                raise forms.ValidationError(f"Line {number} must be NAME=secret.")
            found[name.strip()] = value
        return found
