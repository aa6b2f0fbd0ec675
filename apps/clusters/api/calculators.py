"""REST: calculators, which store nothing and ask no cluster."""

from collections.abc import Mapping
from typing import TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.roles import Role
from apps.clusters.api import refusals, shapes
from apps.clusters.api.json_fields import CountsField, WeightsField
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.domain import routing
from apps.clusters.domain.weights import WeightError, as_node_id, parse_weights

MOST_BACKENDS = 128  # pgpool knows no more; the pairs of them are compared


class RoutingVerdictInput(StrictSerializer):
    weights = WeightsField()
    select_counts = CountsField()
    sessions = serializers.FloatField(allow_null=True, min_value=0)
    statement_level = serializers.BooleanField(required=False, default=False)


class VerdictNode(TypedDict):
    node_id: int
    weight_share: float
    observed_share: float | None
    low: float | None
    high: float | None


class VerdictAnswer(TypedDict):
    state: str
    sentence: str
    nodes: list[VerdictNode]


class RoutingVerdictView(APIView):
    write_role = Role.VIEWER  # it computes, it changes nothing

    @extend_schema(
        operation_id="calculators_routing_verdict",
        request=RoutingVerdictInput,
        responses=shapes.answer(VerdictAnswer, 400),
    )
    def post(self, request: Request) -> Response:
        """Whether counted reads follow weights, given how many sessions they came in."""
        form = RoutingVerdictInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        with refusals.as_problems():
            counts = _counts(given["select_counts"])
            weights = parse_weights(given["weights"], sorted(counts))
        found = routing.verdict(
            weights=weights,
            select_counts=counts,
            sessions=given["sessions"],
            statement_level=given["statement_level"],
        )
        nodes: list[VerdictNode] = [
            {
                "node_id": node.node_id,
                "weight_share": node.weight_share,
                "observed_share": node.observed_share,
                "low": node.low,
                "high": node.high,
            }
            for node in found.nodes
        ]
        return Response(VerdictAnswer(state=found.state, sentence=found.sentence, nodes=nodes))


def _counts(raw: object) -> dict[int, int]:
    if not isinstance(raw, Mapping) or not raw:
        raise WeightError("select_counts", raw, 'an object of node_id and reads, as {"0": 2, "1": 112234}')
    if len(raw) > MOST_BACKENDS:
        raise WeightError("select_counts", len(raw), f"a number of backends up to {MOST_BACKENDS}")
    found = {}
    for key, count in raw.items():
        field = f"select_counts.{str(key)[:40]}"
        node_id = as_node_id(key)
        if node_id is None:
            raise WeightError(field, key, "a node_id, a whole number of 0 or more")
        if isinstance(count, bool) or not isinstance(count, int) or count < 0 or count > 2**63:
            raise WeightError(field, count, "a whole number of 0 or more")
        found[node_id] = count
    return found
