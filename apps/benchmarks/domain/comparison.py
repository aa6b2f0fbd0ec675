"""Two lists of repeated measurements compared: the difference, its 95 % interval, and what it allows to be said.

Logarithms are compared, so that an interval holds for ratios: twice as fast and half as fast are equally far from one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from apps.benchmarks.domain import comparison_words, intervals
from apps.benchmarks.domain.intervals import Estimate
from apps.benchmarks.domain.measurements import MeasurementError, measured, rounding
from apps.benchmarks.domain.runs_needed import MOST, Spread, more_runs
from apps.benchmarks.domain.verdicts import Verdict, judge

MARGIN_PERCENT = 5.0
POWER = 0.80  # how often the smallest detectable difference is found
ROUNDING = "rounding of the values"
_NO_SPREAD = 1e-12
# An interval that is wider than what two values lost by rounding so many times holds without that.
_HARDLY_WIDER = 2
_LARGEST_LOG = 690.0  # e to it is still a number


@dataclass(frozen=True, slots=True)
class Comparison:
    """Candidate against baseline. Percents are of the baseline, and above 0 where the candidate's figure is larger.

    difference, difference_low, difference_high: the same in the unit of the values, on the baseline's median.
    smallest_detectable_percent: a true difference of this size, up or down, is called one in 4 of 5 such comparisons.
    more_runs: of each side, until 4 of 5 such comparisons would be settled; None where the verdict is, or where values
    that never vary would need more digits.
    more_minutes: those runs of both sides, one after the other; None where nobody said how long one takes.
    """

    difference_percent: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    baseline_median: float
    candidate_median: float
    smallest_detectable_percent: float
    is_paired: bool
    method: str
    verdict: Verdict
    more_runs: int | None
    more_minutes: float | None
    sentence: str


def compare(
    *,
    baseline: Sequence[float],
    candidate: Sequence[float],
    higher_is_better: bool = True,
    paired: bool | None = None,
    margin_percent: float = MARGIN_PERCENT,
    run_s: float | None = None,
    unit: str = "tps",
) -> Comparison:
    """Compare repeated runs of a candidate with those of a baseline.

    baseline, candidate: one value a run, in the order of the runs. paired: the i-th of one was measured beside the i-th
    of the other, in an order drawn anew each time, so that drift cancels; None: so it is if both are equally many.
    margin_percent: the smallest difference that matters. run_s: how long one run takes, with what belongs to it.
    Raises MeasurementError with the field.
    """
    first, second = measured("baseline", baseline), measured("candidate", candidate)
    is_paired = _pairing(first, second, paired)
    margin = math.log1p(_within("margin_percent", margin_percent, 0.01, 100) / 100)
    seconds = None if run_s is None else _within("run_s", run_s, 0.001, 1e7)
    found = _estimate(first, second, is_paired=is_paired)
    is_rounded = ROUNDING in found.method
    verdict = judge(found, margin=margin, higher_is_better=higher_is_better)
    more = None
    if verdict is Verdict.INCONCLUSIVE and not is_rounded:
        spread = Spread.of_pairs(len(first)) if is_paired else Spread.of_samples(_logs(first), _logs(second))
        more = more_runs(found, spread, margin=margin, power=POWER)
    minutes = None if more is None or seconds is None else more * 2 * seconds / 60
    percents = _percent(found.middle), _percent(found.low), _percent(found.high)
    detectable = _percent(_detectable(found))
    medians = median(first), median(second)
    words = comparison_words.sentence(
        verdict,
        percents=percents,
        detectable=detectable,
        margin_percent=margin_percent,
        medians=medians,
        unit=unit,
        is_rounded=is_rounded,
        is_constant=found.method == ROUNDING,
    )
    if verdict is Verdict.INCONCLUSIVE:
        words += comparison_words.outlook(more, minutes, most=MOST)
    return Comparison(
        difference_percent=percents[0],
        low=percents[1],
        high=percents[2],
        difference=medians[0] * percents[0] / 100,
        difference_low=medians[0] * percents[1] / 100,
        difference_high=medians[0] * percents[2] / 100,
        baseline_median=medians[0],
        candidate_median=medians[1],
        smallest_detectable_percent=detectable,
        is_paired=is_paired,
        method=found.method,
        verdict=verdict,
        more_runs=more,
        more_minutes=minutes,
        sentence=words,
    )


def _pairing(first: Sequence[float], second: Sequence[float], paired: bool | None) -> bool:
    if paired and len(first) != len(second):
        raise MeasurementError("paired", True, f"false or null: {len(first)} and {len(second)} runs make no pairs")
    return len(first) == len(second) if paired is None else paired


def _within(field: str, value: float, least: float, most: float) -> float:
    if isinstance(value, bool) or not least <= value <= most:
        raise MeasurementError(field, value, f"a number from {least:g} to {most:g}")
    return float(value)


def _logs(values: Sequence[float]) -> list[float]:
    return [math.log(value) for value in values]


def _estimate(first: Sequence[float], second: Sequence[float], *, is_paired: bool) -> Estimate:
    """Where values are tied since they were rounded, with what the interval may be for those they were rounded from."""
    found = _unrounded(first, second, is_paired=is_paired)
    lost = rounding([*first, *second])  # both are of one tool, and JSON drops zeros at the end
    width = max(_NO_SPREAD, lost / median(first) + lost / median(second))
    if found.high - found.low > _HARDLY_WIDER * width:
        return found
    # The more a baseline is and the less a candidate, the lower both ends lie, whatever the method but Student's t.
    down = _unrounded(_shifted(first, lost), _shifted(second, -lost), is_paired=is_paired)
    up = _unrounded(_shifted(first, -lost), _shifted(second, lost), is_paired=is_paired)
    low, high = min(found.low, down.low, found.middle - _NO_SPREAD), max(found.high, up.high, found.middle + _NO_SPREAD)
    never_vary = min(first) == max(first) and min(second) == max(second)
    return Estimate(found.middle, low, high, found.df, ROUNDING if never_vary else f"{found.method}, {ROUNDING}")


def _unrounded(first: Sequence[float], second: Sequence[float], *, is_paired: bool) -> Estimate:
    a, b = _logs(first), _logs(second)
    if is_paired:
        return intervals.of_pairs([after - before for before, after in zip(a, b, strict=True)])
    return intervals.of_samples(a, b)


def _shifted(values: Sequence[float], by: float) -> list[float]:
    """No value is less than the digit that it was printed with, so half of one leaves it above 0."""
    return [value + by for value in values]


def _detectable(found: Estimate) -> float:
    """How far the truth must lie from 0 to be seen in 4 of 5 cases, as a logarithm.

    The longer side of the interval has to fit in, as disturbed runs stretch one side only; and as much more as the
    estimate itself lies below the truth once in 5 times, which the undisturbed side tells.
    """
    sides = found.middle - found.low, found.high - found.middle
    spare = intervals.t_quantile(POWER, found.df) / intervals.t_quantile(0.5 + intervals.CONFIDENCE / 2, found.df)
    return max(sides) + spare * min(sides)


def _percent(log_ratio: float) -> float:
    return 100 * math.expm1(max(-_LARGEST_LOG, min(_LARGEST_LOG, log_ratio)))
