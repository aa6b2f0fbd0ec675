"""What is said of a run's own figures."""

from apps.benchmarks.domain.run_findings import of_run
from apps.benchmarks.domain.run_result import RunResult

APART = {"10.0.0.1": ["client"], "10.0.0.2": ["pg1"]}


def result(*, tps: float = 1000.0, mean: float | None = 4.0, failed: int | None = 0) -> RunResult:
    return {
        "tps": tps,
        "tps_by_server": {"pg1": tps},
        "latency_ms": {"mean": mean, "stddev": 1.0, "p50": 4.0, "p95": 5.0, "p99": 6.0},
        "transactions": 60_000,
        "failed": failed,
        "connect_ms": 3.0,
        "statements": [{"text": "SELECT 1", "latency_ms": 3.9}],
        "scripts": [],
        "own": {},
    }


def test_a_sound_run_passes_every_check() -> None:
    found = of_run(result(), clients=4, duration_s=60, placement=APART)

    assert {one["check"]: one["ok"] for one in found} == {
        "co_located": True, "littles_law": True, "statement_sum": True, "too_short": True,
    }  # fmt: skip


def test_each_fault_is_named_with_its_figures() -> None:
    together = {"localhost": ["pgpool-1", "client"], "10.0.0.2": ["pg1"]}
    found = of_run(result(mean=3.5, failed=7), clients=4, duration_s=59, placement=together)

    wrong = {one["check"]: one["sentence"] for one in found if not one["ok"]}
    assert set(wrong) == {"co_located", "littles_law", "statement_sum", "too_short", "errors_ignored"}
    assert "share one machine: client, pgpool-1." in wrong["co_located"]
    assert "7 of 60,007 transactions failed" in wrong["errors_ignored"]
    assert "at least 60 s" in wrong["too_short"]


def test_a_throttle_that_was_reached_is_no_capacity() -> None:
    reached = of_run(result(), clients=8, duration_s=60, placement=APART, throttle_per_s=1000)
    free = of_run(result(), clients=8, duration_s=60, placement=APART, throttle_per_s=2000)

    checks = {one["check"]: one["ok"] for one in reached}
    assert checks["throttle_bound"] is False
    assert "littles_law" not in checks  # clients wait for the throttle, too
    assert {one["check"]: one["ok"] for one in free}["throttle_bound"] is True


def test_a_rate_that_chance_may_have_made_of_its_throttle_is_told_as_open() -> None:
    found = of_run(result(tps=8.0), clients=8, duration_s=6, placement=APART, throttle_per_s=10)

    [unsure] = [one for one in found if one["check"].startswith("throttle_")]
    assert (unsure["check"], unsure["ok"]) == ("throttle_unsure", False)
    assert "It may be the throttle or the servers" in unsure["sentence"]


def test_messages_that_are_due_one_after_the_other_leave_nothing_to_chance() -> None:
    found = of_run(result(tps=8.0), clients=8, duration_s=6, placement=APART, throttle_per_s=10, is_closed_loop=False)

    [free] = [one for one in found if one["check"].startswith("throttle_")]
    assert (free["check"], free["ok"]) == ("throttle_bound", True)
    assert "not the throttle" in free["sentence"]


def test_sessions_made_for_each_transaction_are_in_no_latency() -> None:
    found = of_run(result(mean=3.5), clients=4, duration_s=60, placement=APART, reconnects=True)

    assert "littles_law" not in {one["check"] for one in found}


def test_a_run_without_a_rate_is_only_told_where_it_ran() -> None:
    found = of_run(result(tps=0.0, mean=None), clients=4, duration_s=60, placement=APART)

    assert [one["check"] for one in found] == ["co_located", "too_short"]


def test_what_a_driver_has_found_itself_is_told_with_the_rest() -> None:
    told = {"check": "exactly_once", "ok": False, "sentence": "group 0: 3 were received again."}
    found = of_run({**result(mean=900.0), "own": {"pg1": {"findings": [told]}, "pg2": {"lag": 1}}},
        clients=4, duration_s=60, placement=APART, is_closed_loop=False)  # fmt: skip

    assert told in found
    assert "littles_law" not in {one["check"] for one in found}  # nobody waits for an answer before the next message
