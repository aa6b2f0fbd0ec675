"""Bodies of REST requests, field by field; what they mean is checked by the stories."""

from typing import Any

from rest_framework import serializers

from apps.clusters.cluster_wanted import too_many
from apps.clusters.models import PgpoolInstance
from apps.clusters.registration import (
    BackendWanted,
    ClusterWanted,
    DeliveryWanted,
    PcpWanted,
    PgpoolWanted,
)

SSLMODES = ["disable", "prefer", "require", "verify-ca", "verify-full"]


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not know: a misspelled one would be lost without a word."""

    def to_internal_value(self, data: Any) -> Any:
        known = ", ".join(self.fields)
        if not isinstance(data, dict):
            expected = f"must be a JSON object, {{…}}, with these fields: {known}"
            raise serializers.ValidationError({"non_field_errors": [expected]})
        if unknown := sorted(set(data) - set(self.fields)):
            raise serializers.ValidationError({name: [f"is no field here; known are {known}"] for name in unknown})
        return super().to_internal_value(data)


class Port(serializers.IntegerField):
    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=65535, **options)


class PcpInput(StrictSerializer):
    port = Port()
    user = serializers.CharField(max_length=63)
    password = serializers.CharField(max_length=1000, write_only=True, trim_whitespace=False)


class DeliveryInput(StrictSerializer):
    kind = serializers.ChoiceField(choices=PgpoolInstance.Delivery.values)
    path = serializers.CharField(max_length=1000, required=False, default="", allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["kind"] == "local" and not attrs["path"].startswith("/"):
            raise serializers.ValidationError({"path": "must be the absolute path of pgpool.conf for local delivery"})
        if attrs["kind"] == "observe" and attrs["path"]:
            raise serializers.ValidationError({"path": "observe only writes no file: leave the path out"})
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
            pgpools=tuple(pgpool_wanted(each) for each in given["pgpools"]),
            backends=tuple(BackendWanted(**each) for each in given["backends"]),
        )


def pgpool_wanted(given: dict[str, Any]) -> PgpoolWanted:
    pcp = given["pcp"]
    return PgpoolWanted(
        host=given["host"],
        port=given["port"],
        name=given["name"],
        az=given["az"],
        pcp=PcpWanted(pcp["port"], pcp["user"], pcp["password"]) if pcp else None,
        delivery=DeliveryWanted(given["delivery"]["kind"], given["delivery"]["path"]),
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


class WeightsInput(StrictSerializer):
    """Weights are read by the story, which names the backend and the fault; here only the frame is looked at."""

    weights = serializers.JSONField(required=False)
    per_instance = serializers.JSONField(required=False)
    note = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("weights", "per_instance") if name in attrs]
        if len(given) == 2:
            raise serializers.ValidationError({"weights": "give weights or per_instance, not both"})
        if not given and attrs["base"] != "live":
            raise serializers.ValidationError({"weights": 'is missing, as {"0": 0, "1": 1, "2": 3}'})
        return attrs


class RoutingVerdictInput(StrictSerializer):
    weights = serializers.JSONField()
    select_counts = serializers.JSONField()
    sessions = serializers.FloatField(allow_null=True, min_value=0)
    statement_level = serializers.BooleanField(required=False, default=False)
