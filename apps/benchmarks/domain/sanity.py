"""Can the printed figures of a run be right, and do they say what they seem to say?

Each check needs some figures. Where one is missing, or the check says nothing of such a run, it is told as not checked
with the reason: it is neither good nor bad.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from apps.benchmarks.domain.run_figures import RunFigures

# A measured latency leaves out what a client does between its transactions, and the ends of the run.
MEASURED_TOLERANCE = Decimal("0.05")
# Means of statements and of transactions are not of quite the same transactions: some were under way at the end.
SUM_TOLERANCE = Decimal("0.001")
# From here on a rate is called the one that its bound allows.
NEAR = Decimal("0.97")
_SAME = Decimal("0.99")
SHORTEST_S = 60
FEWEST_TRANSACTIONS = 100
FEWEST_BEYOND_PERCENTILE = 10
_DIGITS = 7
_MISSING = ""  # a figure that the check needs


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one figure. printed, expected: in `unit`. ok: nothing to object to."""

    check: str
    ok: bool
    figure: str
    unit: str
    printed: float
    expected: float
    sentence: str


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A check that could not be made: the fields that are missing, or none where it says nothing of such a run."""

    check: str
    missing: tuple[str, ...]
    sentence: str


def check_run(run: RunFigures) -> tuple[list[Finding], list[NotChecked]]:
    found: list[Finding] = []
    left: list[NotChecked] = []
    for check, (needed, judge) in _CHECKS.items():
        answer = judge(run)
        if isinstance(answer, Finding):
            found.append(answer)
        else:
            missing = tuple(field for field in needed if getattr(run, field) is None)
            left.append(NotChecked(check, missing, answer or f"Not checked without {' and '.join(missing)}."))
    return found, left


def _littles_law(run: RunFigures) -> Finding | str:
    """In a closed loop each client waits for its answer: tps = clients / latency, to the digit where a tool divided."""
    if run.clients is None or run.tps is None or run.latency_ms is None:
        return _MISSING
    if run.throttle_per_s and not run.latency_is_derived:
        return "Not checked: a throttle lets clients wait between transactions, so clients / tps is no latency."
    work = Decimal(1000) * run.clients * (run.batch or 1)
    expected = work / run.latency_ms.value
    if run.latency_is_derived:
        ok = work / run.latency_ms.high <= run.tps.high and run.tps.low <= work / run.latency_ms.low
    else:
        ok = abs(run.tps.value / expected - 1) <= MEASURED_TOLERANCE
    shown = _rounded(expected, max(_DIGITS, run.tps.digits))
    figures = f"{run.clients:,} clients with a latency of {run.latency_ms} ms make {shown:,f} {run.unit}"
    if ok:
        sentence = f"{figures}; the printed {run.tps} agrees."
    elif run.latency_is_derived:
        sentence = (
            f"{figures}, not {run.tps}: the tool printed clients / tps as its latency, so one of the two was changed, "
            "mistyped or is of another run."
        )
    else:
        off = 100 * abs(run.tps.value / expected - 1)
        sentence = (
            f"{figures}, {off:.1f} % away from {run.tps}: a latency that was measured may differ by "
            f"{100 * MEASURED_TOLERANCE:.0f} %. Clients that wait elsewhere, or figures of two runs."
        )
    return Finding("littles_law", ok, "tps", run.unit, float(run.tps.value), float(shown), sentence)


def _statement_sum(run: RunFigures) -> Finding | str:
    """Statements follow one another inside their transaction."""
    if run.statements_ms is None or run.latency_ms is None:
        return _MISSING
    whole = sum((each.value for each in run.statements_ms), Decimal(0))
    # All are printed alike, and JSON may have dropped zeros of some.
    least = whole - len(run.statements_ms) * min(each.half for each in run.statements_ms)
    ok = least <= run.latency_ms.high * (1 + SUM_TOLERANCE)
    away = 100 * (whole / run.latency_ms.value - 1)
    side = "above" if away > 0 else "below"
    sentence = f"The {len(run.statements_ms)} statements take {whole:,f} ms together, {abs(away):.2f} % {side} the "
    sentence += f"{run.latency_ms} ms of their transaction."
    if not ok:
        sentence += " They cannot take longer than it: these figures are of different runs, or one is wrong."
    return Finding(
        "statement_sum", ok, "sum of statements_ms", "ms", float(whole), float(run.latency_ms.value), sentence
    )


def _throttle_bound(run: RunFigures) -> Finding | str:
    """A token bucket that starts full holds the tokens of one second, and at least those of one batch.

    So in T seconds r T + max(r, batch) are let through. Without the duration the bucket is left out.
    """
    if run.tps is None or run.throttle_per_s is None:
        return _MISSING
    rate = run.throttle_per_s.value
    ceiling, over = rate, ""
    if run.duration_s:
        ceiling = rate + max(rate, Decimal(run.batch or 1)) / run.duration_s.value
        over = f" over {run.duration_s} s"
    share = run.tps.value / ceiling
    shown = ceiling.quantize(Decimal("0.01"))
    allowed = f"the {shown:,f} per s that a throttle of {run.throttle_per_s} per s lets through{over}"
    sentence = f"{run.tps} {run.unit} is {100 * share:.1f} % of {allowed}"
    # A throttle without a bucket lets just its rate through, which in a short run is far below the ceiling of one.
    is_below = share < NEAR and run.tps.value / rate < _SAME
    if is_below:
        sentence += ", so it is not the throttle that was measured."
    elif run.tps.low > ceiling * (1 + SUM_TOLERANCE):
        sentence += ": more than it can let through, so a figure is wrong."
    else:
        sentence += ": this is the throttle and not the capacity. Run without it to see what the servers can do."
    return Finding("throttle_bound", is_below, "tps", run.unit, float(run.tps.value), float(shown), sentence)


def _client_bound(run: RunFigures) -> Finding | str:
    """No more than clients / latency can come out of a closed loop, whatever serves it.

    A rate that reaches it says that every client was busy all the time. Whether more clients would get more, or only
    wait longer, one run cannot tell: so the finding is that the rate is no capacity yet.
    """
    if run.clients is None or run.tps is None or run.latency_ms is None:
        return _MISSING
    if run.latency_is_derived:
        return "Not checked: the latency was computed from the rate, so every run would look bound by its clients."
    ceiling = Decimal(1000) * run.clients * (run.batch or 1) / run.latency_ms.value
    share = run.tps.value / ceiling
    shown = _rounded(ceiling, _DIGITS)
    sentence = f"{run.clients:,} clients with a latency of {run.latency_ms} ms cannot exceed {shown:,f} {run.unit}, "
    sentence += f"whatever serves them; {run.tps} {run.unit} is {100 * share:.1f} % of that"
    if share < NEAR:
        sentence += ", so clients had time to spare."
    else:
        sentence += ": every client was busy all the time. Run with more clients before this is called a capacity."
    return Finding("client_bound", share < NEAR, "tps", run.unit, float(run.tps.value), float(shown), sentence)


def _too_short(run: RunFigures) -> Finding | str:
    """60 s at least, and 100 transactions; for a percentile p so many that 10 lie beyond it: 10 / (1 - p / 100)."""
    if run.duration_s is None:
        return _MISSING
    needed = FEWEST_TRANSACTIONS
    if run.percentile:
        needed = max(needed, math.ceil(FEWEST_BEYOND_PERCENTILE / (1 - run.percentile.value / 100)))
    least, why = SHORTEST_S, "caches and checkpoints show after a minute at the earliest"
    if run.tps:
        took = math.ceil(needed * (run.batch or 1) / run.tps.value)
        if took > least:
            asked = f" for p{run.percentile}" if run.percentile else ""
            least, why = took, f"so long {needed:,} transactions take, which are the fewest{asked}"
    ok = run.duration_s.value >= least
    sentence = f"{run.duration_s} s are long enough: at least {least:,} s."
    if not ok:
        sentence = f"{run.duration_s} s are too short; run at least {least:,} s: {why}."
    return Finding("too_short", ok, "duration_s", "s", float(run.duration_s.value), float(least), sentence)


def _rounded(value: Decimal, digits: int) -> Decimal:
    """To so many digits that matter, and never to fewer than all in front of the point."""
    return round(value, max(0, digits - 1 - value.adjusted()))


_CHECKS: Mapping[str, tuple[tuple[str, ...], Callable[[RunFigures], Finding | str]]] = {
    "littles_law": (("clients", "tps", "latency_ms"), _littles_law),
    "statement_sum": (("statements_ms", "latency_ms"), _statement_sum),
    "throttle_bound": (("tps", "throttle_per_s"), _throttle_bound),
    "client_bound": (("clients", "tps", "latency_ms"), _client_bound),
    "too_short": (("duration_s",), _too_short),
}
