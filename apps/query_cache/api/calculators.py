"""REST: calculators of the query cache, which store nothing and ask no cluster."""

from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.roles import Role
from apps.benchmarks.api.number_fields import NumberField
from apps.clusters.api import shapes
from apps.clusters.api.strict import StrictSerializer

MOST_POINTS = 1000
LEAST_RATE, MOST_RATE = 1e-6, 1e12
MOST_KEYS = 10**12
MOST_QUERIES = 10**15


class PointInput(StrictSerializer):
    hit_ratio = NumberField(min_value=0, max_value=1, help_text="operating, of the run with the cache")
    tps = NumberField(help_text="reads per second with the cache, above 0")
    no_cache_tps = NumberField(help_text="reads per second without it, measured beside, above 0")

    def validate_tps(self, value: float) -> float:
        return _above_0(value)

    def validate_no_cache_tps(self, value: float) -> float:
        return _above_0(value)


class BreakEvenInput(StrictSerializer):
    points = serializers.ListField(
        child=PointInput(), min_length=1, max_length=MOST_POINTS, help_text="each with its own paired baseline"
    )


class BreakEvenAnswer(TypedDict):
    """Costs are times against a read without a cache. break_even: null unless it pays above some ratio."""

    state: str
    break_even: float | None
    low: float | None
    high: float | None
    relative_miss_cost: float | None
    relative_miss_cost_low: float | None
    relative_miss_cost_high: float | None
    relative_hit_cost: float | None
    relative_hit_cost_low: float | None
    relative_hit_cost_high: float | None
    sentence: str


class BreakEvenView(APIView):
    write_role = Role.VIEWER  # it computes, it changes nothing

    @extend_schema(
        operation_id="calculators_break_even", request=BreakEvenInput, responses=shapes.answer(BreakEvenAnswer, 400)
    )
    def post(self, request: Request) -> Response:
        """From which operating hit ratio the query cache pays, with its 95 % interval (`low`, `high`).

        `state`: `pays_above`, `always_pays`, `never_pays`, or `not_a_fit` where no cache can have made these figures or
        they are too few or too noisy; `sentence` says which. The time of a read is taken to be linear in the ratio.
        """
        # scipy takes half a second and 40 MB, which no other request should pay for.
        from apps.query_cache.domain.break_even import break_even
        from apps.query_cache.domain.cache_fit import CachePoint

        form = BreakEvenInput(data=request.data)
        form.is_valid(raise_exception=True)
        found = break_even([CachePoint(**one) for one in form.validated_data["points"]])
        answer: dict[str, Any] = {
            "state": found.state, "break_even": found.ratio, "low": found.low, "high": found.high,
            "sentence": found.sentence,
        }  # fmt: skip
        for name, cost in (("relative_miss_cost", found.miss_cost), ("relative_hit_cost", found.hit_cost)):
            answer[name] = None if cost is None else cost.middle
            answer[f"{name}_low"] = None if cost is None else cost.low
            answer[f"{name}_high"] = None if cost is None else cost.high
        return Response(answer)


class WarmUpInput(StrictSerializer):
    keys = serializers.IntegerField(
        min_value=1, max_value=MOST_KEYS, help_text="different SELECTs, all asked for alike"
    )
    queries = serializers.IntegerField(min_value=0, max_value=MOST_QUERIES, help_text="so far, since it was empty")
    per_s = NumberField(required=False, allow_null=True, default=None, help_text="SELECTs per second, above 0")
    wanted_ratio = NumberField(
        required=False, allow_null=True, default=None, min_value=0, max_value=0.999999,
        help_text="an operating ratio: how many queries until it is reached",
    )  # fmt: skip

    def validate_per_s(self, value: float | None) -> float | None:
        return None if value is None else _above_0(value)


class WarmUpAnswer(TypedDict):
    """queries_until_wanted, seconds_until_wanted: from an empty cache; null where they were not asked for.

    queries_until_shown, seconds_until_shown: until the cumulative ratio is the wanted one, as SHOW pool_cache counts.
    """

    cumulative_hit_ratio: float
    operating_hit_ratio: float
    expected_misses: float
    queries_until_wanted: float | None
    seconds_until_wanted: float | None
    queries_until_shown: float | None
    seconds_until_shown: float | None


class WarmUpView(APIView):
    write_role = Role.VIEWER  # it computes, it changes nothing

    @extend_schema(operation_id="calculators_warm_up", request=WarmUpInput, responses=shapes.answer(WarmUpAnswer, 400))
    def post(self, request: Request) -> Response:
        """How warm an empty cache is after so many SELECTs of so many keys that are all asked for alike.

        `operating_hit_ratio` is the share of hits at that moment; `cumulative_hit_ratio` what pgpool prints, counted
        since it started, and the mean of the operating one until then: so also of a table that a write empties every
        so many SELECTs. Nothing is taken to be emptied, or to be pushed out, meanwhile.
        """
        from apps.query_cache.domain import warm_up

        form = WarmUpInput(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        found = warm_up.after(keys=asked["keys"], queries=asked["queries"])
        wanted, per_s = asked["wanted_ratio"], asked["per_s"]
        until = None if wanted is None else warm_up.queries_until(keys=asked["keys"], operating_hit_ratio=wanted)
        shown = None if wanted is None else warm_up.queries_until_shown(keys=asked["keys"], cumulative_hit_ratio=wanted)
        return Response(
            {
                "cumulative_hit_ratio": found.cumulative_hit_ratio,
                "operating_hit_ratio": found.operating_hit_ratio,
                "expected_misses": found.expected_misses,
                "queries_until_wanted": until,
                "seconds_until_wanted": None if until is None or per_s is None else until / per_s,
                "queries_until_shown": shown,
                "seconds_until_shown": None if shown is None or per_s is None else shown / per_s,
            }
        )


def _above_0(value: float) -> float:
    if not LEAST_RATE <= value <= MOST_RATE:
        expected = f"a number above 0, from {LEAST_RATE:g} to {MOST_RATE:g}"
        raise serializers.ValidationError(f"{value:g} is not possible; expected {expected}")
    return value
