"""The break-even that pgpool's own author published in July 2012, on both axes.

Source: pgsqlpgpool.blogspot.com, post of 22 July 2012; Pgpool-II 3.2, `pgbench -S` at scale 1 from an empty cache, 100
runs in a row. It printed cache_hit_ratio, which counts since pgpool started; a run operates at a higher one.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.query_cache.domain import warm_up

NO_CACHE_TPS = 5979.27
KEYS = 100_000
RUNS = 100
# num_cache_hits + num_selects at the end. The post prints 1,000 queries a run, which its own counters contradict.
QUERIES = 891_703 + 99_995
FINAL_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Printed:
    """break_even_ratio: cache_hit_ratio of the first run that beat no cache. peak_tps: the highest of all runs."""

    storage: str
    break_even_run: int
    break_even_ratio: float
    peak_tps: float


PRINTED = (Printed("shmem", 16, 0.52, 52_577.62), Printed("memcached", 24, 0.62, 19_393.83))


@dataclass(frozen=True, slots=True)
class Course:
    """After so many reads. Ratios: 0..1. tps: by the model, through the printed break-even and peak."""

    queries: int
    operating: float
    cumulative: float
    tps: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One storage, read as an operating ratio. Times of a read: microseconds."""

    printed: Printed
    operating_ratio: float
    miss_us: float
    hit_us: float
    course: tuple[Course, ...]


def read(printed: Printed, *, steps: int = 60) -> Reading:
    """The moment when a warming cache of many keys has shown the printed ratio, and the curve through it."""
    ratio = warm_up.operating_at(cumulative_hit_ratio=printed.break_even_ratio)
    none_us, hit_us = 1e6 / NO_CACHE_TPS, 1e6 / printed.peak_tps
    miss_us = (none_us - ratio * hit_us) / (1 - ratio)
    course = []
    for step in range(steps + 1):
        at = warm_up.after(keys=KEYS, queries=QUERIES * step // steps)
        cost_us = at.operating_hit_ratio * hit_us + (1 - at.operating_hit_ratio) * miss_us
        course.append(Course(int(at.queries), at.operating_hit_ratio, at.cumulative_hit_ratio, 1e6 / cost_us))
    return Reading(printed, ratio, miss_us, hit_us, tuple(course))


def read_literally(printed: Printed) -> tuple[float, float]:
    """(miss, hit) in microseconds, were the printed ratios those of the moment: the peak at the printed 0.90.

    For shared memory a hit takes less than no time then, which no cache does.
    """
    ratio, none_us, peak_us = printed.break_even_ratio, 1e6 / NO_CACHE_TPS, 1e6 / printed.peak_tps
    # none = ratio·hit + (1 − ratio)·miss and peak = final·hit + (1 − final)·miss
    hit_us = (none_us * (1 - FINAL_RATIO) - peak_us * (1 - ratio)) / (ratio - FINAL_RATIO)
    miss_us = (none_us - ratio * hit_us) / (1 - ratio)
    return miss_us, hit_us
