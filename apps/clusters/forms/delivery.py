"""How a pgpool.conf is delivered: the fields of every way stand in one form, those of the chosen one count."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from apps.clusters.forms import fields
from apps.clusters.forms.refusals import sentence
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.registry.cluster_wanted import BY_SCRIPT, DEFAULT_WAIT_H, LONGEST_WAIT_H, delivery_errors

Delivery = PgpoolInstance.Delivery
_CHOICES = [
    (Delivery.OBSERVE.value, "Observe only: never writes"),
    (Delivery.LOCAL.value, "Local file: on the worker's own host"),
    (Delivery.SSH.value, "SSH: on another host"),
    (Delivery.MANUAL.value, "By hand: published here, applied by others"),
]
# Name in a delivery as registry takes it -> field of the form, and the ways that it belongs to. What stands in a field
# of another way is no mistake, but for a path beside observe only, which somebody meant to be written.
_FIELDS = {
    "path": ("path", {"observe", "local", "ssh"}),
    "host": ("ssh_host", {"ssh"}),
    "port": ("ssh_port", {"ssh"}),
    "user": ("ssh_user", {"ssh"}),
    "host_key": ("host_key", {"ssh"}),
    "sudo": ("sudo", {"ssh"}),
    "text": ("text", {"manual"}),
    "wait_h": ("wait_h", {"manual"}),
    "restart": ("restart", {"local", "ssh"}),
}
# Names of the input as stories tell them -> fields here.
DELIVERY_FIELDS = {f"delivery.{name}": field for name, (field, _) in _FIELDS.items()}


class DeliveryFields(forms.Form):
    delivery = forms.ChoiceField(
        label="How its pgpool.conf is delivered", choices=_CHOICES, widget=forms.Select({"class": "in"})
    )
    path = fields.text("Path of pgpool.conf", max_length=1000, required=False, placeholder="/etc/pgpool2/pgpool.conf")
    ssh_host = fields.text("SSH host", max_length=253, required=False, placeholder="where pgpool is")
    ssh_port = fields.port("SSH port", required=False, placeholder="22")
    ssh_user = fields.text("Account", max_length=63, required=False, placeholder="lifeguard")
    sudo = forms.BooleanField(label="Its script runs by sudo", required=False)
    host_key = fields.text(
        "Fingerprint of the host key",
        max_length=100,
        required=False,
        hint="leave it empty and test: the test shows the host's own, to be compared and put here",
        placeholder="SHA256:…",
    )
    wait_h = forms.IntegerField(
        label="Wait for it, in hours",
        min_value=1,
        max_value=LONGEST_WAIT_H,
        required=False,
        widget=forms.NumberInput({"class": "in", "placeholder": str(DEFAULT_WAIT_H)}),
    )
    restart = forms.ChoiceField(label="How it is restarted", required=False, widget=forms.Select({"class": "in"}))
    text = forms.CharField(
        label="The pgpool.conf as it is now",
        max_length=1 << 20,
        strip=False,
        required=False,
        help_text="stored encrypted and not shown here again; what is published already need not be given anew",
        widget=fields.SecretText(rows=4),
    )

    def offer_restarts(self, commands: Sequence[str]) -> None:
        """commands: names of those that the installation allows on the worker's own host."""
        field = cast("forms.ChoiceField", self.fields["restart"])
        field.choices = [
            ("", "By hand: Lifeguard says when, and waits"),
            (BY_SCRIPT, "SSH: by the restart program on its host"),
            *((name, f"Local: by the command {name}") for name in commands),
        ]

    @property
    def delivery_fields(self) -> list[forms.BoundField]:
        return [self["delivery"], *(self[field] for field, _ in _FIELDS.values())]

    def check_delivery(self, cleaned: Mapping[str, Any]) -> None:
        if "delivery" not in cleaned:
            return
        for name, message in delivery_errors(_given(cleaned)).items():
            field = _FIELDS[name][0]
            if field not in self.errors:
                self.add_error(field, sentence(message))

    def delivery_given(self) -> dict[str, Any]:
        """As registry takes it."""
        return _given(self.cleaned_data)

    def has_new_delivery(self) -> bool:
        kind = self.cleaned_data["delivery"]
        return bool(
            {"delivery", *(field for field, kinds in _FIELDS.values() if kind in kinds)} & set(self.changed_data)
        )


def _given(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    kind = cleaned["delivery"]
    given = {"kind": kind, "path": ""}
    for name, (field, kinds) in _FIELDS.items():
        if kind in kinds and cleaned.get(field):
            given[name] = cleaned[field]
    return given


def typed_delivery(instance: PgpoolInstance) -> dict[str, Any]:
    """A registered one, as if it were typed; but for its text."""
    return {
        "delivery": instance.delivery_kind,
        "path": instance.delivery_path,
        "ssh_host": instance.ssh_host,
        "ssh_port": instance.ssh_port,
        "ssh_user": instance.ssh_username,
        "sudo": instance.has_sudo,
        "host_key": fingerprint(instance.ssh_host_key) if instance.ssh_host_key else "",
        "wait_h": instance.longest_wait_h,
        "restart": instance.restart_command,
    }
