"""When so much of a load fails that it is ended."""

import pytest

from apps.benchmarks.domain.failed_share import FailedShare
from apps.benchmarks.domain.run_result import Second


def second(at_s: float, *, tps: float, failed: int | None) -> Second:
    return Second(at_s, tps, 1.0, None, failed)


def test_what_failed_is_held_against_all_that_was_tried() -> None:
    share = FailedShare()
    share.take([second(1, tps=90.0, failed=10)])  # 10 of 100

    assert share.above(0.1) == ""
    assert "10 of 100 transactions failed within 1 s; during a run at most 0.09 of all" in share.above(0.09)
    share.take([second(2, tps=300.0, failed=None)])  # 10 of 400
    assert share.above(0.03) == ""


def test_seconds_that_were_not_told_count_with_the_one_after_them() -> None:
    share = FailedShare()
    share.take([second(3, tps=30.0, failed=10)])  # 3 x 30 done

    assert share.above(0.1) == ""


@pytest.mark.parametrize("failed", [0, 19])
def test_of_a_few_transactions_nothing_is_said(failed: int) -> None:
    share = FailedShare()
    share.take([second(1, tps=0.0, failed=failed)])

    assert share.above(0.0) == ""


def test_where_none_may_fail_the_first_one_ends_it() -> None:
    share = FailedShare()
    share.take([second(1, tps=1000.0, failed=1)])

    assert share.above(0.0) != ""
