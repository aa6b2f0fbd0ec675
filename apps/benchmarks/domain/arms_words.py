"""A comparison of several arms in words: one sentence above all, and one of each arm."""

from __future__ import annotations

from collections.abc import Sequence

from apps.benchmarks.domain.arms import TPS, Compared, Metric
from apps.benchmarks.domain.comparison import Comparison
from apps.benchmarks.domain.comparison_words import outlook, signed, unsigned
from apps.benchmarks.domain.runs_needed import MOST
from apps.benchmarks.domain.verdicts import Verdict

_MOST_NAMED = 2


def headline(labels: Sequence[str], arms: Sequence[Compared], *, baseline: int) -> str:
    """About the rate. "" while no arm can be compared."""
    found = [(label, arm.against[TPS.key]) for label, arm in zip(labels, arms, strict=True) if TPS.key in arm.against]
    if not found:
        return ""
    base = labels[baseline]
    faster = sorted(_with(found, Verdict.FASTER), key=lambda each: -each[1].difference_percent)
    slower = sorted(_with(found, Verdict.SLOWER), key=lambda each: each[1].difference_percent)
    said = []
    if faster:
        label, size = faster[0][0], _size(faster[0][1])
        said.append(f"with {label} the rate is {size} higher than with {base}{_others(faster[1:])}")
    if slower:
        label, size = slower[0][0], _size(slower[0][1])
        rate, than = ("it", "") if faster else ("the rate", f" than with {base}")
        said.append(f"with {label} {rate} is {size} lower{than}{_others(slower[1:])}")
    if alike := [label for label, _ in _with(found, Verdict.NO_DIFFERENCE)]:
        largest = max(_largest(each) for _, each in _with(found, Verdict.NO_DIFFERENCE))
        differs = "differ" if len(alike) > 1 else "differs"
        said.append(
            f"{_listed(alike)} {differs} by no more than {unsigned(largest)}" + ("" if said else f" from {base}")
        )
    if unsure := [label for label, _ in _with(found, Verdict.INCONCLUSIVE)]:
        said.append(f"these runs do not tell {_listed(unsure)} from {base}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _size(found: Comparison) -> str:
    return unsigned(abs(found.difference_percent), up=False)


def _others(rest: Sequence[tuple[str, Comparison]]) -> str:
    """Those that differ the same way, by less."""
    if len(rest) > _MOST_NAMED:
        return f", with {len(rest)} others {_size(rest[-1][1])} to {_size(rest[0][1])}"
    return "".join(f", with {label} {_size(each)}" for label, each in rest)


def _with(found: Sequence[tuple[str, Comparison]], verdict: Verdict) -> list[tuple[str, Comparison]]:
    return [each for each in found if each[1].verdict is verdict]


def in_short(found: Comparison) -> str:
    """The verdict without its figures, for a table that shows them beside it."""
    if found.verdict in {Verdict.FASTER, Verdict.SLOWER}:
        return str(found.verdict)
    if found.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {unsigned(_largest(found))}"
    seen = f"open: {unsigned(found.smallest_detectable_percent)} would have shown in 4 of 5 cases"
    return f"{seen}.{outlook(found.more_runs, found.more_minutes, most=MOST)}"


def of_arm(label: str, base: str, found: Comparison, metric: Metric = TPS) -> str:
    """The verdict on its rate, or on another metric."""
    interval = f"95 % interval {signed(found.low)} to {signed(found.high)}"
    change = f"{signed(found.difference_percent)} in {metric.unit}, {interval}"
    if found.verdict in {Verdict.FASTER, Verdict.SLOWER}:
        return f"{label} is {found.verdict} than {base}: {change}."
    if found.verdict is Verdict.NO_DIFFERENCE:
        return f"No difference larger than {unsigned(_largest(found))}: {change}."
    more = f"{change}. A difference of {unsigned(found.smallest_detectable_percent)} would have shown in 4 of 5 cases."
    return f"Open: {more}{outlook(found.more_runs, found.more_minutes, most=MOST)}"


def _largest(found: Comparison) -> float:
    return max(abs(found.low), abs(found.high))


def _listed(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"
