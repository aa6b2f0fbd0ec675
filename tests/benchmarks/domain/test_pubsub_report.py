"""Figures and sentences of a pub/sub run."""

import json
from collections import Counter
from typing import Any

import pytest

from apps.benchmarks.domain import own_program
from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.pubsub_accounting import Delivery, GroupAccount, account
from apps.benchmarks.domain.pubsub_plan import plan
from apps.benchmarks.domain.pubsub_report import Course, report
from apps.benchmarks.domain.pubsub_tally import Tally


def measured(**counts: int) -> Tally:
    """Ten seconds at 1,000 messages per second of 512 bytes, read by two groups."""
    return Tally(
        counts=Counter({"published": 12_000, "measured_published": 10_000, "measured_batches": 1_000, **counts}),
        consumed_by=Counter({0: 10_000, 1: 9_000}),
        publish=counted([1000] * 1000),
        publish_service=counted([500] * 1000),
        e2e={0: counted([2000] * 99 + [9000]), 1: counted([4000] * 100)},
        cpu_s=1.5,
    )


def course(**changes: Any) -> Course:
    known: dict[str, Any] = {
        "window_s": 10.0, "behind": [0, 100], "drained_s": 0.5, "wal_bytes": 6_400_000, "published": 12_000,
        "processes": 2,
    }  # fmt: skip
    return Course(**{**known, **changes})


def accounts(position: int = 12_001) -> list[GroupAccount]:
    deliveries = [Delivery(group, 0, 1, position, 1, is_committed=True) for group in (0, 1)]
    return account(deliveries, ends={0: 12_001}, positions={(0, 0): position, (1, 0): position})


def reported(tally: Tally | None = None, at: Course | None = None, **changes: Any) -> dict[str, Any]:
    given = {"groups": 2, "partitions": 1, "message_bytes": 512, "throttle_per_s": 1000, **changes}
    made = plan(given, duration_s=10)
    return report(made, tally or measured(), at or course(), accounts())


def checks(found: dict[str, Any]) -> dict[str, bool]:
    return {one["check"]: one["ok"] for one in found["own"]["findings"]}


def test_rates_are_of_the_window_and_latencies_of_all_groups() -> None:
    found = reported()

    own = found["own"]
    assert (found["tps"], own["published_per_s"], own["consumed_per_s"]) == (1000, 1000, 1900)
    assert own["published_mib_per_s"] == pytest.approx(512_000 / 1024**2)
    assert found["latency_ms"] == pytest.approx((99 * 2 + 9 + 400) / 200)
    assert own["end_to_end_ms"]["p50"] == pytest.approx(4, rel=0.001)
    assert own["groups"][0]["end_to_end_ms"]["p99"] == pytest.approx(2, rel=0.001)
    assert own["groups"][1]["behind_when_writers_ended"] == 100
    assert (own["publish_ms"]["mean"], own["publish_service_ms"]["mean"]) == (1, 0.5)
    assert own["wal_per_payload"] == pytest.approx(6_400_000 / (10_000 * 512))  # 1.25
    assert checks(found) == {"exactly_once": True, "all_read": True, "throttle_held": True}
    assert own["is_complete"]


def test_it_is_read_as_the_report_of_any_own_program() -> None:
    text = own_program.line("report", reported())

    found = own_program.parse_report(text)

    assert (found.tps, found.transactions, found.is_partial) == (1000.0, 10_000, False)
    assert found.own["published_per_s"] == 1000


def test_a_line_of_the_most_groups_is_no_longer_than_is_read() -> None:
    deliveries = [Delivery(group, 0, 1, 10**12, 1, is_committed=True) for group in range(100)]
    positions = {(group, 0): 10**12 for group in range(100)}
    tally = measured(polls=10**9)
    tally.e2e = {group: counted([1234567, 7654321]) for group in range(100)}
    found = report(
        plan({"groups": 100}, duration_s=10), tally, course(behind=[10**12] * 100),
        account(deliveries, ends={0: 10**12}, positions=positions),
    )  # fmt: skip

    assert own_program.parse_report(own_program.line("report", found)).tps == 1000


