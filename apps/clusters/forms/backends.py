"""One backend: its availability zone, and where Lifeguard asks it if pgpool reaches it elsewhere."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from apps.clusters.forms import fields
from apps.clusters.models import Backend
from apps.clusters.registry.cluster_wanted import BackendWanted


class BackendForm(forms.Form):
    """described: how the backend was shown, kept so that a refused form can show it again."""

    described = forms.CharField(required=False, max_length=400, widget=forms.HiddenInput)
    az = fields.az()
    address = fields.text("Ask it at", max_length=260, required=False, placeholder="as pgpool does")

    def __init__(
        self, data: QueryDict | None = None, *, node_id: int, initial: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data, prefix=f"backend-{node_id}", initial=dict(initial or {}))
        self.node_id = node_id

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        host, colon, port = address.rpartition(":")
        if address and not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise forms.ValidationError("Give host:port, as 10.0.4.31:5432, or leave it empty.")
        return address

    def wanted(self) -> BackendWanted:
        host, _, port = self.cleaned_data["address"].rpartition(":")
        return BackendWanted(self.node_id, host.strip("[]"), int(port) if port else None, self.cleaned_data["az"])


def direct_address(backend: Backend) -> str:
    """Empty while Lifeguard asks the backend where pgpool does."""
    if not backend.direct_host and backend.direct_port is None:
        return ""
    host = f"[{backend.asked_host}]" if ":" in backend.asked_host else backend.asked_host
    return f"{host}:{backend.asked_port}"
