"""Bodies of REST requests, field by field; what they mean is checked by the stories."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from apps.clusters.api.json_fields import (
    CountsField,
    DraftedOwnWeightsField,
    OwnValuesField,
    OwnWeightsField,
    PlanField,
    ValuesField,
    WeightsField,
)
from apps.clusters.control.backend_operations import DEFAULT_WAIT_S, LONGEST_REASON, LONGEST_WAIT_S
from apps.clusters.control.restarts import LONGEST_NOTE
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery.outcomes import LARGEST_FILE_BYTES
from apps.clusters.registry.cluster_wanted import LONGEST_WAIT_H, MOST_PGPOOLS, delivery_errors, too_many
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


class StrictBoolean(serializers.BooleanField):
    """true or false of JSON, and no word for it: what hangs on it is worth being said plainly."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(f"{str(data)[:40]!r} is neither true nor false")
        return data


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


# Ways back and adoptions go on past a pgpool that fails.
_REFUSE_PAST_FAILURES = (
    "begins nothing where the file of a pgpool cannot be read, and else goes on past one that cannot be reached, which "
    "fails"
)


class WeightsInput(StrictSerializer):
    """Weights are read by the story, which names the backend and the fault; here only the frame is looked at."""

    weights = WeightsField(required=False)
    per_instance = OwnWeightsField(required=False)
    note = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")
    plan = PlanField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("weights", "per_instance") if name in attrs]
        if len(given) == 2:
            raise serializers.ValidationError({"weights": "give weights or per_instance, not both"})
        if not given and attrs["base"] != "live":
            raise serializers.ValidationError({"weights": 'is missing, as {"0": 0, "1": 1, "2": 3}'})
        return attrs


class ParametersInput(StrictSerializer):
    """Values are read by the story, which names the parameter and the fault."""

    parameters = ValuesField(
        required=False, help_text='name -> value for every pgpool, as {"delay_threshold": "1000"}; null: the default'
    )
    per_instance = OwnValuesField(
        required=False, help_text="pgpool name -> {name: value}, which goes before what is for all"
    )
    weights = WeightsField(required=False, help_text='changed along with them, as {"0": 0, "1": 1, "2": 3}')
    weights_per_instance = OwnWeightsField(
        required=False,
        help_text='weights of single pgpools, as {"pgpool-1": {"0": 0, "1": 3, "2": 1}}, which go before those of all; '
        "pgpools that neither names keep theirs",
    )
    note = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")
    plan = PlanField()


class RolloutInput(StrictSerializer):
    """How a draft, or an earlier revision, is rolled out."""

    note = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")
    plan = PlanField()


class DraftPreviewInput(StrictSerializer):
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")
    plan = PlanField()


class DroppedInput(StrictSerializer):
    parameter = serializers.CharField(max_length=100, help_text='its name, or "weights"')
    instance = serializers.CharField(
        max_length=80, required=False, allow_null=True, default=None, help_text="pgpool name; null: what is for all"
    )


class DraftInput(StrictSerializer):
    """What is left out stays as it is."""

    parameters = ValuesField(
        required=False, help_text='name -> value for every pgpool, as {"delay_threshold": "1000"}; null: the default'
    )
    per_instance = OwnValuesField(
        required=False, help_text="pgpool name -> {name: value}, which goes before what is for all"
    )
    weights = WeightsField(
        required=False, allow_null=True, help_text='for all, as {"0": 0, "1": 1, "2": 3}; null lets them go'
    )
    weights_per_instance = DraftedOwnWeightsField(
        required=False,
        allow_null=True,
        help_text='of single pgpools, which go before those for all, as {"pgpool-1": {"0": 0, "1": 3, "2": 1}}; null '
        "instead of the weights of one lets those go, null alone lets all of them go",
    )
    drop = DroppedInput(many=True, required=False, default=list, help_text="changes to let go, before all others")
    base_revision = serializers.IntegerField(
        required=False, min_value=0, help_text="the latest revision, once you have looked at what came in since"
    )


class DriftInput(StrictSerializer):
    """instances: names of pgpools; left out or empty: all that differ."""

    instances = serializers.ListField(
        child=serializers.CharField(max_length=80), max_length=200, required=False, default=list
    )
    note = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    plan = PlanField(absent=f'"absent": "refuse" (unless told) {_REFUSE_PAST_FAILURES}', bad="pauses it")


class RollbackInput(StrictSerializer):
    """Unless told: all at once, and a pgpool that cannot be reached owes it where the rollout let it owe."""

    plan = PlanField(
        absent='"strategy" is all_at_once unless told, and "absent" as in the plan of the rollout: "refuse" '
        f"{_REFUSE_PAST_FAILURES}",
        bad="pauses it",
    )


class OperationInput(StrictSerializer):
    reason = serializers.CharField(max_length=LONGEST_REASON, required=False, default="", allow_blank=True)
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="only say what stands in the way, and what it would do"
    )


class DrainInput(OperationInput):
    wait_limit_s = serializers.IntegerField(
        min_value=0,
        max_value=LONGEST_WAIT_S,
        required=False,
        default=DEFAULT_WAIT_S,
        help_text="for sessions to end; then it asks whether to go on",
    )


class RestartInput(StrictSerializer):
    instances = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        allow_null=True,
        max_length=MOST_PGPOOLS,
        default=None,
        help_text="names of pgpools; left out: those that wait for a restart",
    )
    note = serializers.CharField(max_length=LONGEST_NOTE, required=False, default="", allow_blank=True)
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="only say what stands in the way, and what it would do"
    )


class RoutingVerdictInput(StrictSerializer):
    weights = WeightsField()
    select_counts = CountsField()
    sessions = serializers.FloatField(allow_null=True, min_value=0)
    statement_level = serializers.BooleanField(required=False, default=False)
