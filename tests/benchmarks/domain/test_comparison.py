"""Two lists of repeated measurements compared: figures, verdicts, sentences, refusals."""

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.benchmarks.domain.comparison import MARGIN_PERCENT, ROUNDING, Comparison, compare
from apps.benchmarks.domain.comparison_words import signed
from apps.benchmarks.domain.measurements import MeasurementError
from apps.benchmarks.domain.runs_needed import MOST

STEADY = [1000.1, 1002.0, 999.0, 1001.5, 998.0, 1000.0, 1003.0, 1001.0]
OTHER = [1001.0, 1000.0, 1002.0, 1001.0, 999.5, 1001.0, 1000.0, 1002.0]


def times(factor: float, values: list[float]) -> list[float]:
    return [factor * value for value in values]


def test_two_pairs_are_worked_out_by_hand() -> None:
    found = compare(baseline=[100, 100], candidate=[110, 121])

    # logarithms of the ratios: ln 1.1 and 2 ln 1.1, mean 1.5 ln 1.1 = 0.142965: a factor of 1.15369
    # standard error: ln 1.1 / 2 = 0.0476551; t(0.975, 1) = 12.7062, so ± 0.605515: factors 0.62967 and 2.11379
    assert found.difference_percent == pytest.approx(15.369, abs=1e-3)
    assert (found.low, found.high) == pytest.approx((-37.033, 111.379), abs=5e-3)
    assert (found.baseline_median, found.candidate_median) == (100, 115.5)
    assert found.difference == pytest.approx(15.369, abs=1e-3)
    assert found.verdict == "inconclusive"


def test_six_pairs_span_from_the_least_to_the_largest_ratio() -> None:
    # Of 2^6 signs 2 leave all on one side: 96.9 %, and the next pair of averages would leave 93.8 %.
    found = compare(baseline=[100] * 6, candidate=[101, 102, 103, 104, 105, 106])

    assert (found.low, found.high) == pytest.approx((1.0, 6.0))
    assert found.verdict == "faster"
    assert found.method.startswith("Wilcoxon")


def test_four_and_five_runs_span_from_the_least_to_the_largest_ratio_but_one() -> None:
    # Of 126 ways to draw 4 of 9, 2 leave at most one of 20 ratios below: 2 * 2 / 126 = 3.2 %.
    found = compare(baseline=[100, 101, 102, 103], candidate=[200, 201, 202, 203, 204])

    ratios = sorted(b / a for a in (100, 101, 102, 103) for b in (200, 201, 202, 203, 204))
    assert (found.low, found.high) == pytest.approx((100 * (ratios[1] - 1), 100 * (ratios[-2] - 1)))
    assert not found.is_paired


@pytest.mark.parametrize(
    ("candidate", "options", "verdict"),
    [
        (OTHER, {}, "no_difference"),
        (OTHER, {"margin_percent": 0.1}, "inconclusive"),
        (times(1.02, OTHER), {}, "faster"),
        (times(0.98, OTHER), {}, "slower"),
        (times(0.98, OTHER), {"higher_is_better": False}, "faster"),
        (times(1.02, OTHER), {"higher_is_better": False}, "slower"),
    ],
)
def test_the_verdict(candidate: list[float], options: dict[str, Any], verdict: str) -> None:
    assert compare(baseline=STEADY, candidate=candidate, **options).verdict == verdict


def test_one_disturbed_run_of_eight_hides_nothing() -> None:
    disturbed = [*times(0.98, OTHER)[:7], 600.0]

    assert compare(baseline=STEADY, candidate=disturbed).verdict == "slower"


def test_drift_cancels_in_pairs_and_in_nothing_else() -> None:
    drifting = [1000.0, 900, 810, 729, 656, 590]
    faster = [drifting[i] * factor for i, factor in enumerate((1.02, 1.03, 1.025, 1.021, 1.028, 1.024))]

    assert compare(baseline=drifting, candidate=faster).verdict == "faster"
    assert compare(baseline=drifting, candidate=faster, paired=False).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("candidate", "options", "sentence"),
    [
        (
            [101, 102, 103, 104, 105, 106],
            {},
            "The candidate is faster: +3.5 % (95 % interval +1.0 % to +6.0 %), medians 100.00 and 103.50 tps.",
        ),
        (
            [101, 102, 103, 104, 105, 106],
            {"higher_is_better": False, "unit": "ms", "margin_percent": 10},
            (
                "The candidate is slower: +3.5 % (95 % interval +1.0 % to +6.0 %), medians 100.00 and 103.50 ms. "
                "All of that is less than the 10 % that matter."
            ),
        ),
        (
            [99, 100.5, 100, 101, 99.5, 100],
            {},
            (
                "There is no difference larger than 1.0 %: +0.00 % (95 % interval −1.0 % to +1.0 %), "
                "medians 100.00 and 100.00 tps."
            ),
        ),
    ],
)
def test_the_sentence(candidate: list[float], options: dict[str, Any], sentence: str) -> None:
    assert compare(baseline=[100] * 6, candidate=candidate, **options).sentence == sentence


