"""The sentence above a comparison names every arm that differs, the furthest first."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from apps.benchmarks.domain.arms import NEW_ORDERS, Compared, Measured, side_by_side
from apps.benchmarks.domain.arms_words import headline, in_short, of_arm
from apps.benchmarks.domain.comparison import compare

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


def test_an_open_arm_says_in_which_share_of_cases_more_runs_settle_it() -> None:
    found = replace(compare(baseline=[100, 104, 97], candidate=[102, 91, 103]), more_runs=1, more_minutes=2.1)

    told = "About 1 more run of each side (3 min) would settle it in 4 of 5 cases, if all stays as it is."
    assert of_arm("B", "A", found).endswith(told)
    assert in_short(found).endswith(told)


def test_what_not_even_the_most_runs_settle_is_said_of_an_arm_too() -> None:
    found = compare(baseline=[1e-9, 1e12], candidate=[1e12, 1e-9])

    assert of_arm("B", "A", found).endswith("Not even 100,000 more runs of each side would settle it.")
    assert in_short(found).endswith("Not even 100,000 more runs of each side would settle it.")


def test_a_percentage_and_what_it_is_of_are_kept_apart() -> None:
    found = compare(baseline=RUNS, candidate=[0.8 * each for each in RUNS])

    assert of_arm("B", "A", found, NEW_ORDERS).startswith("B is slower than A: −20.0 % in new orders per min, 95 % ")


def test_what_pgbench_does_by_itself_is_no_statement_of_the_heat_table() -> None:
    said = {"\\set aid random(1, 100000)": 0.001, "SELECT abalance FROM pgbench_accounts;": 0.4}
    arm = [Measured(block, {"tps": 1000.0}, said) for block in (1, 2)]

    found = side_by_side([arm, arm], baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)

    assert [[cell.text for cell in each.statements] for each in found] == [
        ["SELECT abalance FROM pgbench_accounts;"]
    ] * 2
