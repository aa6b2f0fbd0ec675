"""What pages and REST tell of query caches. Apart from what computes it, which loads scipy."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict


class PairAnswer(TypedDict):
    """tps: what the cache would have served had its baseline been no_cache_tps of the curve. Ratios: 0..1."""

    hit_ratio: float
    cumulative_hit_ratio: float
    tps: float


class CurvePoint(TypedDict):
    """tps with the ends of its 95 % interval; high is null where it has none."""

    hit_ratio: float
    cumulative_hit_ratio: float
    tps: float
    low: float
    high: float | None


class BreakEvenCurve(TypedDict):
    """Of one storage. ratio, low, high: break-even as operating ratio, null unless state is pays_above.

    cumulative_ratio: the ratio since the start of a cache that has warmed up to `ratio`. no_cache_tps: geometric mean
    of all baselines. curve: empty where the pairs could not be fitted.
    """

    storage: str
    state: str
    sentence: str
    ratio: float | None
    low: float | None
    high: float | None
    cumulative_ratio: float | None
    relative_miss_cost: float | None
    relative_hit_cost: float | None
    no_cache_tps: float
    peak_tps: float
    pairs: list[PairAnswer]
    curve: list[CurvePoint]


class AtWriteRate(TypedDict):
    """Of one rate of writes to the cached table. tps: of reads. gain: times the reads without a cache.

    gain_low, gain_high: ends of its 95 % interval, null without one. Latencies of a write: mean, ms. kept_keys: hot
    keys whose answer the cache kept, a second after the last write; stale_keys: those of them with old rows.
    """

    wanted_per_s: int
    writes_per_s: float
    hit_ratio: float
    tps: float
    no_cache_tps: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    write_latency_ms: float | None
    no_cache_write_latency_ms: float | None
    kept_keys: int
    stale_keys: int


class WriteCurve(TypedDict):
    """Of one storage. state: pays_up_to, pays_at_all, pays_at_none or unsure. rates: rising, 0 before all.

    per_s: writes per second from which on the cache costs, with its 95 % interval; null unless state is pays_up_to. An
    end is null where it lies beyond the measured rates. kept_keys, stale_keys: of all rates.
    """

    storage: str
    state: str
    sentence: str
    per_s: float | None
    low: float | None
    high: float | None
    kept_keys: int
    stale_keys: int
    rates: list[AtWriteRate]


class UnderWrites(TypedDict):
    """The latest calibration that wrote, too. run: its id. write: the statement."""

    run: int
    finished_at: datetime | None
    sql: str
    write: str
    hot_keys: int
    clients: int
    curves: list[WriteCurve]


class CalibrationAnswer(TypedDict):
    """run: its id, whose address tells how it goes on. curves: of each storage, once it is done.

    writes_up_to_per_s: null where it measures without writes.
    """

    run: int
    state: str
    is_active: bool
    phase: str
    error: str
    pgpool: str
    sql: str
    key_space: int
    hot_keys: int
    clients: int
    duration_s: int
    writes_up_to_per_s: int | None
    measured_s: float | None
    requested_by: str
    created_at: datetime
    measured_at: datetime | None
    finished_at: datetime | None
    curves: list[BreakEvenCurve]


class Sizes(TypedDict):
    """SHOW pool_cache as it stands; all 0 but the first two with memcached. Sizes in bytes."""

    hit_count: int
    miss_count: int
    hash_entries: int
    used_hash_entries: int
    entries: int
    used_bytes: int
    free_bytes: int
    fragment_bytes: int


class MemcachedAnswer(TypedDict):
    """state: alive, frozen (takes connections, answers nothing), gone (nobody listens) or unreachable.

    unreachable: Lifeguard cannot see it, which says nothing of pgpool. reason: why it is not alive, "" where it is.
    place: host:port that was asked. Figures are of the whole memcached, null unless it answered; evictions since it
    started, uptime_s ago.
    """

    state: str
    reason: str
    place: str
    since: datetime
    asked_at: datetime
    items: int | None
    used_bytes: int | None
    limit_bytes: int | None
    evictions: int | None
    uptime_s: int | None


class MemcachedNote(TypedDict):
    """A memcached that is frozen, gone or unreachable by the latest question, of the last minute."""

    state: str
    place: str
    pgpools: list[str]
    since: datetime
    headline: str
    sentence: str


class PgpoolCache(TypedDict):
    """is_on: null while its settings are not known. hits, misses, reads: in the window; null without two samples.

    counted_hit_ratio: what its counters give, below the operating one where answered SELECTs were counted as misses,
    too (counted_twice). cumulative_hit_ratio: since it started. dropped_entries: by how many its entries fell in the
    window; null with memcached, whose entries pgpool does not count. memcached: where results are kept, as host:port;
    "" for shared memory. memcached_state: null where it caches in none, or it was not asked yet. reason: why it has no
    figures.
    """

    name: str
    version: str
    is_on: bool | None
    method: str
    memcached: str
    total_size: str
    expire_s: int
    hits: int | None
    misses: int | None
    reads: int | None
    counted_twice: int | None
    operating_hit_ratio: float | None
    counted_hit_ratio: float | None
    cumulative_hit_ratio: float | None
    absorbed_share: float | None
    dropped_entries: int | None
    is_restarted: bool
    seen_at: datetime | None
    sizes: Sizes | None
    memcached_state: MemcachedAnswer | None
    reason: str


class BreakEvenAnswer(TypedDict):
    """As operating hit ratio, with its 95 % interval."""

    ratio: float
    low: float
    high: float


class GainAnswer(TypedDict):
    """How many times the reads that would be served without a cache; high: null where nothing bounds it."""

    times: float
    low: float
    high: float | None


class VerdictAnswer(TypedDict):
    """state: unknown, off, too_little_traffic, not_measured, not_a_fit, pays, costs or close."""

    state: str
    sentence: str
    why: str


class RiskAnswer(TypedDict):
    key: str
    sentence: str


class DraftWish(TypedDict):
    """What the caller can draft: POST draft/parameter/ of the page, or PATCH draft/. pgpool: null for every one."""

    pgpool: str | None
    parameter: str
    value: str


class AdviceStep(TypedDict):
    """One pgpool by hand. line: as it stands in the file. file: "" where Lifeguard knows no path; where tells why.

    command: what brings it in, in words.
    """

    pgpool: str
    parameter: str
    value: str
    line: str
    file: str
    where: str
    command: str


class AdviceAnswer(TypedDict):
    """key: turn_off, leave_out, more_memory, more_entries, invalidate, expire or memcached.

    parameter, value: "" and null where pgpools get different ones. asks: a parameter that a person has to give a value
    first, "" for none. drafts: empty where nothing can be drafted, and no_draft tells why.
    """

    key: str
    sentence: str
    parameter: str
    value: str | None
    needs_restart: bool
    asks: str
    steps: list[AdviceStep]
    drafts: list[DraftWish]
    no_draft: str


class CacheAnswer(TypedDict):
    """Of all pgpools together in the last window_s, by counter differences. Shares and ratios are 0..1.

    operating_hit_ratio: of the cacheable reads, those that a cache answered. cumulative_hit_ratio: the same since the
    pgpools started, as pgpool itself prints it. absorbed_share: of all reads, those that no backend saw. break_even: of
    the storage in use, null unless it was measured and lies between. margin: the operating ratio less the break-even.
    calibration: the latest that is done. under_writes: the latest that wrote, too. memcached_notes: worst first; empty
    where all answer, or there is none.
    """

    window_s: int
    operating_hit_ratio: float | None
    cumulative_hit_ratio: float | None
    absorbed_share: float | None
    hits: int | None
    misses: int | None
    reads: int | None
    counted_twice: int | None
    storage: str
    break_even: BreakEvenAnswer | None
    margin: float | None
    gain: GainAnswer | None
    verdict: VerdictAnswer
    pgpools: list[PgpoolCache]
    risks: list[RiskAnswer]
    memcached_notes: list[MemcachedNote]
    advice: list[AdviceAnswer]
    calibration: CalibrationAnswer | None
    under_writes: UnderWrites | None


class WarmUpPoint(TypedDict):
    """at_s: since the cache was empty. cumulative_hit_ratio: of all reads until then, as SHOW pool_cache counts."""

    at_s: float
    operating_hit_ratio: float
    cumulative_hit_ratio: float


class LossAnswer(TypedDict):
    """What is lost until the cache pays. mean_cost: time of a read until then, in times of one without a cache.

    reads: as many reads without a cache as the time beyond would have been enough for.
    """

    mean_cost: float
    reads: float


class BetweenWritesAnswer(TypedDict):
    """Of one table, all of whose entries each write drops. reads: between two writes. state: pays, costs, close or
    not_measured.

    at_random_hit_ratio: the mean ratio if writes come at random times, so far apart in the mean. pays_from_every_s:
    how far apart writes must be for the table to break even; low, high: by the interval of the break-even; null where
    there is none, or where only hits alone would do.
    """

    write_every_s: float
    reads: float
    mean_operating_hit_ratio: float
    at_random_hit_ratio: float
    state: str
    pays_from_every_s: float | None
    pays_from_every_low_s: float | None
    pays_from_every_high_s: float | None
    pays_from_random_every_s: float | None
    sentence: str


class ForecastAnswer(TypedDict):
    """How one cache warms up from empty. keys_from, per_s_from: where the two figures come from, "given" if asked for.

    per_s: null where no rate is known; then there are no points and no times. cache: the one that is told of, a pgpool
    or memcached at its place. is_on: null while no pgpool has shown its settings. reaches_after_s: until the operating
    ratio is the break-even, with the ends of its interval; null where there is none, or only hits alone would do.
    shown_after_s: until the ratio since the start is the break-even, which is when SHOW pool_cache shows it and when
    hits have earned back what the warm-up cost. warm_after_s: until 99 of 100 reads are hits. why: sentences behind it.
    """

    keys: int
    keys_from: str
    per_s: float | None
    per_s_from: str
    cache: str
    storage: str
    is_on: bool | None
    points: list[WarmUpPoint]
    break_even: BreakEvenAnswer | None
    reaches_after_s: float | None
    reaches_after_low_s: float | None
    reaches_after_high_s: float | None
    shown_after_s: float | None
    warm_after_s: float | None
    lost: LossAnswer | None
    between_writes: BetweenWritesAnswer | None
    sentence: str
    why: list[str]


class PublishedAnswer(TypedDict):
    """A published break-even. curves: as of a calibration, without pairs or intervals. reasoning: sentences."""

    title: str
    source: str
    curves: list[BreakEvenCurve]
    reasoning: list[str]