@pytest.mark.parametrize(
    ("percent", "said"),
    [(-0.004, "+0.00 %"), (0.0, "+0.00 %"), (-0.006, "−0.01 %"), (0.006, "+0.01 %"), (-12.34, "−12.3 %")],
)
def test_nothing_is_never_shown_as_less_than_nothing(percent: float, said: str) -> None:
    assert signed(percent) == said


def test_what_is_open_says_how_many_more_runs_would_settle_it() -> None:
    found = compare(baseline=[100, 104, 97], candidate=[102, 91, 103], run_s=90)

    assert found.verdict == "inconclusive"
    assert found.more_runs is not None
    assert found.more_minutes == found.more_runs * 3  # two runs of 90 s
    assert (
        f"About {found.more_runs} more runs of each side ({found.more_runs * 3} min) would settle it" in found.sentence
    )


def test_as_many_more_runs_settle_it_if_all_stays_as_it_is() -> None:
    once = [math.exp(each / 100) for each in (4, -5, 2, -1, 6, -3)]
    found = compare(baseline=[1.0] * 6, candidate=once)
    assert found.more_runs is not None

    again = once * math.ceil((6 + found.more_runs) / 6)

    assert compare(baseline=[1.0] * len(again), candidate=again).verdict == "no_difference"
    assert 6 <= found.more_runs <= 60


def test_what_nothing_settles_is_said_so() -> None:
    found = compare(baseline=[1e-9, 1e12], candidate=[1e12, 1e-9], run_s=60)

    assert found.more_runs == MOST
    assert found.sentence.endswith("Not even 100,000 more runs of each side would settle it.")
    assert "more than ten thousandfold" in found.sentence


def test_a_settled_one_needs_no_more_runs() -> None:
    found = compare(baseline=STEADY, candidate=OTHER, run_s=60)

    assert (found.more_runs, found.more_minutes) == (None, None)


@pytest.mark.parametrize(
    ("baseline", "candidate", "paired", "ends", "verdict"),
    [
        # 99.5..100.5 against the same: a hundredth each way, in logarithms
        ([100] * 5, [100] * 5, None, (-0.995, 1.005), "no_difference"),
        ([100] * 5, [110] * 5, None, (8.955, 11.055), "faster"),  # 1.1 * exp(∓(0.5/100 + 0.5/110))
        ([100] * 3, [100] * 4, None, (-0.995, 1.005), "no_difference"),
    ],
)
def test_values_that_never_vary_may_have_been_rounded(
    baseline: list[float], candidate: list[float], paired: bool | None, ends: tuple[float, float], verdict: str
) -> None:
    found = compare(baseline=baseline, candidate=candidate, paired=paired)

    assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)
    assert (found.method, found.verdict) == (ROUNDING, verdict)
    assert "do not vary at all" in found.sentence


@pytest.mark.parametrize(
    ("baseline", "candidate", "paired", "ends", "verdict"),
    [
        # 18 of 20 ratios stand for anything from 99.5 / 100.5 to 100.5 / 99.5
        ([100] * 20, [*[100] * 18, 50, 50], True, (-0.995, 1.005), "no_difference"),
        ([100] * 20, [*[100] * 18, 50, 50], False, (-0.995, 1.005), "no_difference"),
        # most stand around 103: 102.5 / 100.5 to 103.5 / 99.5
        ([100] * 1000, [100 + run % 7 for run in range(1000)], False, (1.990, 4.020), "faster"),
        # mean logarithm of 109.5 / 100.5, 219.5 / 200.5 and 329.5 / 300.5 less 4.303 standard errors; and likewise up
        ([100, 200, 300], [110, 220, 330], True, (8.465, 11.558), "faster"),
    ],
)
def test_ties_are_as_wide_as_what_they_were_rounded_from_and_not_said_to_be_all_the_same(
    baseline: list[float], candidate: list[float], paired: bool, ends: tuple[float, float], verdict: str
) -> None:
    found = compare(baseline=baseline, candidate=candidate, paired=paired)

    assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)
    assert found.verdict == verdict
    assert found.method.endswith(f", {ROUNDING}")
    assert "do not vary" not in found.sentence
    assert "what the values may have lost when they were rounded, so that is added" in found.sentence


def test_values_that_vary_without_a_common_ratio_are_not_ties() -> None:
    found = compare(baseline=[100, 200, 300], candidate=[110, 220, 330], paired=False)

    assert (found.method, found.verdict) == ("Welch's t", "inconclusive")


