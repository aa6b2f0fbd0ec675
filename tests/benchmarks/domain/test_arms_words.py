"""The sentence above a comparison names every arm that differs, the furthest first."""

from collections.abc import Sequence

import pytest

from apps.benchmarks.domain.arms import Compared, Measured, side_by_side
from apps.benchmarks.domain.arms_words import headline

RUNS = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0)


def compared(*rates: float) -> list[Compared]:
    """Six runs of each arm around its rate; the first arm is the baseline."""
    arms = [
        [Measured(block, {"tps": rate * around}, {}) for block, around in enumerate(RUNS, start=1)] for rate in rates
    ]
    return side_by_side(arms, baseline=0, are_blocks=False, margin_percent=5.0, run_s=None)


@pytest.mark.parametrize(
    ("labels", "rates", "said"),
    [
        (("A", "B"), (1000, 800), "With B the rate is 20.0 % lower than with A."),
        (("A", "B", "C"), (1000, 800, 700), "With C the rate is 30.0 % lower than with A, with B 20.0 %."),
        (
            ("A", "B", "C", "D"), (1000, 800, 1500, 1200),
            "With C the rate is 50.0 % higher than with A, with D 20.0 %; with B it is 20.0 % lower.",
        ),
        (
            ("A", "B", "C", "D", "E"), (1000, 800, 700, 600, 500),
            "With E the rate is 50.0 % lower than with A, with 3 others 20.0 % to 40.0 %.",
        ),
    ],
)  # fmt: skip
def test_every_arm_that_differs_is_named(labels: Sequence[str], rates: Sequence[float], said: str) -> None:
    assert headline(labels, compared(*rates), baseline=0) == said


def test_what_pgbench_does_by_itself_is_no_statement_of_the_heat_table() -> None:
    said = {"\\set aid random(1, 100000)": 0.001, "SELECT abalance FROM pgbench_accounts;": 0.4}
    arm = [Measured(block, {"tps": 1000.0}, said) for block in (1, 2)]

    found = side_by_side([arm, arm], baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)

    assert [[cell.text for cell in each.statements] for each in found] == [
        ["SELECT abalance FROM pgbench_accounts;"]
    ] * 2
