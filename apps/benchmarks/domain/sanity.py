"""Can the printed figures of a run be right, and do they say what they seem to say?

Each check needs some figures. Where one is missing, or the check says nothing of such a run, it is told as not checked
with the reason: it is neither good nor bad.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from apps.benchmarks.domain.run_figures import Figure, RunFigures
from apps.benchmarks.domain.throttle import CHANCE, NEAR, NO_CHANCE, Throttle

# A measured latency leaves out what a client does between its transactions, and the ends of the run.
MEASURED_TOLERANCE = Decimal("0.05")
# Means of statements and of transactions are not of quite the same transactions: some were under way at the end.
SUM_TOLERANCE = Decimal("0.001")
SHORTEST_S = 60
FEWEST_TRANSACTIONS = 100
FEWEST_BEYOND_PERCENTILE = 10
_DIGITS, _COARSE_DIGITS = 7, 4
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
    """A check that could not be made: the fields that are missing, or none where it says nothing sure of such a run."""

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
    spare = 0 if run.latency_is_derived else MEASURED_TOLERANCE
    least, most = work / run.latency_ms.high * (1 - spare), work / run.latency_ms.low * (1 + spare)
    ok = least <= run.tps.high and run.tps.low <= most
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
            f"{100 * MEASURED_TOLERANCE:.0f} % beyond its last digit. Clients that wait elsewhere, or figures of two "
            "runs."
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
    """Not told where chance may have made the rate of a throttle that was reached, or of one that was not."""
    if run.tps is None or run.throttle_per_s is None:
        return _MISSING
    duration_s = run.duration_s.value if run.duration_s else None
    throttle = Throttle(run.throttle_per_s.value, duration_s, run.batch or 1, run.is_throttled_evenly)
    is_reached = throttle.is_reached(run.tps)
    shown = throttle.ceiling.quantize(Decimal("0.01"))
    over = f" over {run.duration_s} s" if run.duration_s else ""
    sentence = f"{run.tps} {run.unit} is {100 * run.tps.value / throttle.ceiling:.1f} % of the {shown:,f} per s that a "
    sentence += f"throttle of {run.throttle_per_s} per s lets through{over}"
    if is_reached is None:
        return f"Not told: {sentence}{_unsure(throttle)}"
    if not is_reached:
        sentence += ", so it is not the throttle that was measured."
    elif throttle.is_exceeded(run.tps):
        sentence += ": more than it can let through, so a figure is wrong."
    else:
        by_chance = "" if throttle.is_near(run.tps) else f" at most{_chance(throttle, CHANCE)}"
        sentence += f"{by_chance}: this is the throttle and not the capacity. Run without it to see what the servers "
        sentence += "can do."
    return Finding("throttle_bound", not is_reached, "tps", run.unit, float(run.tps.value), float(shown), sentence)


def _chance(throttle: Throttle, deviations: Decimal) -> str:
    low, high = throttle.by_chance(deviations)
    return f", and starts drawn at random make {low:,.2f} to {high:,.2f} per s of it"


def _unsure(throttle: Throttle) -> str:
    if throttle.duration_s is None:
        return ". Whether chance explains the rest, duration_s would tell."
    return f" at most{_chance(throttle, NO_CHANCE)}. It may be the throttle or the servers; a longer run would tell."


def _client_bound(run: RunFigures) -> Finding | str:
    """No more than clients / latency can come out of a closed loop, whatever serves it.

    A rate that reaches it says that every client was busy all the time. Whether more clients would get more, or only
    wait longer, one run cannot tell: so the finding is that the rate is no capacity yet.
    """
    if run.clients is None or run.tps is None or run.latency_ms is None:
        return _MISSING
    if run.latency_is_derived:
        return "Not checked: the latency was computed from the rate, so every run would look bound by its clients."
    work = Decimal(1000) * run.clients * (run.batch or 1)
    share = run.tps.value * run.latency_ms.value / work
    shown = _rounded(work / run.latency_ms.value, _DIGITS)
    sentence = f"{run.clients:,} clients with a latency of {run.latency_ms} ms cannot exceed {shown:,f} {run.unit}"
    if _is_coarse(run.latency_ms):
        low, high = (_rounded(work / each, _COARSE_DIGITS) for each in (run.latency_ms.high, run.latency_ms.low))
        sentence += f" ({low:,f} to {high:,f} as that latency is rounded)"
    sentence += f", whatever serves them; {run.tps} {run.unit} is {100 * share:.1f} % of that"
    if share < NEAR <= run.tps.high * run.latency_ms.high / work:
        return f"Not told: {sentence}. A latency with more digits would tell whether clients had time to spare."
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


def _is_coarse(figure: Figure) -> bool:
    """Whether its last digit moves what is computed from it visibly."""
    return figure.half > SUM_TOLERANCE * figure.value


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
