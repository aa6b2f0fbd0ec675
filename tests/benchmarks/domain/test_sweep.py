"""A sweep names its best place, says how sure that is, and what doubling brings."""

from collections.abc import Sequence

import pytest

from apps.benchmarks.domain.arms import Measured, side_by_side
from apps.benchmarks.domain.sweep import Sweep, sweep
from apps.benchmarks.domain.sweep_limits import Load

WOBBLE = (0.995, 1.004, 0.998, 1.002, 1.006, 0.993)


def swept(xs: Sequence[float], rates: Sequence[float], *, noise: float = 1.0, blocks: int = 6) -> Sweep:
    """Each place so many times; arms wobble in turns, so that no two move alike."""
    arms = [
        [
            Measured(block, {"tps": rate * (1 + noise * (WOBBLE[(block + position) % 6] - 1))}, {})
            for block in range(1, blocks + 1)
        ]
        for position, rate in enumerate(rates)
    ]
    compared = side_by_side(arms, baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)
    found = sweep(xs, arms, compared, over="parameters.scale")
    assert found is not None
    return found


def test_a_best_place_between_worse_ones_is_bracketed() -> None:
    found = swept([1, 2, 4, 8], [500, 900, 1600, 1200])

    assert (found.best_x, found.rivals, found.is_bracketed) == (4, (), True)
    assert found.sentence.startswith("The rate is highest at scale = 4 (1,599")
    assert "Every other place measured is slower." in found.sentence
    assert "bracketed" not in found.sentence


@pytest.mark.parametrize("rates", [[500, 900, 1600], [1600, 900, 500]])
def test_a_best_place_at_an_edge_is_not(rates: list[float]) -> None:
    found = swept([1, 2, 4], rates)

    assert not found.is_bracketed
    assert "The optimum is not bracketed: it lies at an edge" in found.sentence


def test_what_these_runs_do_not_tell_from_the_best_is_its_rival() -> None:
    found = swept([1, 2, 4, 8], [500, 1590, 1600, 1599], noise=3)

    assert {found.best_x, *found.rivals} == {2, 4, 8}
    assert not found.is_bracketed  # a rival lies at the edge
    assert "These runs do not tell it from" in found.sentence


def test_doubling_is_the_slope_over_all_places() -> None:
    found = swept([1, 2, 4, 8], [100, 200, 400, 800], noise=0.1)

    assert found.doubling is not None
    assert found.doubling.percent == pytest.approx(100, abs=1)
    assert found.doubling.low < 100.5
    assert found.doubling.high > 99.5


def test_places_come_by_their_number_whatever_their_order() -> None:
    found = swept([8, 1, 4, 2], [1200, 500, 1600, 900])

    assert [point.x for point in found.points] == [1, 2, 4, 8]
    assert found.best_x == 4


def test_what_limits_each_place_is_told_by_its_number() -> None:
    xs, rates = [16, 1, 4], [2000.0, 1000.0, 1990.0]
    arms = [[Measured(block, {"tps": rate + block}, {}) for block in (1, 2, 3)] for rate in rates]
    compared = side_by_side(arms, baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)
    # One client gets 1000 a second at 1 ms; four could get 4000.
    loads = [Load(16, 8.0, True, False), Load(1, 1.0, True, False), Load(4, 2.0, True, False)]

    found = sweep(xs, arms, compared, over="clients", loads=loads)

    assert found is not None
    assert [(point.x, point.limit) for point in found.points] == [(1, "clients"), (4, ""), (16, "")]
    assert "Up to clients = 1 the clients are the limit" in found.sentence


def test_two_places_make_no_curve() -> None:
    arms = [[Measured(1, {"tps": rate}, {})] for rate in (1.0, 2.0)]
    compared = side_by_side(arms, baseline=0, are_blocks=True, margin_percent=5.0, run_s=None)

    assert sweep([1, 2], arms, compared, over="clients") is None
