"""One pgpool: where it listens, its PCP, its availability zone, how its pgpool.conf is delivered."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from apps.clusters.forms import fields
from apps.clusters.forms.delivery import DELIVERY_FIELDS, DeliveryFields, typed_delivery
from apps.clusters.forms.refusals import told
from apps.clusters.models import PgpoolInstance
from apps.clusters.registry.cluster_wanted import DeliveryWanted, PcpWanted, PgpoolWanted
from apps.clusters.registry.restart_commands import allowed_commands

# Names of the input as stories tell them -> fields here, where those differ.
_FIELDS = {
    "pcp": "pcp_port",
    "pcp.port": "pcp_port",
    "pcp.user": "pcp_user",
    "pcp.password": "pcp_password",
    "delivery.kind": "delivery",
    "delivery": "path",
}


def delivery_directories(organisation_slug: str) -> list[str]:
    """Where this organisation's pgpool.conf may be, on the worker's own host."""
    return [
        str(directory.path)
        for directory in settings.LOCAL_DELIVERY_DIRECTORIES
        if directory.organisation in (None, organisation_slug)
    ]


class PgpoolForm(DeliveryFields):
    """organisation: its slug, which says what local delivery may write in, and what it may be restarted by."""

    host = fields.text("Host", max_length=253, placeholder="10.0.4.21")
    port = fields.port("Port", placeholder="9999")
    name = fields.text("Name", max_length=80, required=False)
    az = fields.az()
    pcp_port = fields.port("PCP port", required=False, placeholder="9898")
    pcp_user = fields.text("PCP user", max_length=63, required=False)
    pcp_password = fields.secret("PCP password", required=False)

    def __init__(self, *args: Any, organisation: str, number: int = 1, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = number
        self.offer_restarts(sorted(allowed_commands(organisation)))
        directories = delivery_directories(organisation)
        self.fields["name"].widget.attrs["placeholder"] = f"pgpool-{number}"
        self.fields["path"].help_text = (
            f"a local file: inside {', '.join(directories)}"
            if directories
            else "no local directory is allowed here yet: LIFEGUARD_LOCAL_DELIVERY_DIRS names them"
        )

    @property
    def is_blank(self) -> bool:
        """A row that was added and never filled in; the port is there from the start."""
        told = ("host", "name", "az", "pcp_user", "pcp_password", "path", "ssh_host", "ssh_user", "text")
        return self.is_bound and not any((self.data.get(self.add_prefix(name)) or "").strip() for name in told)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._check_pcp(cleaned)
        self.check_delivery(cleaned)
        return cleaned

    def _check_pcp(self, cleaned: dict[str, Any]) -> None:
        names = ("pcp_port", "pcp_user", "pcp_password")
        if any(name not in cleaned for name in names) or not any(cleaned[name] for name in names):
            return
        for name in names:
            if not cleaned[name] and not self._may_miss(name):
                self.add_error(name, "PCP needs port, user and password; leave all three empty to do without it.")

    def _may_miss(self, name: str) -> bool:
        """Whether this part of PCP may be left out."""
        return False

    def refuse(self, errors: Mapping[str, str]) -> list[str]:
        """errors: by the story's names, as delivery.path. Gives back those that no field here is for."""
        return told(self, {(_FIELDS | DELIVERY_FIELDS).get(name, name): message for name, message in errors.items()})

    def wanted(self) -> PgpoolWanted:
        given = self.cleaned_data
        return PgpoolWanted(
            host=given["host"],
            port=given["port"],
            name=given["name"],
            az=given["az"],
            pcp=PcpWanted(given["pcp_port"], given["pcp_user"], given["pcp_password"]) if given["pcp_port"] else None,
            delivery=DeliveryWanted.of(self.delivery_given()),
        )


class PgpoolChangeForm(PgpoolForm):
    """A pgpool that is registered: filled in from its row, but for the password, which stays unless typed anew."""

    def __init__(self, *args: Any, instance: PgpoolInstance, **kwargs: Any) -> None:
        initial = {
            "host": instance.host,
            "port": instance.port,
            "pcp_port": instance.pcp_port,
            "pcp_user": instance.pcp_username,
            **typed_delivery(instance),
        }
        super().__init__(*args, initial=initial, prefix=f"pgpool-{instance.pk}", **kwargs)
        self.instance = instance
        # The name is the key of its history, and zones have a form of their own.
        del self.fields["name"], self.fields["az"]
        self.fields["password"] = fields.password_for_new_address()
        if instance.pcp_port:
            self.fields["pcp_password"].help_text = "leave empty to keep the stored one; a new host needs it again"

    def _may_miss(self, name: str) -> bool:
        is_same = not {"pcp_port", "pcp_user"} & set(self.changed_data)
        return name == "pcp_password" and bool(self.instance.pcp_port) and is_same

    @property
    def password(self) -> str:
        """Empty unless the address is a new one: credentials have a form of their own."""
        is_moved = any(self.cleaned_data[name] != getattr(self.instance, name) for name in ("host", "port"))
        return str(self.cleaned_data["password"]) if is_moved else ""

    def changes(self) -> dict[str, Any]:
        """What differs, in the shape that registry_changes takes; what is left out stays."""
        given = self.cleaned_data
        changed: dict[str, Any] = {
            name: given[name] for name in ("host", "port") if given[name] != getattr(self.instance, name)
        }
        if given["pcp_password"]:
            changed["pcp"] = {"port": given["pcp_port"], "user": given["pcp_user"], "password": given["pcp_password"]}
        elif self.instance.pcp_port and not given["pcp_port"]:
            changed["pcp"] = None
        if self.has_new_delivery():
            changed["delivery"] = self.delivery_given()
        return changed
