"""Inputs that the stories read, which name what is wrong inside; OpenAPI is told of their shapes here."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.clusters.domain.rollout_waves import LONGEST_HOLD_S, Absent, OnReturn, Strategy

_NUMBER = {"type": "number", "minimum": 0}
_WEIGHTS = {"type": "object", "additionalProperties": _NUMBER, "example": {"0": 0, "1": 1, "2": 3}}
# A value may be sent as JSON has it: true stands for on, 1000 for "1000".
_VALUE = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}], "nullable": True}
_VALUES = {"type": "object", "additionalProperties": _VALUE, "example": {"delay_threshold": "1000"}}
# false switches a guard off, as null does.
_LIMIT = {
    "oneOf": [{"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "boolean", "enum": [False]}],
    "nullable": True,
}


@extend_schema_field(_WEIGHTS)
class WeightsField(serializers.JSONField):
    """node_id -> weight of every backend."""


@extend_schema_field({"type": "object", "additionalProperties": _WEIGHTS})
class OwnWeightsField(serializers.JSONField):
    """Pgpool name -> its weights, as WeightsField has them."""


@extend_schema_field({"type": "object", "additionalProperties": {**_WEIGHTS, "nullable": True}})
class DraftedOwnWeightsField(serializers.JSONField):
    """The same; null lets those of one pgpool go."""


@extend_schema_field({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}})
class CountsField(serializers.JSONField):
    """node_id -> how many."""


@extend_schema_field(_VALUES)
class ValuesField(serializers.JSONField):
    """Parameter -> value; null for the default."""


@extend_schema_field({"type": "object", "additionalProperties": _VALUES})
class OwnValuesField(serializers.JSONField):
    """Pgpool name -> its values, as ValuesField has them."""


@extend_schema_field(_LIMIT)
class _Limit(serializers.FloatField):
    """What a guard allows at most; null or false switches it off."""


class GuardsShape(serializers.Serializer[Any]):
    """What is left out stays as usual; null or false switches a guard off."""

    replay_lag_s = _Limit(required=False, default=60)
    error_factor = _Limit(required=False, default=3)
    latency_factor = _Limit(required=False, default=5)
    lost = serializers.BooleanField(required=False, default=True)
    shares = serializers.BooleanField(required=False, default=True)
    aborted = _Limit(required=False, default=3)


class PlanShape(serializers.Serializer[Any]):
    """How to go about the pgpools."""

    strategy = serializers.ChoiceField([each.value for each in Strategy], required=False, default="one_by_one")
    canary = serializers.CharField(required=False, help_text="the pgpool that goes first; of the strategy canary")
    rest = serializers.ChoiceField(["all_at_once", "one_by_one"], required=False, default="all_at_once")
    hold_s = serializers.IntegerField(min_value=0, max_value=LONGEST_HOLD_S, required=False, default=0)
    hold_last = serializers.BooleanField(
        required=False, default=False, help_text="watch for hold_s after the last ones, too; needs hold_s"
    )
    guards = GuardsShape(required=False)
    absent = serializers.ChoiceField([each.value for each in Absent], required=False, default="refuse")
    on_return = serializers.ChoiceField([each.value for each in OnReturn], required=False, allow_null=True)


_ABSENT = '"absent": "refuse" (unless told) rolls nothing out without a pgpool that cannot be reached'


@extend_schema_field(PlanShape)
class PlanField(serializers.JSONField):
    """Read by rollout_waves.parse_plan, which names the field and the fault."""

    def __init__(self, *, absent: str = _ABSENT, bad: str = "puts the old files back") -> None:
        """absent: what refuse means there; bad: what a guard that finds something bad does."""
        super().__init__(
            required=False,
            allow_null=True,
            default=None,
            help_text='how to go about the pgpools: {"strategy": "one_by_one"|"canary"|"all_at_once", '
            '"canary": its name, "rest": "all_at_once"|"one_by_one", "hold_s": 0 to 86400, "hold_last": false, '
            '"guards": {"replay_lag_s": 60, "error_factor": 3, "latency_factor": 5, "lost": true, "shares": true, '
            '"aborted": 3}}; guards look during a hold only: for hold_s before the next ones follow, and with '
            "hold_last for as long after the last ones, before the rollout counts as verified; aborted: reads that a "
            "standby cancels per minute, times as many as before; "
            f"null or false switches a guard off; a bad one {bad}. {absent}, "
            '"owe" lets it owe the revision, which one that answers and lets Lifeguard open no session cannot; '
            '"on_return": "give" or "ask" says '
            "what becomes of that when it returns; unless told, as what it owes already, else it is given it",
        )
