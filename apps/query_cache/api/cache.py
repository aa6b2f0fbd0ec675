"""REST: how the query caches of a cluster stand, and calibrations of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.control import runs
from apps.benchmarks.domain.cache_calibration import BOTH, HOT_KEYS, SLICE_S, WORKLOAD
from apps.benchmarks.domain.cache_writes import WRITES_UP_TO
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.scratch_conf import MEMCACHED, SHMEM
from apps.benchmarks.domain.topologies import SCRATCH
from apps.benchmarks.queries.runs import RunAnswer, run_answer
from apps.clusters.api import shapes
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.queries import lookup
from apps.query_cache.queries.shapes import CacheAnswer, CalibrationAnswer, PublishedAnswer

CLIENTS, DURATION_S = 4, 180
MOST = 2**31 - 1


class CalibrationInput(StrictSerializer):
    storage = serializers.ChoiceField([SHMEM, MEMCACHED, BOTH], default=SHMEM)
    sql = serializers.CharField(
        required=False, max_length=5000, help_text="one SELECT by :key; left out: the look-up of pgbench -S"
    )
    key_space = serializers.IntegerField(
        min_value=1, max_value=MOST, required=False, help_text="keys from 1 to this; left out: those of the tables"
    )
    scale = serializers.IntegerField(
        min_value=1, max_value=10_000, default=1, help_text="of the tables of pgbench, 100,000 accounts each"
    )
    hot_keys = serializers.IntegerField(min_value=1, max_value=100_000, default=HOT_KEYS.default)
    writes_up_to_per_s = serializers.IntegerField(
        min_value=WRITES_UP_TO.least, max_value=WRITES_UP_TO.most, required=False, allow_null=True,
        help_text="also at rising rates of writes to the same table, up to this; left out: no writes",
    )  # fmt: skip
    write_sql = serializers.CharField(
        required=False, allow_null=True, max_length=5000,
        help_text="the write, by :key if it likes; left out beside the usual SELECT: one to the tables of pgbench",
    )  # fmt: skip
    slice_s = serializers.IntegerField(min_value=1, max_value=60, default=SLICE_S.default, help_text="of each turn")
    clients = serializers.IntegerField(min_value=1, max_value=MOST, default=CLIENTS)
    duration_s = serializers.IntegerField(min_value=1, max_value=MOST, default=DURATION_S)
    pgpool = serializers.CharField(
        required=False, help_text="whose configuration the scratch pgpools get; left out: the first one known"
    )


class CalibrationStarted(RunAnswer):
    """status_url: of the run, whose state tells how far it is."""

    status_url: str


class CacheView(APIView):
    @extend_schema(operation_id="clusters_cache_read", responses=shapes.answer(CacheAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Whether the query cache pays now: its operating ratio against the measured break-even; and what to change.

        advice names the line, the file and the command of each pgpool; its drafts can be sent to PATCH draft/.
        """
        # scipy takes half a second and 40 MB, which no other request should pay for.
        from apps.query_cache.queries.cache import cache_answer

        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        return Response(cache_answer(caller=caller, cluster=cluster, now=timezone.now()))


class PublishedView(APIView):
    @extend_schema(operation_id="query_cache_published", responses=shapes.answer(PublishedAnswer))
    def get(self, request: Request) -> Response:
        """The break-even that was published in 2012, on both axes, with the reasoning."""
        from apps.query_cache.queries.published import published_answer

        return Response(published_answer())


class CalibrationsView(APIView):
    @extend_schema(operation_id="clusters_cache_calibrations_list", responses=shapes.page_of(CalibrationAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """The latest 20 of the cluster, latest first, with what they measured."""
        from apps.query_cache.queries.calibrations import calibration_answer, calibrations_of

        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        found = [calibration_answer(run) for run in calibrations_of(cluster=cluster)]
        return Response({"results": found, "next": None})

    @extend_schema(
        operation_id="clusters_cache_calibrations_create",
        request=CalibrationInput,
        responses=shapes.answer(CalibrationStarted, 400, 404, 409, status=202),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Measure from which hit ratio the cache pays: queued as a run of the cluster.

        Scratch pgpools with the cluster's own configuration, one with the cache on and one with it off, are asked in
        turns; the real ones are not touched. Where it writes, too, they do not see these writes: with a cache of their
        own they answer old rows of that table until it is written through them, or the rows expire. It needs the role
        operator, and benchmarks allowed on the cluster.
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = CalibrationInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        clients, duration_s = given.pop("clients"), given.pop("duration_s")
        pgpool = given.pop("pgpool", None)
        with as_problems(), _in_own_words():
            run = runs.request(
                caller=caller, cluster=cluster, workload=WORKLOAD, clients=clients, duration_s=duration_s,
                topology=f"{SCRATCH}:{pgpool}" if pgpool else SCRATCH, parameters=given,
            )  # fmt: skip
        status_url = reverse("api-run", args=[run.pk], request=request)
        return Response({**run_answer(run=run, caller=caller), "status_url": status_url}, status.HTTP_202_ACCEPTED)


@contextmanager
def _in_own_words() -> Iterator[None]:
    """What a run refuses under the names of these fields."""
    try:
        yield
    except WishRefused as error:
        field = "pgpool" if error.field == "topology" else error.field.removeprefix("parameters.")
        raise WishRefused(field, error.value, error.expected) from error
