"""Forms of the settings page: each changes one thing that is registered."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from apps.clusters.forms import fields
from apps.clusters.forms.backends import BackendForm, direct_address
from apps.clusters.forms.refusals import beside, sentence, told
from apps.clusters.models import Cluster, PgpoolInstance


class NameForm(forms.Form):
    name = fields.text("Name", max_length=120, hint="its name in addresses stays")

    def changes(self) -> dict[str, Any]:
        return {"name": self.cleaned_data["name"]}

    def refuse(self, errors: Mapping[str, str]) -> list[str]:
        return told(self, errors)


class CredentialsForm(forms.Form):
    """What every pgpool and every backend is asked with; tried on all of them before it is stored."""

    username = fields.role_name()
    password = fields.secret("Password", hint="stored encrypted and never shown again")
    sslmode = fields.sslmode()

    def changes(self) -> dict[str, Any]:
        return dict(self.cleaned_data)

    def refuse(self, errors: Mapping[str, str]) -> list[str]:
        return told(self, errors)


class ZoneForm(forms.Form):
    """The availability zone of one pgpool."""

    az = fields.az()

    def __init__(self, data: QueryDict | None, *, instance: PgpoolInstance) -> None:
        super().__init__(data, prefix=f"zone-{instance.pk}", initial={"az": instance.az})
        self.instance = instance


class NewAddressForm(forms.Form):
    """What a new address of a backend needs besides itself."""

    password = fields.password_for_new_address()


class PlacesForm:
    """Where every pgpool and backend of a cluster runs."""

    def __init__(self, data: QueryDict | None, *, cluster: Cluster) -> None:
        self.zones = [ZoneForm(data, instance=instance) for instance in cluster.instances.order_by("name", "pk")]
        self._backends = {backend.node_id: backend for backend in cluster.backends.order_by("node_id")}
        self.backends = [self._backend(data, node_id) for node_id in self._backends]
        self.new_address = NewAddressForm(data, prefix="places")

    def _backend(self, data: QueryDict | None, node_id: int) -> BackendForm:
        backend = self._backends[node_id]
        initial = {"described": str(backend), "az": backend.az, "address": direct_address(backend)}
        return BackendForm(data, node_id=node_id, initial=initial)

    def is_valid(self) -> bool:
        return all([part.is_valid() for part in (*self.zones, *self.backends, self.new_address)])  # noqa: C419  # for all their errors

    def changes(self) -> dict[str, Any]:
        """Only what differs, and the password where an address does."""
        password = self.new_address.cleaned_data["password"]
        is_moved = any("address" in form.changed_data for form in self.backends)
        return ({"password": password} if is_moved and password else {}) | {
            "pgpools": [
                {"name": zone.instance.name, "az": zone.cleaned_data["az"]}
                for zone in self.zones
                if "az" in zone.changed_data
            ],
            "backends": [self._changed(form) for form in self.backends if {"az", "address"} & set(form.changed_data)],
        }

    def _changed(self, form: BackendForm) -> dict[str, Any]:
        wanted = form.wanted()
        changed: dict[str, Any] = {"node_id": form.node_id, "az": wanted.az}
        if "address" in form.changed_data:
            changed |= {"host": wanted.host, "port": wanted.port}
        return changed

    def refuse(self, errors: Mapping[str, str]) -> list[str]:
        """errors: as pgpools.0.az or backends.1.host, counted in what changes() gave."""
        zones = [zone for zone in self.zones if "az" in zone.changed_data]
        backends = [form for form in self.backends if {"az", "address"} & set(form.changed_data)]
        others = []
        for name, message in errors.items():
            if beside(self.new_address, name, message):
                continue
            kind, _, rest = name.partition(".")
            position, _, field = rest.partition(".")
            among: Sequence[forms.Form] = zones if kind == "pgpools" else backends if kind == "backends" else ()
            index = int(position) if position.isdigit() else len(among)
            if index >= len(among) or not beside(among[index], "az" if field == "az" else "address", message):
                others.append(sentence(message))
        return others


class RemovalForm(forms.Form):
    """Typed, not clicked: what goes away with a cluster does not come back."""

    nothing_done = "nothing was removed"

    def __init__(self, data: QueryDict | None = None, *, expected: str, prefix: str | None = None) -> None:
        super().__init__(data, prefix=prefix)
        self.expected = expected
        self.fields["confirm"] = fields.text(f"Type {expected} to confirm", max_length=80)

    def clean_confirm(self) -> str:
        confirm: str = self.cleaned_data["confirm"]
        if confirm != self.expected:
            raise forms.ValidationError(f"This is not {self.expected}: {self.nothing_done}.")
        return confirm


class ObserveForm(RemovalForm):
    """Typed too: how every pgpool.conf is delivered is forgotten, or nothing at all can be changed any more."""

    nothing_done = "nothing was changed"

    def refuse(self, errors: Mapping[str, str]) -> list[str]:
        return told(self, errors)
