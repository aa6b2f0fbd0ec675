"""How the query cache of a cluster warms up from empty: by its own keys, rate and break-even, or by those asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apps.benchmarks.domain.cache_calibration import KEY_SPACE, SCALE
from apps.benchmarks.domain.cache_writes import KEYS_OF_A_SCALE
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster
from apps.query_cache.domain import forecast_words
from apps.query_cache.domain.break_even import BreakEven
from apps.query_cache.domain.forecast import WARM, Load
from apps.query_cache.domain.forecast_words import Subject
from apps.query_cache.domain.settings import SHMEM
from apps.query_cache.queries.calibrations import calibrations_of, latest_done, measured_of
from apps.query_cache.queries.measured_load import Cache, Figure, caches_of, pgpools_of, usual_keys, usual_rate
from apps.query_cache.queries.shapes import BetweenWritesAnswer, BreakEvenAnswer, ForecastAnswer, WarmUpPoint

GUESSED_KEYS = 100_000
GIVEN = "given"


def forecast_answer(
    *, cluster: Cluster, now: datetime, keys: int | None, per_s: float | None, write_every_s: float | None
) -> ForecastAnswer:
    """The cluster is one of the caller's. keys, per_s: None for its own. write_every_s: None without a look at writes.

    Of several caches it tells of the busiest: each has its share of the reads, and warms up by itself.
    """
    pgpools = pgpools_of(cluster=cluster, now=now)
    caches = caches_of(pgpools)
    storage = caches[0].settings.method if caches else SHMEM
    run = latest_done(calibrations_of(cluster=cluster), storage=storage)
    measured = measured_of(run).get(storage) if run else None
    known = Figure(keys, GIVEN) if keys is not None else usual_keys(pgpools) or _key_space(run)
    asked = Figure(per_s, GIVEN) if per_s is not None else usual_rate(caches)
    is_on = caches[0].settings.is_on if caches else None
    subject = Subject(int(known.value or GUESSED_KEYS), asked.value, is_on, storage, measured)
    return _answer(subject, caches, keys_from=known.source, per_s_from=asked.source, write_every_s=write_every_s)


def _answer(
    subject: Subject, caches: Sequence[Cache], *, keys_from: str, per_s_from: str, write_every_s: float | None
) -> ForecastAnswer:
    load, ends = subject.load, _break_even(subject.measured)
    shown_after_s = load.shown_after_s(ends["ratio"]) if load and ends else None
    loss = load.lost(subject.measured) if load and subject.measured else None
    return {
        "keys": subject.keys,
        "keys_from": keys_from,
        "per_s": subject.per_s,
        "per_s_from": per_s_from,
        "cache": caches[0].name if caches else "",
        "storage": subject.storage,
        "is_on": subject.is_on,
        "points": _points(load, shown_after_s) if load else [],
        "break_even": ends,
        "reaches_after_s": load.reaches_after_s(ends["ratio"]) if load and ends else None,
        "reaches_after_low_s": load.reaches_after_s(ends["low"]) if load and ends else None,
        "reaches_after_high_s": load.reaches_after_s(ends["high"]) if load and ends else None,
        "shown_after_s": shown_after_s,
        "warm_after_s": load.reaches_after_s(WARM) if load else None,
        "lost": {"mean_cost": loss.mean_cost, "reads": loss.reads} if loss else None,
        "between_writes": _between_writes(load, write_every_s, subject.measured) if load and write_every_s else None,
        "sentence": forecast_words.sentence(subject),
        "why": forecast_words.why(subject),
    }


def _points(load: Load, shown_after_s: float | None) -> list[WarmUpPoint]:
    return [
        {
            "at_s": one.at_s,
            "operating_hit_ratio": one.operating_hit_ratio,
            "cumulative_hit_ratio": one.cumulative_hit_ratio,
        }
        for one in load.course(shown_after_s)
    ]


def _between_writes(load: Load, every_s: float, measured: BreakEven | None) -> BetweenWritesAnswer:
    state, sentence = forecast_words.between(load, every_s, measured)
    ends = _break_even(measured)
    return {
        "write_every_s": every_s,
        "reads": load.per_s * every_s,
        "mean_operating_hit_ratio": load.between_writes(every_s),
        "at_random_hit_ratio": load.between_random_writes(every_s),
        "state": state.value,
        "pays_from_every_s": load.shown_after_s(ends["ratio"]) if ends else None,
        "pays_from_every_low_s": load.shown_after_s(ends["low"]) if ends else None,
        "pays_from_every_high_s": load.shown_after_s(ends["high"]) if ends else None,
        "pays_from_random_every_s": load.random_writes_from_s(ends["ratio"]) if ends else None,
        "sentence": sentence,
    }


def _break_even(measured: BreakEven | None) -> BreakEvenAnswer | None:
    if measured is None or measured.ratio is None or measured.low is None or measured.high is None:
        return None
    return {"ratio": measured.ratio, "low": measured.low, "high": measured.high}


def _key_space(run: BenchmarkRun | None) -> Figure:
    if run is None:
        return Figure(GUESSED_KEYS, "a guess, since no pgpool has told of entries and nothing was calibrated")
    keys = run.parameters[KEY_SPACE.name] or KEYS_OF_A_SCALE * run.parameters[SCALE.name]
    return Figure(keys, f"the key space of the latest calibration, run #{run.pk}")
