"""What a run of the pub/sub workload has measured, as figures and as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.pubsub_accounting import GroupAccount, is_exactly_once
from apps.benchmarks.domain.pubsub_plan import Plan
from apps.benchmarks.domain.pubsub_tally import Tally
from apps.benchmarks.domain.run_findings import RunFinding

CLOCK = "CLOCK_MONOTONIC of the machine that makes the load, of writers and readers alike"
MIB = 1024 * 1024
# Of the rate that was asked for: less was not held; nor was it where more than the rest was still to be sent.
HELD_SHARE = 0.97
MOST_SAID = 10
_ERRORS = ("writer_errors", "reader_errors", "sessions_lost", "rolled_back", "shared_statements")
SHARED_STATEMENTS = (
    "What was prepared was gone, or another session's was there: what takes these sessions hands them from one server "
    "connection to another, as a pooler does. Register it as an endpoint of kind pooler: nothing is prepared then."
)


class Times(TypedDict):
    """Milliseconds; None where nothing was counted."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float | None


@dataclass(frozen=True)
class Course:
    """How a run went. window_s: of the measurement, as long as it was. behind: by group, when the writers ended.

    drained_s: from then until every group had everything; None where that was not waited for or did not come.
    wal_bytes: written by the server within the window; None where nobody could ask. published: what the tables hold.
    """

    window_s: float
    behind: Sequence[int]
    drained_s: float | None
    wal_bytes: int | None
    published: int
    processes: int
    workers_lost: int = 0
    is_partial: bool = False


def report(plan: Plan, tally: Tally, course: Course, accounts: Sequence[GroupAccount]) -> dict[str, Any]:
    """As domain.own_program tells it: tps counts published messages, latency is from when a message was due.

    accounts: of every group; none where the server could not be asked in the end.
    """
    e2e = tally.e2e_of_all
    latencies = e2e if plan.groups else tally.publish
    window_s = course.window_s or 1.0
    return {
        "tps": tally.counts["measured_published"] / window_s,
        "transactions": tally.counts["measured_published"],
        "failed": tally.counts["writer_errors"] + tally.counts["reader_errors"],
        "latency_ms": latencies.mean_ms,
        "is_partial": course.is_partial,
        "own": {**own(plan, tally, course, accounts), "findings": findings(plan, tally, course, accounts)},
    }


def own(plan: Plan, tally: Tally, course: Course, accounts: Sequence[GroupAccount]) -> dict[str, Any]:
    window_s = course.window_s or 1.0
    counts = tally.counts
    payload_bytes = counts["measured_published"] * plan.message_bytes
    consumed = sum(tally.consumed_by.values())
    return {
        "plan": plan.as_json(),
        "clock": CLOCK,
        "window_s": course.window_s,
        "published_per_s": counts["measured_published"] / window_s,
        "published_mib_per_s": payload_bytes / MIB / window_s,
        "consumed_per_s": consumed / window_s,
        "consumed_mib_per_s": consumed * plan.message_bytes / MIB / window_s,
        "end_to_end_ms": times(tally.e2e_of_all),
        "publish_ms": times(tally.publish),
        "publish_service_ms": times(tally.publish_service),
        "unsent": counts["unsent"],
        "groups": [
            {
                "consumed_per_s": tally.consumed_by[one["group"]] / window_s,
                "end_to_end_ms": times(tally.e2e_of(one["group"])),
                "behind_when_writers_ended": _at(course.behind, position),
                **one,
            }
            for position, one in enumerate(accounts)
        ],
        "drained_s": course.drained_s,
        "is_exactly_once": _are_accounted_for(plan, accounts) and is_exactly_once(accounts),
        "is_complete": (
            _are_accounted_for(plan, accounts)
            and is_exactly_once(accounts)
            and not any(one["behind"] for one in accounts)
        ),
        "polls": polls(plan, tally, window_s),
        "errors": {
            **{name: counts[name] for name in _ERRORS},
            "workers_lost": course.workers_lost,
            "said": dict(tally.errors.most_common(MOST_SAID)),
        },
        "published_in_all": course.published,
        "wal_bytes_per_s": None if course.wal_bytes is None else course.wal_bytes / window_s,
        "wal_per_payload": course.wal_bytes / payload_bytes if course.wal_bytes and payload_bytes else None,
        "processes": course.processes,
        "cpu_s": tally.cpu_s,
    }


