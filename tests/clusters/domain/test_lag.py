"""Replay lag in every state of primary and standby, and why it is not known."""

import pytest

from apps.clusters.domain.lag import DelayThreshold, Lag, SaidByStandby, SeenByPrimary, standby_lag

STREAMING = SaidByStandby("streaming", 24.6)
CUT_OFF = SaidByStandby(None, 0.0)


@pytest.mark.parametrize(
    ("row", "lag"),
    [
        (SeenByPrimary("streaming", 7028512, 1.848), Lag(7028512, 1.848)),
        (SeenByPrimary("streaming", 0, 0.002), Lag(0, 0.002)),
        # Idle for 12 s: replay_lag is NULL, and the standby's own clock says 24.6 s while it is in sync.
        (SeenByPrimary("streaming", 0, None), Lag(0, 0.0)),
        (SeenByPrimary("streaming", 4096, None), Lag(4096, 24.6)),
    ],
)
def test_a_streaming_standby_is_as_far_behind_as_the_primary_says(row: SeenByPrimary, lag: Lag) -> None:
    assert standby_lag(primary_answered=True, at_primary=row, at_standby=STREAMING) == lag


def test_a_standby_without_a_row_is_disconnected_and_not_in_sync() -> None:
    lag = standby_lag(primary_answered=True, at_primary=None, at_standby=CUT_OFF)

    assert (lag.lag_bytes, lag.lag_s) == (None, None)
    assert lag.reason is not None
    assert lag.reason.startswith("not connected")


def test_rows_that_the_role_may_not_see_say_what_to_grant() -> None:
    lag = standby_lag(primary_answered=True, at_primary=SeenByPrimary(None, None, None), at_standby=STREAMING)

    assert lag.reason is not None
    assert "GRANT pg_monitor" in lag.reason


def test_a_standby_that_catches_up_says_so() -> None:
    lag = standby_lag(primary_answered=True, at_primary=SeenByPrimary("catchup", 500, None), at_standby=None)

    assert lag == Lag(500, None, "not streaming yet: catchup")


def test_bytes_without_seconds_have_a_reason() -> None:
    lag = standby_lag(primary_answered=True, at_primary=SeenByPrimary("streaming", 500, None), at_standby=CUT_OFF)

    assert lag == Lag(500, None, "the primary has not measured it yet")


@pytest.mark.parametrize(("standby", "lag_s"), [(None, None), (CUT_OFF, None), (SaidByStandby("streaming", 1.5), 1.5)])
def test_without_the_primary_nothing_reads_as_in_sync(standby: SaidByStandby | None, lag_s: float | None) -> None:
    lag = standby_lag(primary_answered=False, at_primary=None, at_standby=standby)

    assert lag.lag_bytes is None
    assert lag.lag_s == lag_s
    assert lag.reason


@pytest.mark.parametrize(
    ("threshold", "lag_bytes", "lag_s", "is_exceeded"),
    [
        (DelayThreshold(1000), 1001, None, True),
        (DelayThreshold(1000), 1000, 99.0, False),
        (DelayThreshold(1000), None, 99.0, None),
        (DelayThreshold(1000, 0.0), 1001, None, True),  # delay_threshold_by_time 0 counts for nothing
        (DelayThreshold(1000, 5.0), 10**9, 5.0, False),
        (DelayThreshold(1000, 5.0), 0, 5.1, True),
        (DelayThreshold(0, 5.0), 0, None, None),
        (DelayThreshold(0), 10**9, 99.0, False),
        (DelayThreshold(None), 10**9, 99.0, False),
    ],
)
def test_a_lag_is_held_against_the_threshold_that_counts(
    threshold: DelayThreshold, lag_bytes: int | None, lag_s: float | None, is_exceeded: bool | None
) -> None:
    assert threshold.is_exceeded(lag_bytes=lag_bytes, lag_s=lag_s) is is_exceeded
