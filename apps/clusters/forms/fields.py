"""Fields that several forms share, and what each of them means to the reader."""

from typing import Any

from django import forms

from apps.clusters.models import Cluster

SSLMODE_WORDS = {
    "disable": "disable: clear text",
    "prefer": "prefer: TLS if offered, not verified",
    "require": "require: TLS, not verified",
    "verify-ca": "verify-ca: TLS, authority verified",
    "verify-full": "verify-full: TLS, host verified too",
}


class SecretText(forms.Textarea):
    """Several lines that go one way, as a password does: no page ever holds them again."""

    def __init__(self, rows: int) -> None:
        super().__init__({"class": "in mono", "rows": rows, "autocomplete": "off", "spellcheck": "false"})

    def format_value(self, value: object) -> str:
        return ""


def text(label: str, *, max_length: int, hint: str = "", required: bool = True, **attributes: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=max_length,
        required=required,
        help_text=hint,
        widget=forms.TextInput({"class": "in", "autocomplete": "off", "spellcheck": "false", **attributes}),
    )


def secret(label: str, *, hint: str = "", required: bool = True) -> forms.CharField:
    """A password goes one way: no page ever holds it again."""
    return forms.CharField(
        label=label,
        max_length=1000,
        strip=False,
        required=required,
        help_text=hint,
        widget=forms.PasswordInput({"class": "in", "autocomplete": "new-password"}, render_value=False),
    )


def password_for_new_address() -> forms.CharField:
    return secret(
        "Password of the monitoring role",
        hint="only for a new address: the stored one is not sent there",
        required=False,
    )


def port(label: str, *, required: bool = True, **attributes: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=1,
        max_value=65535,
        required=required,
        widget=forms.NumberInput({"class": "in", "autocomplete": "off", **attributes}),
    )


def az(label: str = "Availability zone") -> forms.CharField:
    return text(label, max_length=40, required=False, placeholder="not set")


def role_name(label: str = "Monitoring role") -> forms.CharField:
    return text(label, max_length=63, hint="on pgpool and on every backend; it needs pg_monitor and nothing else")


def sslmode() -> forms.ChoiceField:
    modes: Any = Cluster._meta.get_field("sslmode").choices
    return forms.ChoiceField(
        label="TLS",
        choices=[(mode, SSLMODE_WORDS.get(mode, mode)) for mode, _ in modes],
        widget=forms.Select({"class": "in"}),
    )