def polls(plan: Plan, tally: Tally, window_s: float) -> dict[str, Any]:
    """saved: what plain polling would have asked in the time that readers waited longer; a transaction each.

    cpu_saved_s: of the load's own machine, by what one empty poll took of it before the run; the server saves about as
    much again, which nobody sees from here. None where readers do not back off.
    """
    saved = tally.polls_saved if plan.back_off else None
    cost = tally.empty_poll_cpu_s
    return {
        "polls": tally.counts["polls"],
        "empty": tally.counts["empty_polls"],
        "polls_per_s": tally.counts["polls"] / window_s,
        "empty_per_s": tally.counts["empty_polls"] / window_s,
        "saved": None if saved is None else round(saved),
        "saved_share": None if saved is None or not saved else saved / (saved + tally.counts["polls"]),
        "cpu_saved_s": None if saved is None or cost is None else saved * cost,
    }


def times(latencies: LatencyHistogram) -> Times:
    p50, p95, p99, p999 = (latencies.percentile_ms(percent) for percent in (50, 95, 99, 99.9))
    mean, most = latencies.mean_ms, latencies.max_ms
    return {"count": latencies.count, "mean": mean, "p50": p50, "p95": p95, "p99": p99, "p999": p999, "max": most}


def findings(plan: Plan, tally: Tally, course: Course, accounts: Sequence[GroupAccount]) -> list[RunFinding]:
    found: list[RunFinding] = []
    if not _are_accounted_for(plan, accounts):
        sentence = "The server could not be asked where the groups stand in the end: no message is accounted for."
        found.append({"check": "exactly_once", "ok": False, "sentence": sentence})
    elif plan.groups:
        found += [_exactly_once(accounts), _behind(accounts)]
    if plan.throttle_per_s:
        found.append(_throttle(plan, tally, course))
    if shared := tally.counts["shared_statements"]:
        found.append({"check": "shared_statements", "ok": False, "sentence": _shared(shared)})
    if course.workers_lost:
        sentence = f"{course.workers_lost} of {course.processes} processes of the load ended before their time."
        found.append({"check": "processes_lost", "ok": False, "sentence": sentence})
    return found


def _are_accounted_for(plan: Plan, accounts: Sequence[GroupAccount]) -> bool:
    return len(accounts) == plan.groups


def _exactly_once(accounts: Sequence[GroupAccount]) -> RunFinding:
    wrong = {
        "lost": "were passed over by their group and received by nobody",
        "twice": "were received again",
        "out_of_order": "were received after a later one of their partition",
        "undone": "were received, and are unread again as the database says",
    }
    found = [
        f"group {one['group']}: {count:,} {said}"
        for one in accounts
        for key, said in wrong.items()
        if (count := _count(one, key))
    ]
    received = sum(one["received"] + one["unconfirmed"] for one in accounts)
    unconfirmed = sum(one["unconfirmed"] for one in accounts)
    ok = not found
    sentence = f"All {received:,} messages that were read reached their group once and in the order of their partition"
    if unconfirmed:
        sentence += f"; {unconfirmed:,} of them by readers that ended before they heard of their commit"
    return {"check": "exactly_once", "ok": ok, "sentence": f"{sentence if ok else '; '.join(found)}."}


def _behind(accounts: Sequence[GroupAccount]) -> RunFinding:
    left = sum(one["behind"] for one in accounts)
    if not left:
        return {"check": "all_read", "ok": True, "sentence": "Every group has read every message."}
    most = max(accounts, key=lambda one: one["behind"])
    sentence = (
        f"{left:,} messages were not read by the end, {most['behind']:,} of them in group {most['group']}: the readers "
        "do not keep up, or the run was ended early. Latencies are of what was read alone."
    )
    return {"check": "all_read", "ok": False, "sentence": sentence}


def _throttle(plan: Plan, tally: Tally, course: Course) -> RunFinding:
    per_s = tally.counts["measured_published"] / (course.window_s or 1.0)
    share = per_s / plan.throttle_per_s
    unsent = tally.counts["unsent"]
    if share < HELD_SHARE or unsent > (1 - HELD_SHARE) * plan.throttle_per_s * course.window_s:
        sentence = (
            f"{per_s:,.0f} messages per second of the {plan.throttle_per_s:,} that were asked for: the writers did not "
            f"keep up, and {unsent:,} messages that were due were never sent. Latencies count from when each was due."
        )
        return {"check": "throttle_held", "ok": False, "sentence": sentence}
    sentence = f"The throttle was held: {per_s:,.0f} of {plan.throttle_per_s:,} messages per second."
    return {"check": "throttle_held", "ok": True, "sentence": sentence}


def _shared(count: int) -> str:
    failed = f"{count:,} statement{'' if count == 1 else 's'} failed over what sessions had prepared."
    return f"{failed} {SHARED_STATEMENTS} These are no fair figures of it."


def _count(one: GroupAccount, key: str) -> int:
    value = dict(one)[key]
    return value if isinstance(value, int) else 0


def _at(numbers: Sequence[int], position: int) -> int | None:
    return numbers[position] if position < len(numbers) else None