def test_ones_and_ones_need_more_digits() -> None:
    found = compare(baseline=[1, 1], candidate=[1, 1, 1])

    assert (found.verdict, found.more_runs) == ("inconclusive", None)
    assert found.sentence.endswith("Values with more digits would tell more.")


GOOD = [100.0, 101.0]


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"baseline": [100]}, "baseline", "'1 value' is not possible; expected 2 to 1000"),
        ({"candidate": []}, "candidate", "'0 values'"),
        ({"candidate": [1.0] * 1001}, "candidate", "'1001 values'"),
        ({"baseline": "100"}, "baseline", "expected a list of numbers, one for each run"),
        ({"baseline": None}, "baseline", "a list"),
        ({"baseline": {"0": 1}}, "baseline", "a list"),
        ({"baseline": [100, 0]}, "baseline.1", "leave a run out that failed"),
        ({"baseline": [-100, 3]}, "baseline.0", "a number above 0"),
        ({"candidate": [100, math.nan]}, "candidate.1", "'nan'"),
        ({"candidate": [math.inf, 3]}, "candidate.0", "'inf'"),
        ({"candidate": [10**400, 3]}, "candidate.0", "from 1e-09 to 1e+12"),
        ({"candidate": ["100", 3]}, "candidate.0", "expected a number"),
        ({"candidate": [True, 3]}, "candidate.0", "'True' is not possible"),
        ({"candidate": [None, 3]}, "candidate.0", "'None' is not possible"),
        ({"candidate": [100, 101, 102], "paired": True}, "paired", "2 and 3 runs make no pairs"),
        ({"margin_percent": 0}, "margin_percent", "from 0.01 to 100"),
        ({"margin_percent": math.nan}, "margin_percent", "from 0.01 to 100"),
        ({"run_s": -1}, "run_s", "a number from 0.001"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(changed: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(MeasurementError) as refused:
        compare(**({"baseline": GOOD, "candidate": GOOD} | changed))

    assert refused.value.field == field
    assert said in refused.value.reason


figures = st.lists(st.floats(500, 2000), min_size=2, max_size=25)


def is_spread(*found: Comparison) -> bool:
    return all(ROUNDING not in each.method for each in found)


@given(baseline=figures, candidate=figures)
@settings(deadline=None)
def test_the_other_way_round_says_the_opposite(baseline: list[float], candidate: list[float]) -> None:
    there = compare(baseline=baseline, candidate=candidate)
    back = compare(baseline=candidate, candidate=baseline)
    assume(is_spread(there, back))

    for one, other in ((there.difference_percent, back.difference_percent), (there.low, back.high)):
        assert (1 + one / 100) * (1 + other / 100) == pytest.approx(1)
    assert there.smallest_detectable_percent == pytest.approx(back.smallest_detectable_percent)
    opposite = {"faster": "slower", "slower": "faster"}
    ends = there.low, there.high, back.low, back.high
    if not any(abs(end - edge) < 1e-6 for end in ends for edge in (0, MARGIN_PERCENT)):
        assert back.verdict == opposite.get(there.verdict, there.verdict)


@given(baseline=figures, candidate=figures, factor=st.floats(0.01, 100))
@settings(deadline=None)
def test_the_unit_does_not_matter(baseline: list[float], candidate: list[float], factor: float) -> None:
    plain = compare(baseline=baseline, candidate=candidate)
    scaled = compare(baseline=times(factor, baseline), candidate=times(factor, candidate))
    assume(is_spread(plain, scaled))

    assert scaled.difference_percent == pytest.approx(plain.difference_percent, rel=1e-6, abs=1e-6)
    assert (scaled.low, scaled.high) == pytest.approx((plain.low, plain.high), rel=1e-6, abs=1e-6)


@given(baseline=figures, candidate=figures, paired=st.booleans(), margin=st.floats(0.1, 50))
@settings(deadline=None)
def test_interval_estimate_and_verdict_never_contradict_each_other(
    baseline: list[float], candidate: list[float], paired: bool, margin: float
) -> None:
    is_paired = paired and len(baseline) == len(candidate)
    found = compare(baseline=baseline, candidate=candidate, paired=is_paired, margin_percent=margin)

    assert found.low <= found.difference_percent <= found.high
    assert found.difference_low <= found.difference <= found.difference_high
    assert found.smallest_detectable_percent > 0
    says = {
        "faster": found.low > 0,
        "slower": found.high < 0,
        "no_difference": found.low <= 0 <= found.high and max(-found.low, found.high) <= margin + 1e-9,
        "inconclusive": found.low <= 0 <= found.high,
    }
    assert says[found.verdict]
