"""Bodies of requests that change what runs: weights, parameters, plans, restarts, drains; the stories check them."""

from typing import Any

from rest_framework import serializers

from apps.clusters.api.json_fields import (
    DraftedOwnWeightsField,
    OwnValuesField,
    OwnWeightsField,
    PlanField,
    ValuesField,
    WeightsField,
)
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.control.backend_operations import DEFAULT_WAIT_S, LONGEST_REASON, LONGEST_WAIT_S
from apps.clusters.control.restarts import LONGEST_NOTE
from apps.clusters.registry.cluster_wanted import MOST_PGPOOLS

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
