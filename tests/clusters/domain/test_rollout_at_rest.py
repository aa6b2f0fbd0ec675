"""Where a rollout writes just now, so that nobody takes what stands there for an edit by hand."""

from typing import Any

import pytest

from apps.clusters.domain.rollout_plan import StepState, StepView, is_at_rest


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"state": "pending"}, True),
        ({"state": "pending", "attempts": 1}, False),
        ({"state": "pending", "is_touched": True}, False),
        ({"state": "written", "is_touched": True}, False),
        ({"state": "reloaded", "is_touched": True}, False),
        ({"state": "verified", "is_touched": True}, True),
        ({"state": "restore_pending", "is_touched": True}, False),
        ({"state": "restored", "is_touched": True}, True),
        ({"state": "failed", "is_touched": True}, False),  # its old file is about to go back
        ({"state": "failed"}, True),
        ({"state": "absent", "is_touched": True}, False),
        ({"state": "owed", "is_touched": True}, True),
        ({"state": "skipped"}, True),
    ],
)
def test_what_has_not_begun_or_is_done_is_at_rest(step: dict[str, Any], expected: bool) -> None:
    found = StepView(0, "pgpool-1", **{**step, "state": StepState(step["state"])})

    assert is_at_rest(found, goes_back=False, goes_past_failures=False) is expected


def test_what_goes_back_is_not_at_rest_and_what_failed_on_a_way_back_is() -> None:
    verified = StepView(0, "pgpool-1", StepState.VERIFIED, is_touched=True)
    failed = StepView(0, "pgpool-1", StepState.FAILED, is_touched=True)

    assert not is_at_rest(verified, goes_back=True, goes_past_failures=False)
    assert is_at_rest(failed, goes_back=False, goes_past_failures=True)
    assert not is_at_rest(failed, goes_back=True, goes_past_failures=True)
