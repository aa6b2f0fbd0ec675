"""Whether what was seen since a change is good, bad or not enough to say: the guards of a rollout that holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from apps.clusters.domain.routing_words import as_clause

# Chance and a busy moment make figures smaller than these mean nothing.
FEWEST_ERRORS = 10
LOWEST_ERROR_SHARE = 0.001
FEWEST_ROUND_TRIPS = 5
FEWEST_ABORTED = 10
LOWEST_ABORTED_PER_MIN = 1.0
# Conflicts come in bursts, with each vacuum on the primary: a rate needs at least so long.
SHORTEST_RATE_S = 60.0
SLOW_MS = 20.0
# A pgpool that is at least half as many times as slow as another one slowed alike.
ALIKE = 0.5


class Outcome(StrEnum):
    GOOD = "good"
    BAD = "bad"
    INCONCLUSIVE = "inconclusive"
    LEFT_OUT = "left out"  # nothing can ever be told there: no verdict, and nothing to wait for


@dataclass(frozen=True, slots=True)
class Guards:
    """What is watched during a hold; None or False switches one off.

    replay_lag_s: no standby may fall further behind. error_factor: FATAL, PANIC and ERROR per read may grow so far.
    latency_factor: the round trip through a written pgpool may grow so far. lost: no pgpool and no backend may be lost.
    shares: reads may not move away from the new weights. aborted: reads that a standby cancels per minute may grow so
    far.
    """

    replay_lag_s: float | None = 60.0
    error_factor: float | None = 3.0
    latency_factor: float | None = 5.0
    lost: bool = True
    shares: bool = True
    aborted: float | None = 3.0

    @property
    def is_any_on(self) -> bool:
        limits = (self.replay_lag_s, self.error_factor, self.latency_factor, self.aborted)
        return self.lost or self.shares or any(limit is not None for limit in limits)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A guard that can tell nothing of these pgpools, and why."""

    guard: str
    instances: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        return f"{', '.join(self.instances)}: {self.reason}"


