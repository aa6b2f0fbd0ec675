"""How far a run is, drawn: what is over, what is done, what is to come, and what nobody can tell."""

import datetime as dt

import pytest

from apps.benchmarks.domain import run_steps


@pytest.mark.parametrize(
    ("state", "phase", "measured_s", "shares"),
    [
        ("queued", "", None, [0.0, 0.0, 0.0]),
        ("preparing", "makes its tables anew", None, [None, 0.0, 0.0]),
        ("preparing", run_steps.WARMS_UP, None, [1.0, None, 0.0]),
        ("running", "measures", 15.0, [1.0, 1.0, 0.25]),
        ("running", "reads its results", 61.0, [1.0, 1.0, 1.0]),
    ],
)
def test_the_steps_of_a_run(state: str, phase: str, measured_s: float | None, shares: list[float | None]) -> None:
    found = run_steps.steps(
        state=state, phase=phase, duration_s=60, warm_up_s=10, measured_s=measured_s, has_begun=state == "running"
    )

    assert [one.name for one in found] == ["data", "warm-up", "measurement"]
    assert [one.share for one in found] == shares


def test_without_a_warm_up_there_is_no_step_for_it() -> None:
    found = run_steps.steps(
        state="running", phase="measures", duration_s=60, warm_up_s=0, measured_s=None, has_begun=True
    )

    assert [one.name for one in found] == ["data", "measurement"]


def test_an_end_is_named_once_the_measurement_has_begun() -> None:
    began = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)

    assert run_steps.ends_at(measured_at=None, duration_s=90) is None
    assert run_steps.ends_at(measured_at=began, duration_s=90) == began + dt.timedelta(seconds=90)