def test_without_readers_latency_is_that_of_publishing() -> None:
    tally = measured()
    tally.e2e.clear()
    found = report(plan({"groups": 0}, duration_s=10), tally, course(behind=[]), [])

    assert found["latency_ms"] == 1
    assert "exactly_once" not in checks(found)


def test_a_throttle_that_was_not_held_is_told() -> None:
    slow = reported(measured(measured_published=9_000))
    late = reported(measured(unsent=400))  # 4 % of what was due was still to be sent, whatever the rate

    assert not checks(slow)["throttle_held"]
    assert not checks(late)["throttle_held"]
    assert "400 messages" in next(one["sentence"] for one in late["own"]["findings"] if one["check"] == "throttle_held")


def test_what_was_lost_or_is_unread_is_told_with_its_group() -> None:
    wrong = account(
        [Delivery(1, 0, 1, 9, 1, is_committed=True)], ends={0: 21}, positions={(0, 0): 11, (1, 0): 9}
    )  # fmt: skip
    found = report(plan({"groups": 2}, duration_s=10), measured(), course(), wrong)

    told = {one["check"]: one["sentence"] for one in found["own"]["findings"] if not one["ok"]}
    assert "group 0: 10 were passed over" in told["exactly_once"]
    assert "22 messages were not read by the end, 12 of them in group 1" in told["all_read"]
    assert not found["own"]["is_exactly_once"]


def test_nothing_is_said_to_be_accounted_for_where_the_server_was_silent() -> None:
    found = report(plan({"groups": 2}, duration_s=10), measured(), course(behind=[]), [])

    assert checks(found) == {"exactly_once": False}
    assert (found["own"]["is_exactly_once"], found["own"]["is_complete"]) == (False, False)


def test_a_process_that_was_lost_is_told() -> None:
    assert not checks(reported(at=course(workers_lost=1)))["processes_lost"]


def test_what_backing_off_saved_is_told_only_where_readers_back_off() -> None:
    tally = measured(polls=400, empty_polls=300)
    tally.polls_saved, tally.empty_poll_cpu_s = 600.0, 0.0002

    plain, sparing = (reported(tally, back_off=back_off)["own"]["polls"] for back_off in (False, True))

    assert (plain["polls"], plain["empty_per_s"], plain["saved"], plain["cpu_saved_s"]) == (400, 30, None, None)
    assert (sparing["saved"], sparing["saved_share"]) == (600, 0.6)  # 600 of 1,000 that plain polling makes
    assert sparing["cpu_saved_s"] == pytest.approx(0.12)


def test_tallies_of_several_processes_add_up_after_their_way_as_json() -> None:
    first, second = measured(), measured()
    second.errors["no route"] += 2
    total = Tally()

    for one in (first, second):
        total.add(Tally.from_json(json.loads(json.dumps(one.as_json()))))

    assert total.counts["published"] == 24_000
    assert total.consumed_by == {0: 20_000, 1: 18_000}
    assert total.e2e_of(0).percentile_ms(100) == 9
    assert total.e2e_of_all.count == 400
    assert total.publish.mean_ms == 1
    assert (total.errors["no route"], total.cpu_s) == (2, 3.0)


def test_a_tally_of_nothing_adds_nothing() -> None:
    total = measured()

    total.add(Tally.from_json(json.loads(json.dumps(Tally().as_json()))))

    assert total.as_json() == measured().as_json()


def test_statements_that_sessions_shared_are_told_with_what_mends_it() -> None:
    alone = reported(measured(shared_statements=1))
    many = reported(measured(shared_statements=1200, reader_errors=1300))

    assert "shared_statements" not in checks(reported())
    assert (checks(alone)["shared_statements"], many["own"]["errors"]["shared_statements"]) == (False, 1200)
    said = [
        one["sentence"] for found in (alone, many) for one in found["own"]["findings"] if "pooler" in one["sentence"]
    ]
    assert said[0].startswith("1 statement failed over what sessions had prepared.")
    assert said[1].startswith("1,200 statements failed over what sessions had prepared.")
    assert all("Register it as an endpoint of kind pooler" in one for one in said)
