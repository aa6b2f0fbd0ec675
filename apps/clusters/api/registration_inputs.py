"""Bodies of requests that register, change or import clusters; what they mean is checked by the registry."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery.outcomes import LARGEST_FILE_BYTES
from apps.clusters.registry.cluster_wanted import LONGEST_WAIT_H, delivery_errors, too_many
from apps.clusters.registry.registration import (
    BackendWanted,
    ClusterWanted,
    DeliveryWanted,
    PcpWanted,
    PgpoolWanted,
    RegistrationRefused,
)
from controlplane.problems import flat

SSLMODES = ["disable", "prefer", "require", "verify-ca", "verify-full"]


class Port(serializers.IntegerField):
    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=65535, **options)


class PcpInput(StrictSerializer):
    port = Port()
    user = serializers.CharField(max_length=63)
    password = serializers.CharField(max_length=1000, write_only=True, trim_whitespace=False)


class DeliveryInput(StrictSerializer):
    """Which fields there are goes by the kind; delivery_errors knows."""

    kind = serializers.ChoiceField(choices=PgpoolInstance.Delivery.values)
    path = serializers.CharField(max_length=1000, required=False, default="", allow_blank=True)
    host = serializers.CharField(
        max_length=253,
        required=False,
        allow_blank=True,
        help_text="of ssh: where sshd is, if not where pgpool is",
    )
    port = Port(required=False, help_text="of ssh; 22 unless told")
    user = serializers.CharField(max_length=63, required=False, allow_blank=True, help_text="of ssh")
    host_key = serializers.CharField(
        max_length=100, required=False, allow_blank=True, help_text="of ssh: SHA256:… of the host key, once compared"
    )
    sudo = serializers.BooleanField(required=False, help_text="of ssh: the script runs by sudo")
    text = serializers.CharField(
        max_length=LARGEST_FILE_BYTES,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        write_only=True,
        help_text="of manual: the pgpool.conf as it is now; what is published already stays without it",
    )
    wait_h = serializers.IntegerField(
        min_value=1, max_value=LONGEST_WAIT_H, required=False, help_text="of manual: hours; 24 unless told"
    )

    restart = serializers.CharField(
        max_length=60,
        required=False,
        allow_blank=True,
        help_text="of local: the name of a command that the installation allows; of ssh: script; left out: by hand",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if errors := delivery_errors(attrs):
            raise serializers.ValidationError(errors)
        return attrs


class PgpoolInput(StrictSerializer):
    name = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    host = serializers.CharField(max_length=253)
    port = Port()
    az = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    pcp = PcpInput(required=False, allow_null=True, default=None)
    delivery = DeliveryInput(required=False, default=lambda: {"kind": "observe", "path": ""})


class BackendInput(StrictSerializer):
    node_id = serializers.IntegerField(min_value=0, max_value=127)
    host = serializers.CharField(max_length=253, required=False, default="", allow_blank=True)
    port = Port(required=False, allow_null=True, default=None)
    az = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)


class ClusterSizedInput(StrictSerializer):
    """Refuses more pgpools and backends than a cluster has: each of them would be asked."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        errors = too_many(pgpools=len(attrs.get("pgpools", ())), backends=len(attrs.get("backends", ())))
        if errors:
            raise serializers.ValidationError(errors)
        return attrs


class ClusterInput(ClusterSizedInput):
    name = serializers.CharField(max_length=120)
    slug = serializers.SlugField(max_length=60, required=False, default="", allow_blank=True)
    username = serializers.CharField(max_length=63)
    password = serializers.CharField(max_length=1000, write_only=True, trim_whitespace=False)
    sslmode = serializers.ChoiceField(choices=SSLMODES, required=False, default="prefer")
    has_synthetic_azs = serializers.BooleanField(required=False, default=False)
    observe_only = StrictBoolean(required=False, default=False)
    pgpools = PgpoolInput(many=True, allow_empty=False)
    backends = BackendInput(many=True, required=False, default=list)

    def wanted(self) -> ClusterWanted:
        given = self.validated_data
        return ClusterWanted(
            name=given["name"],
            slug=given["slug"],
            username=given["username"],
            password=given["password"],
            sslmode=given["sslmode"],
            has_synthetic_azs=given["has_synthetic_azs"],
            is_observe_only=given["observe_only"],
            pgpools=tuple(pgpool_wanted(each) for each in given["pgpools"]),
            backends=tuple(BackendWanted(**each) for each in given["backends"]),
        )


def cluster_wanted(described: Mapping[str, Any]) -> ClusterWanted:
    """A description by names and values, as a file holds it. Raises RegistrationRefused with each field that is off."""
    form = ClusterInput(data=described)
    if not form.is_valid():
        raise RegistrationRefused({each["field"]: each["reason"] for each in flat(form.errors)})
    return form.wanted()


def pgpool_wanted(given: dict[str, Any]) -> PgpoolWanted:
    pcp = given["pcp"]
    return PgpoolWanted(
        host=given["host"],
        port=given["port"],
        name=given["name"],
        az=given["az"],
        pcp=PcpWanted(pcp["port"], pcp["user"], pcp["password"]) if pcp else None,
        delivery=DeliveryWanted.of(given["delivery"]),
    )


class BackendChangeInput(StrictSerializer):
    node_id = serializers.IntegerField(min_value=0, max_value=127)
    host = serializers.CharField(max_length=253, required=False, allow_blank=True)
    port = Port(required=False, allow_null=True)
    az = serializers.CharField(max_length=40, required=False, allow_blank=True)


class PgpoolChangeInput(StrictSerializer):
    """An instance that is there already, known by its name; what is left out stays."""

    name = serializers.CharField(max_length=80)
    host = serializers.CharField(max_length=253, required=False)
    port = Port(required=False)
    az = serializers.CharField(max_length=40, required=False, allow_blank=True)
    pcp = PcpInput(required=False, allow_null=True)
    delivery = DeliveryInput(required=False)


class ClusterChangeInput(ClusterSizedInput):
    name = serializers.CharField(max_length=120, required=False)
    username = serializers.CharField(max_length=63, required=False)
    password = serializers.CharField(
        max_length=1000,
        write_only=True,
        trim_whitespace=False,
        required=False,
        help_text="needed with a new host or port of a pgpool or backend, to which the stored one is not sent",
    )
    sslmode = serializers.ChoiceField(choices=SSLMODES, required=False)
    pgpools = PgpoolChangeInput(many=True, required=False)
    backends = BackendChangeInput(many=True, required=False)
