"""How the query caches of a cluster stand now, against what was measured of them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from apps.accounts.access import Caller
from apps.benchmarks.domain.cache_sql import SQL
from apps.clusters.domain import cache_counters
from apps.clusters.domain.cache_counters import CacheCounts
from apps.clusters.history import window_counts
from apps.clusters.history.windows import InstanceWindow
from apps.clusters.models import Cluster, PgpoolInstance
from apps.query_cache.domain import risks as cache_risks
from apps.query_cache.domain.break_even import BreakEven
from apps.query_cache.domain.cache_fit import Bounded
from apps.query_cache.domain.settings import CacheSettings, settings_of
from apps.query_cache.domain.verdict import verdict
from apps.query_cache.queries.advice import advice_answers
from apps.query_cache.queries.calibrations import (
    calibration_answer,
    calibrations_of,
    latest_done,
    measured_of,
)
from apps.query_cache.queries.draft_wishes import instances_of, running_of
from apps.query_cache.queries.memcached import memcached_answer, memcached_notes
from apps.query_cache.queries.shapes import BreakEvenAnswer, CacheAnswer, GainAnswer, PgpoolCache, Sizes
from apps.query_cache.queries.under_writes import kept_by_storage, under_writes

WINDOW_S = 900
_WINDOW = "15 min"


def cache_answer(*, caller: Caller, cluster: Cluster, now: datetime) -> CacheAnswer:
    """The cluster is one of the caller's."""
    known = instances_of(cluster)
    windows = {
        one.instance_id: one for one in window_counts(cluster=cluster, start=now - timedelta(seconds=WINDOW_S), end=now)
    }
    settings = {one.pk: settings_of(running_of(one)) for one in known}
    counts = cache_counters.together(
        found for one in known if settings[one.pk].is_on is not False and (found := windows[one.pk].cache_counts)
    )
    pgpools = [_pgpool(one, settings[one.pk], windows[one.pk]) for one in known]
    on = [one for one in known if settings[one.pk].is_on]
    storage = settings[on[0].pk].method if on else "shmem"
    runs = calibrations_of(cluster=cluster)
    run, written = latest_done(runs), under_writes(runs)
    kept = kept_by_storage(written)
    own = latest_done(runs, storage=storage)
    measured = measured_of(own).get(storage) if own else None
    ratio = counts.operating_ratio if counts else None
    gain = measured.gain(ratio) if measured is not None and ratio is not None else None
    judged = verdict(
        is_on=True if on else None if any(one.is_on is None for one in settings.values()) or not known else False,
        operating_ratio=ratio,
        reads=counts.hits + counts.misses if counts else 0,
        window=_WINDOW,
        measured=measured,
        asked=own.parameters[SQL.name] if own else "",
    )
    return {
        "window_s": WINDOW_S,
        "operating_hit_ratio": ratio,
        "cumulative_hit_ratio": _cumulative([one for one in pgpools if one["is_on"] is not False]),
        "absorbed_share": counts.absorbed_share if counts else None,
        "hits": counts.hits if counts else None,
        "misses": counts.misses if counts else None,
        "reads": counts.reads if counts else None,
        "counted_twice": counts.counted_twice if counts else None,
        "storage": storage,
        "break_even": _break_even(measured),
        "margin": None if ratio is None or measured is None or measured.ratio is None else ratio - measured.ratio,
        "gain": None if gain is None else _gain(gain),
        "verdict": {"state": judged.state.value, "sentence": judged.sentence, "why": judged.why},
        "pgpools": pgpools,
        "risks": [
            {"key": one.key, "sentence": one.sentence}
            for one in cache_risks.risks(list(settings.values()), [one.version for one in on], measured=kept)
        ],
        "memcached_notes": memcached_notes(known, now=now),
        "advice": advice_answers(caller=caller, cluster=cluster, state=judged.state, instances=known, measured=kept),
        "calibration": calibration_answer(run) if run else None,
        "under_writes": written,
    }


def _break_even(measured: BreakEven | None) -> BreakEvenAnswer | None:
    if measured is None or measured.ratio is None or measured.low is None or measured.high is None:
        return None
    return {"ratio": measured.ratio, "low": measured.low, "high": measured.high}


def _gain(gain: Bounded) -> GainAnswer:
    return {"times": gain.middle, "low": gain.low, "high": None if math.isinf(gain.high) else gain.high}


def _pgpool(instance: PgpoolInstance, settings: CacheSettings, window: InstanceWindow) -> PgpoolCache:
    latest = getattr(instance, "latest", None)
    sizes: Sizes | None = latest.cache_row if latest is not None else None
    counts: CacheCounts | None = window.cache_counts
    return {
        "name": instance.name,
        "version": instance.version,
        "is_on": settings.is_on,
        "method": settings.method,
        "memcached": settings.memcached_place,
        "total_size": settings.total_size,
        "expire_s": settings.expire_s,
        "hits": counts.hits if counts else None,
        "misses": counts.misses if counts else None,
        "reads": counts.reads if counts else None,
        "counted_twice": counts.counted_twice if counts else None,
        "operating_hit_ratio": counts.operating_ratio if counts else None,
        "counted_hit_ratio": counts.counted_ratio if counts else None,
        "cumulative_hit_ratio": _ratio(sizes["hit_count"], sizes["miss_count"]) if sizes else None,
        "absorbed_share": counts.absorbed_share if counts else None,
        "dropped_entries": window.dropped_entries if settings.memcached is None else None,
        "is_restarted": window.is_restarted,
        "seen_at": latest.answered_at if latest is not None else None,
        "sizes": sizes,
        "memcached_state": memcached_answer(latest),
        "reason": "" if counts else "no two samples of SHOW pool_cache in this time",
    }


def _cumulative(pgpools: list[PgpoolCache]) -> float | None:
    sizes = [one["sizes"] for one in pgpools if one["sizes"] is not None]
    return _ratio(sum(one["hit_count"] for one in sizes), sum(one["miss_count"] for one in sizes))


def _ratio(hits: int, misses: int) -> float | None:
    return hits / (hits + misses) if hits + misses else None
