"""A comparison in words."""

import math

from apps.benchmarks.domain.verdicts import Verdict

_HUGE_PERCENT = 1e6
_HUGE = "more than ten thousandfold"


def sentence(
    verdict: Verdict,
    *,
    percents: tuple[float, float, float],
    detectable: float,
    margin_percent: float,
    medians: tuple[float, float],
    unit: str,
    is_rounded: bool,
    is_constant: bool,
) -> str:
    """percents: the difference, and the ends of its interval. medians: of the baseline and of the candidate.

    is_rounded: what rounding may have taken is in the interval. is_constant: all values of each side are the same.
    """
    middle, low, high = (signed(each) for each in percents)
    seen = f"{middle} (95 % interval {low} to {high}), medians {figure(medians[0])} and {figure(medians[1])} {unit}."
    largest = max(abs(percents[1]), abs(percents[2]))
    if verdict in {Verdict.FASTER, Verdict.SLOWER}:
        found = f"The candidate is {verdict}: {seen}"
        if largest < margin_percent:
            found += f" All of that is less than the {margin_percent:g} % that matter."
    elif verdict is Verdict.NO_DIFFERENCE:
        found = f"There is no difference larger than {unsigned(largest)}: {seen}"
    else:
        found = (
            f"These runs do not tell: {seen} They would show a difference of {unsigned(detectable)} in 4 of 5 cases."
        )
    if is_rounded and not is_constant:
        found += (
            " The interval alone would be about as narrow as what the values may have lost when they were rounded, so "
            "that is added to it."
        )
    elif is_rounded:
        found += " The values do not vary at all, so the interval is what they may have lost when they were rounded."
    return found


def outlook(more_runs: int | None, more_minutes: float | None, *, most: int) -> str:
    """What would settle it."""
    if more_runs is None:
        return " Values with more digits would tell more."
    if more_runs >= most:
        return f" Not even {most:,} more runs of each side would settle it."
    runs = "1 more run" if more_runs == 1 else f"{more_runs:,} more runs"
    minutes = "" if more_minutes is None else f" ({math.ceil(more_minutes):,} min)"
    return f" About {runs} of each side{minutes} would settle it in 4 of 5 cases, if all stays as it is."


def signed(percent: float) -> str:
    """As +4.2 %, with a true minus."""
    if percent > _HUGE_PERCENT:
        return _HUGE
    sign = "−" if round(percent, 2) < 0 else "+"  # nothing is neither less than nothing
    return sign + unsigned(abs(percent), up=False)


def unsigned(percent: float, *, up: bool = True) -> str:
    """up: never less than it is, for what is said to be the largest."""
    if percent > _HUGE_PERCENT:
        return _HUGE
    digits = 2 if percent < 0.9995 else 1 if percent < 100 else 0
    shown = math.ceil(percent * 10**digits - 1e-9) / 10**digits if up else percent
    return f"{shown:,.{digits}f} %"


def figure(value: float) -> str:
    """With five digits or more, as many as matter."""
    digits = max(0, 4 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}" if digits < 9 else f"{value:.4e}"
