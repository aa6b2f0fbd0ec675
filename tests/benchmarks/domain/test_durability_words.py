"""What durability costs, in words: which arms are told, and what of them."""

from typing import Any

import pytest

from apps.benchmarks.domain.arms import Compared, Measured, side_by_side
from apps.benchmarks.domain.comparison_plan import Arm
from apps.benchmarks.domain.durability_words import costs
from apps.benchmarks.domain.replication_words import Waits

STEADY = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)
WILD = (1.0, 2.0, 0.5, 1.6, 0.7, 1.3)
SAME = Waits("asynchronous", "on")


def arm(label: str, **changes: Any) -> Arm:
    usual: dict[str, Any] = {
        "label": label, "workload": "pgbench-tpcb-like", "topology": "primary", "clients": 4, "threads": 4,
        "duration_s": 10, "warm_up_s": 0, "parameters": {"scale": 1}, "x": None,
    }  # fmt: skip
    return {**usual, **changes}  # type: ignore[typeddict-item]  # a whole arm all the same


def measured(p50_ms: float, p99_ms: float, spread: tuple[float, ...] = STEADY) -> list[Measured]:
    """Six blocks; p50 always steady."""
    return [
        Measured(block, {"tps": 1000.0, "p50_ms": p50_ms * even, "p99_ms": p99_ms * off}, {})
        for block, (even, off) in enumerate(zip(STEADY, spread, strict=True), start=1)
    ]


def compared(*arms: list[Measured]) -> list[Compared]:
    return side_by_side(arms, baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)


def test_the_cost_is_told_in_milliseconds_and_percent() -> None:
    arms = [arm("local", topology="commit:local"), arm("apply", topology="commit:remote_apply")]

    [said] = costs(arms, compared(measured(2.0, 8.0), measured(3.0, 8.0, WILD)), [SAME, SAME], baseline=0)

    first, second = said.split("; ")
    # 3 ms instead of 2: half as much again, in every block.
    assert first.startswith(
        "What commits with apply cost against local: +1.00\u00a0ms at p50 (+50.0 %, 95 % interval +50"
    )
    assert second.startswith("at p99 these runs do not tell (95 % interval −")


def test_no_difference_and_a_saving_are_told_as_such() -> None:
    arms = [arm("on", topology="commit:on"), arm("off", topology="commit:off")]

    [said] = costs(arms, compared(measured(4.0, 8.0), measured(1.0, 8.0)), [SAME, SAME], baseline=0)

    assert "−3.00\u00a0ms at p50 (−75.0 %" in said
    assert "no more than" in said
    assert "either way at p99" in said


@pytest.mark.parametrize(
    ("first", "second", "waits", "is_told"),
    [
        ({}, {"topology": "commit:off"}, [SAME, SAME], True),
        ({}, {}, [SAME, SAME], False),
        ({}, {}, [SAME, Waits("no standby", "on")], True),
        ({}, {}, [SAME, Waits("asynchronous", "off")], True),
        ({}, {}, [SAME, Waits(None, None)], False),  # nobody can tell
        ({}, {}, [Waits("asynchronous", "on", "a:1"), Waits("asynchronous", "off", "a:1")], True),
        ({}, {}, [Waits("asynchronous", "on", "a:1"), Waits("asynchronous", "off", "b:1")], False),  # another server
        ({"clients": 8}, {"topology": "commit:off"}, [SAME, SAME], False),  # another load
        ({}, {"topology": "pgpools"}, [SAME, Waits("no standby", "on")], False),  # another place
    ],
)
def test_only_what_differs_in_durability_alone_is_told(
    first: dict[str, Any], second: dict[str, Any], waits: list[Waits], *, is_told: bool
) -> None:
    arms = [arm("one", **first), arm("other", **second)]

    assert bool(costs(arms, compared(measured(2.0, 8.0), measured(3.0, 9.0)), waits, baseline=0)) is is_told


def test_what_only_reads_pays_for_no_durability() -> None:
    reads = {"workload": "pgbench-select-only"}
    arms = [arm("one", **reads), arm("other", topology="commit:off", **reads)]

    assert costs(arms, compared(measured(2.0, 8.0), measured(3.0, 9.0)), [SAME, SAME], baseline=0) == []
