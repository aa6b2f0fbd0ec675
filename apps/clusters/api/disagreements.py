"""REST: who of the pgpools and PostgreSQL is wrong about a backend."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import shapes
from apps.clusters.queries import disagreements, lookup


class DisagreementsView(APIView):
    @extend_schema(
        operation_id="clusters_disagreements", responses=shapes.answer(disagreements.DisagreementsAnswer, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every pgpool's view of every backend beside PostgreSQL's own truth; who is wrong and what to do.

        With the watchdog's view of every pgpool beside who answers Lifeguard.
        """
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(disagreements.disagreements_answer(cluster=cluster, now=timezone.now()))
