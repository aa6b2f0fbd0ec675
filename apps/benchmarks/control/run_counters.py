"""What PostgreSQL counted during a measurement, held against what the load says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from apps.benchmarks.domain import counters_check, topologies
from apps.benchmarks.domain.counters_check import Counted
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import RunResult
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import counters
from apps.benchmarks.drivers.driver import Account, NotAnswered
from apps.benchmarks.models import BenchmarkRun

# A session tells what it counted when it ends, which is after its program ended.
TOLD_WITHIN_S = 5.0
_LOOKS_EVERY_S = 0.1


class RunCounters:
    """Of one measurement: read before it and after it. servers: all that its load may come to; none: not known."""

    def __init__(self, run: BenchmarkRun, wish: Wish, account: Account, servers: Sequence[Server]) -> None:
        self._run = run
        self._wish = wish
        self._account = account
        self._servers = servers if counters_check.is_checked(wish) else ()
        self._before: Mapping[str, Counted] = {}
        self._follows_kept = False

    def begin(self, *, watch: Callable[[], None]) -> None:
        """watch: may raise, and is called often enough to keep a lease."""
        self._follows_kept = self._ended_lately_in_a_pool()
        self._before = self._read(watch)

    def findings(
        self, result: RunResult, environment: Mapping[str, Any], *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        """[] where nobody can tell. environment: of the run, with the counters of both polls. watch: as of begin."""
        told = result["transactions"]
        if not self._before or told < counters_check.FEWEST:
            return []
        counted = self._counted(told, watch)
        if counted is None:
            return []
        caches = (environment.get(name, {}).get("cache", {}) for name in ("counters_before", "counters_after"))
        found = counters_check.finding(
            self._wish, counted=counted, told=told, failed=result["failed"] or 0, servers=len(self._servers),
            cache=counters_check.cache_moved(*caches), follows_kept=self._follows_kept,
        )  # fmt: skip
        return [] if found is None else [found]

    def _counted(self, told: int, watch: Callable[[], None]) -> int | None:
        until = time.monotonic() + TOLD_WITHIN_S
        while True:
            counted = counters_check.grown(self._before, self._read(watch))
            if counted is None or counters_check.are_enough(self._wish, counted=counted, told=told):
                return counted
            if time.monotonic() > until:
                return counted
            time.sleep(_LOOKS_EVERY_S)

    def _ended_lately_in_a_pool(self) -> bool:
        in_a_pool = Q(topology__startswith=topologies.PGPOOL) | Q(topology__startswith=f"{topologies.ENDPOINT}:")
        lately = Now() - timedelta(seconds=counters_check.KEPT_TELLS_WITHIN_S)
        return BenchmarkRun.objects.filter(in_a_pool, cluster=self._run.cluster, finished_at__gte=lately).exists()

    def _read(self, watch: Callable[[], None]) -> Mapping[str, Counted]:
        try:
            return counters.read(self._servers, self._account, watch=watch)
        except NotAnswered:
            return {}