_MANY = ", at most {:g} times as many are allowed"
_ON: Mapping[str, str] = {
    "lost": "what is lost",
    "replay_lag_s": "replay lag",
    "error_factor": "errors per read",
    "aborted": "cancelled reads",
    "latency_factor": "round trips",
    "shares": "where reads go",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """The counters of one pgpool since it started."""

    errors: int
    reads: int


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """How many there were in a time, and the middle one of them."""

    count: int
    median_ms: float | None


@dataclass(frozen=True, slots=True)
class Aborted:
    """Reads that a standby cancelled in a time. count None: it did not tell twice, or its counter fell meanwhile.

    seconds: between the first and the latest time that it told. is_set_back: the counter fell.
    """

    count: int | None
    seconds: float = 0.0
    is_set_back: bool = False

    @property
    def tells(self) -> bool:
        return self.count is not None or self.is_set_back


@dataclass(frozen=True, slots=True)
class Reads:
    """How the reads of the written pgpools stand to the new weights. missing: of unit; None where nobody counts.

    is_off: certainly, and no nearer to them than before the change. is_on_the_way: off, but nearer than before;
    sessions that stay keep the backend that they read from.
    """

    is_off: bool
    sentence: str
    missing: int | None
    is_on_the_way: bool = False
    unit: str = "sessions"


@dataclass(frozen=True, slots=True)
class Seen:
    """What pgpools and PostgreSQL told at one moment, by name of the pgpool or backend.

    lags_s: of each standby, None where it is not known. counted: of the written pgpools, None where they tell nothing.
    stale: pgpools and backends that nobody asked since the hold began, or lately: what is told of them is old.
    """

    lost: tuple[str, ...] = ()
    lags_s: Mapping[str, float | None] = field(default_factory=dict)
    counted: Mapping[str, Counted | None] = field(default_factory=dict)
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    guard: str
    outcome: Outcome
    text: str


def judge(
    guards: Guards,
    *,
    before: Seen,
    now: Seen,
    round_trips: Mapping[str, tuple[RoundTrips, RoundTrips]],
    aborted: Mapping[str, tuple[Aborted, Aborted]],
    reads: Reads | None,
    left_out: Sequence[LeftOut] = (),
    control: Mapping[str, tuple[RoundTrips, RoundTrips]] | None = None,
) -> tuple[Finding, ...]:
    """One finding for each guard that is on, and one for each that was left out somewhere.

    round_trips: name of the pgpool -> those before the change and those since; aborted: the same of each standby.
    control: the same of pgpools that were not written just now: what slows them as well is not the change.
    reads: of the pgpools whose shares can be judged, None where there is none; counted likewise leaves out those of
    which no errors can be told.
    """
    found = []
    without = {one.guard for one in left_out}
    if guards.lost:
        found.append(_lost(before, now))
    if guards.replay_lag_s is not None:
        found.append(_lag(guards.replay_lag_s, before, now))
    if guards.error_factor is not None and (now.counted or "error_factor" not in without):
        found.append(_errors(guards.error_factor, before, now))
    if guards.aborted is not None:
        found.append(_aborted(guards.aborted, aborted, now))
    if guards.latency_factor is not None:
        found.append(_latency(guards.latency_factor, round_trips, control or {}))
    if guards.shares and reads is not None:
        found.append(_shares(reads))
    said = [Finding(one.guard, Outcome.LEFT_OUT, one.text) for one in left_out]
    if said and not found:
        text = "nothing is left to judge by: it needs another guard, or a Pgpool-II that tells more"
        found.append(Finding("any", Outcome.INCONCLUSIVE, f"{text} ({'; '.join(one.text for one in said)})"))
    return (*found, *said)


def told(found: Finding) -> str:
    """the guard on round trips: 90.0 ms through pgpool-2, 8.0 ms before, at most 5 times as long is allowed"""
    return f"the guard on {_ON.get(found.guard, found.guard)}: {found.text}"


def overall(found: Iterable[Finding]) -> Outcome:
    """Bad if one is bad; inconclusive if one is, and none is bad."""
    outcomes = {one.outcome for one in found}
    return next((one for one in (Outcome.BAD, Outcome.INCONCLUSIVE) if one in outcomes), Outcome.GOOD)


def _lost(before: Seen, now: Seen) -> Finding:
    lost = sorted(set(now.lost) - set(before.lost))
    if lost:
        return Finding("lost", Outcome.BAD, f"{', '.join(lost)} {'were' if len(lost) > 1 else 'was'} lost since")
    if now.stale:
        return _stale("lost", now.stale)
    return Finding("lost", Outcome.GOOD, "no pgpool and no backend was lost")


def _stale(guard: str, names: Sequence[str]) -> Finding:
    """Where nobody polls, nothing gets worse, and nothing is known to be good."""
    text = f"{', '.join(names)} {'were' if len(names) > 1 else 'was'} not polled since, or not lately"
    return Finding(guard, Outcome.INCONCLUSIVE, text)


def _lag(limit_s: float, before: Seen, now: Seen) -> Finding:
    behind = {name: lag for name, lag in now.lags_s.items() if lag is not None and lag > limit_s}
    grown = sorted(name for name in behind if (before.lags_s.get(name) or 0) <= limit_s)
    if grown:
        said = ", ".join(f"{name} is {behind[name]:.1f} s behind" for name in grown)
        return Finding("replay_lag_s", Outcome.BAD, f"{said}, allowed are {limit_s:g} s")
    if stale := [name for name in now.stale if name in now.lags_s]:
        return _stale("replay_lag_s", stale)
    unknown = sorted(name for name, lag in now.lags_s.items() if lag is None and name not in now.lost)
    if unknown:
        return Finding("replay_lag_s", Outcome.INCONCLUSIVE, f"the replay lag of {', '.join(unknown)} is not known")
    known = [lag for lag in now.lags_s.values() if lag is not None]
    return Finding("replay_lag_s", Outcome.GOOD, f"replay lag at most {max(known, default=0.0):.1f} s")


def _errors(factor: float, before: Seen, now: Seen) -> Finding:
    silent = sorted(name for name in now.counted if now.counted[name] is None or before.counted.get(name) is None)
    texts = []
    for name, counted in now.counted.items():
        earlier = before.counted.get(name)
        if counted is None or earlier is None:
            continue
        # Counters that fall were set back by a restart; then they count from 0.
        is_restarted = counted.reads < earlier.reads or counted.errors < earlier.errors
        errors = counted.errors if is_restarted else counted.errors - earlier.errors
        reads = counted.reads if is_restarted else counted.reads - earlier.reads
        usual = max(earlier.errors / earlier.reads if earlier.reads else 0.0, LOWEST_ERROR_SHARE)
        texts.append(f"{errors} errors beside {reads} reads at {name}")
        if errors >= FEWEST_ERRORS and errors > factor * usual * reads:
            text = f"{texts[-1]}, usual were {usual * 100:.2g} for 100 reads{_MANY.format(factor)}"
            return Finding("error_factor", Outcome.BAD, text)
    if stale := [name for name in now.stale if name in now.counted]:
        return _stale("error_factor", stale)
    if silent:
        return Finding("error_factor", Outcome.INCONCLUSIVE, f"{', '.join(silent)} tells no error counters")
    return Finding("error_factor", Outcome.GOOD, "; ".join(texts) or "no pgpool to count at")


def _aborted(factor: float, aborted: Mapping[str, tuple[Aborted, Aborted]], now: Seen) -> Finding:
    texts, unsure = [], []
    for name, (before, since) in sorted(aborted.items()):
        if not (since.tells or before.tells):
            texts.append(f"{name} does not tell what it cancels")  # Lifeguard does not reach it: no hold waits for that
            continue
        if since.count is None:
            told = "its counter of cancelled reads was set back" if since.is_set_back else "cancelled reads not known"
            unsure.append(f"{name}: {told}")
            continue
        texts.append(f"{since.count} reads cancelled at {name}")
        if since.count < FEWEST_ABORTED:
            continue
        if before.count is None or before.seconds < SHORTEST_RATE_S:
            unsure.append(f"{texts[-1]}, what is usual there is not known")
            continue
        rate, usual = _per_minute(since), _per_minute(before)
        if rate > factor * max(usual, LOWEST_ABORTED_PER_MIN):
            text = f"{texts[-1]}, {rate:.3g} a minute, usual were {usual:.2g} a minute{_MANY.format(factor)}"
            return Finding("aborted", Outcome.BAD, text)
    if stale := [name for name in now.stale if name in aborted]:
        return _stale("aborted", stale)
    if unsure:
        return Finding("aborted", Outcome.INCONCLUSIVE, "; ".join(unsure))
    return Finding("aborted", Outcome.GOOD, "; ".join(texts) or "no standby to count at")


def _per_minute(aborted: Aborted) -> float:
    return (aborted.count or 0) * 60.0 / max(aborted.seconds, SHORTEST_RATE_S)


def _latency(
    factor: float,
    round_trips: Mapping[str, tuple[RoundTrips, RoundTrips]],
    control: Mapping[str, tuple[RoundTrips, RoundTrips]],
) -> Finding:
    texts, too_few, shared = [], [], []
    for name, (before, since) in sorted(round_trips.items()):
        if before.median_ms is None or since.median_ms is None or since.count < FEWEST_ROUND_TRIPS:
            too_few.append(name)
            continue
        texts.append(f"{since.median_ms:.1f} ms through {name}, {before.median_ms:.1f} ms before")
        if not (since.median_ms > SLOW_MS and since.median_ms > factor * before.median_ms):
            continue
        if alike := _slowed_alike(name, _times_as_slow(before, since), control):
            shared.append(f"{texts[-1]}; {', '.join(alike)} slowed alike, where nothing was changed just now")
            continue
        text = f"round trip {texts[-1]}, at most {factor:g} times as long is allowed"
        return Finding("latency_factor", Outcome.BAD, text)
    if shared:
        text = f"round trip {'; '.join(shared)}: that may be load, and not the change"
        return Finding("latency_factor", Outcome.INCONCLUSIVE, text)
    if too_few:
        text = f"{', '.join(too_few)}: too few round trips to compare"
        return Finding("latency_factor", Outcome.INCONCLUSIVE, text)
    return Finding("latency_factor", Outcome.GOOD, f"round trip {'; '.join(texts)}")


def _slowed_alike(name: str, times_as_slow: float, control: Mapping[str, tuple[RoundTrips, RoundTrips]]) -> list[str]:
    """Names of the control, where most of those that can be compared slowed as this one did; else none."""
    known = {
        other: _times_as_slow(before, since)
        for other, (before, since) in sorted(control.items())
        if other != name and before.median_ms is not None and since.count >= FEWEST_ROUND_TRIPS
    }
    slow = [
        other
        for other, times in known.items()
        if times >= ALIKE * times_as_slow and (control[other][1].median_ms or 0.0) > ALIKE * SLOW_MS
    ]
    return slow if 2 * len(slow) > len(known) else []


def _times_as_slow(before: RoundTrips, since: RoundTrips) -> float:
    return (since.median_ms or 0.0) / max(before.median_ms or 0.0, 0.001)


def _shares(reads: Reads) -> Finding:
    said = as_clause(reads.sentence)
    if reads.is_off:
        return Finding("shares", Outcome.BAD, said)
    if reads.is_on_the_way:
        return Finding("shares", Outcome.INCONCLUSIVE, f"{said}; nearer than before, as sessions that stay read on")
    if reads.missing is None:
        return Finding("shares", Outcome.INCONCLUSIVE, f"{said}; sessions are not counted")
    if reads.missing:
        return Finding("shares", Outcome.INCONCLUSIVE, f"{said}; needs about {reads.missing:,} more {reads.unit}")
    return Finding("shares", Outcome.GOOD, said)
