"""What durability costs: arms that differ only in what their commits wait for, against the baseline, at p50 and p99."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.benchmarks.domain.arms import Compared
from apps.benchmarks.domain.comparison import Comparison
from apps.benchmarks.domain.comparison_plan import Arm
from apps.benchmarks.domain.comparison_words import signed, unsigned
from apps.benchmarks.domain.replication_words import Waits
from apps.benchmarks.domain.run_words import ms_words
from apps.benchmarks.domain.topologies import COMMIT, PRIMARY
from apps.benchmarks.domain.verdicts import Verdict
from apps.benchmarks.domain.workloads import WORKLOADS, WRITES

PERCENTILES = {"p50_ms": "p50", "p99_ms": "p99"}
# What of an arm may differ without being another load.
_APART = ("label", "topology", "x")


def costs(arms: Sequence[Arm], compared: Sequence[Compared], waits: Sequence[Waits], *, baseline: int) -> list[str]:
    """One sentence for each arm whose commits waited for something else than those of the baseline, at its server."""
    base = arms[baseline]
    return [
        _cost(arm["label"], base["label"], compared[position].against)
        for position, arm in enumerate(arms)
        if position != baseline
        and _writes(arm)
        and _load(arm) == _load(base)
        and {_kind(arm), _kind(base)} <= {PRIMARY, COMMIT}
        and not _is_other(waits[position].address, waits[baseline].address)
        and (arm["topology"] != base["topology"] or _differ(waits[position], waits[baseline]))
        and set(PERCENTILES) & set(compared[position].against)
    ]


def _load(arm: Arm) -> dict[str, object]:
    return {name: value for name, value in arm.items() if name not in _APART}


def _writes(arm: Arm) -> bool:
    """What only reads waits for nothing when it commits."""
    workload = WORKLOADS.get(arm["workload"])
    return bool(arm["parameters"].get(WRITES.name, workload is not None and workload.writes))


def _kind(arm: Arm) -> str:
    return arm["topology"].partition(":")[0]


def _differ(one: Waits, other: Waits) -> bool:
    return _is_other(one.mode, other.mode) or _is_other(one.level, other.level)


def _is_other(one: str | None, other: str | None) -> bool:
    """Whether both are known, and differ."""
    return one is not None and other is not None and one != other


def _cost(label: str, base: str, against: Mapping[str, Comparison]) -> str:
    said = [_part(against[key], name) for key, name in PERCENTILES.items() if key in against]
    return f"What commits with {label} cost against {base}: {'; '.join(said)}."


def _part(found: Comparison, name: str) -> str:
    interval = f"{signed(found.low)} to {signed(found.high)}"
    if found.verdict is Verdict.NO_DIFFERENCE:
        return f"no more than {unsigned(max(abs(found.low), abs(found.high)))} either way at {name}"
    if found.verdict is Verdict.INCONCLUSIVE:
        return f"at {name} these runs do not tell (95 % interval {interval})"
    size = f"{'−' if found.difference < 0 else '+'}{ms_words(abs(found.difference))} at {name}"
    return f"{size} ({signed(found.difference_percent)}, 95 % interval {interval})"
