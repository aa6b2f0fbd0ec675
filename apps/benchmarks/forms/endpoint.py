"""The form of an endpoint: where it is, what it is, and what it takes."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.benchmarks.control.endpoints import FIELDS, MOST_SESSIONS, EndpointRefused
from apps.benchmarks.models import BenchmarkEndpoint
from apps.clusters.forms import fields
from apps.clusters.forms.refusals import sentence

Kind = BenchmarkEndpoint.Kind
KIND_WORDS = {
    Kind.POOLER: "pooler, as PgBouncer",
    Kind.ROUTER: "router, as SPQR: may lead to other servers",
    Kind.BALANCER: "balancer, as HAProxy: passes bytes on",
    Kind.OTHER: "other",
}


class EndpointForm(forms.Form):
    """Of one that is there, whose name stays: runs are kept under it."""

    host = fields.text("Host", max_length=253, hint="one name or address, as the workers reach it")
    port = fields.port("Port")
    kind = forms.ChoiceField(
        label="Kind", choices=[(kind.value, words) for kind, words in KIND_WORDS.items()],
        widget=forms.Select({"class": "in"}),
    )  # fmt: skip
    most_sessions = forms.IntegerField(
        label="Sessions at most",
        min_value=1,
        max_value=MOST_SESSIONS,
        required=False,
        help_text="as max_client_conn of PgBouncer; empty: not known",
        widget=forms.NumberInput({"class": "in", "autocomplete": "off"}),
    )
    takes_writes = forms.BooleanField(
        label="Its sessions come to the primary, so what writes may go there", required=False
    )
    stands_before_pgpools = forms.BooleanField(
        label="It stands before all pgpools and spreads its sessions evenly, so the fullest of them limits its room",
        required=False,
    )

    @property
    def ticks(self) -> list[forms.BoundField]:
        return [self["takes_writes"], self["stands_before_pgpools"]]

    def facts(self) -> dict[str, Any]:
        """As endpoints.add and change take them."""
        return {name: self.cleaned_data[name] for name in FIELDS}

    def refuse(self, error: EndpointRefused) -> None:
        self.add_error(error.field if error.field in self.fields else None, sentence(error.expected))


class NewEndpointForm(EndpointForm):
    name = fields.text("Name", max_length=63, hint="for good, as PgBouncer on bouncer-1: runs are kept under it")

    field_order = ("name",)
