"""REST: how the query cache of a cluster warms up."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import shapes
from apps.clusters.queries import lookup
from apps.query_cache.forms.warm_up import WarmUpForm
from apps.query_cache.queries.shapes import ForecastAnswer
from controlplane.problems import invalid


class ForecastView(APIView):
    @extend_schema(
        operation_id="clusters_cache_warm_up",
        parameters=[
            OpenApiParameter(
                "keys", int, description="SELECTs that differ, all asked for alike; left out: estimated, see keys_from"
            ),
            OpenApiParameter(
                "per_s", float, description="cacheable SELECTs per second; left out: measured, see per_s_from"
            ),
            OpenApiParameter(
                "write_every_s", float, description="seconds between writes to one table, each of which empties it"
            ),
        ],
        responses=shapes.answer(ForecastAnswer, 400, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """How long the cache takes from empty until it pays again, and how often writes may empty it.

        `cache` says which one it is of: the busiest, where pgpools keep several. `reaches_after_s` is when the
        operating ratio comes to the measured break-even, `shown_after_s` when the ratio of SHOW pool_cache does.
        """
        # scipy takes half a second and 40 MB, which no other request should pay for.
        from apps.query_cache.queries.warm_up import forecast_answer

        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        form = WarmUpForm(request.query_params)
        if not form.is_valid():
            invalid(**{name: " ".join(str(each) for each in errors) for name, errors in form.errors.items()})
        return Response(forecast_answer(cluster=cluster, now=timezone.now(), **form.cleaned_data))
