"""What the guards of a rollout make of what was seen before a change and since."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from apps.clusters.domain.guards import (
    Aborted,
    Counted,
    Guards,
    LeftOut,
    Outcome,
    Reads,
    RoundTrips,
    Seen,
    judge,
    overall,
    told,
)

FOLLOWS = Reads(is_off=False, sentence="Reads follow the weights.", missing=0)
BEFORE = Seen(
    lost=("pgpool-3",),
    lags_s={"pg2": 0.2, "pg3": 90.0},
    counted={"pgpool-1": Counted(errors=40, reads=10_000)},  # 0.4 for 100 reads
)
NOW = replace(BEFORE, counted={"pgpool-1": Counted(errors=44, reads=11_000)})
TRIPS = (RoundTrips(100, 8.0), RoundTrips(30, 9.0))
CANCELLED = (Aborted(60, seconds=1800.0), Aborted(2, seconds=120.0))  # 2 a minute, then 1
ALL = Guards()


def judged(
    guards: Guards = ALL,
    *,
    now: Seen = NOW,
    trips: Any = TRIPS,
    aborted: Any = CANCELLED,
    reads: Reads | None = FOLLOWS,
    left_out: Sequence[LeftOut] = (),
) -> dict[str, Any]:
    each = {"pg2": aborted, "pg3": (Aborted(0, 1800.0), Aborted(0, 120.0))}
    trips_of = {"pgpool-1": trips}
    found = judge(guards, before=BEFORE, now=now, round_trips=trips_of, aborted=each, reads=reads, left_out=left_out)
    return {one.guard: one for one in found}


def test_what_is_as_before_is_good() -> None:
    found = judged()

    assert overall(found.values()) is Outcome.GOOD
    assert found["error_factor"].text == "4 errors beside 1000 reads at pgpool-1"
    assert found["latency_factor"].text == "round trip 9.0 ms through pgpool-1, 8.0 ms before"
    assert found["aborted"].text == "2 reads cancelled at pg2; 0 reads cancelled at pg3"


SPIKE = (RoundTrips(100, 8.0), RoundTrips(30, 90.0))  # 11.25 times as slow


@pytest.mark.parametrize(
    ("control", "outcome"),
    [
        ({}, Outcome.BAD),
        ({"pgpool-2": (RoundTrips(100, 8.0), RoundTrips(30, 9.0))}, Outcome.BAD),
        ({"pgpool-2": (RoundTrips(100, 8.0), RoundTrips(30, 44.0))}, Outcome.BAD),  # 5.5 times, less than half of it
        ({"pgpool-2": (RoundTrips(100, 8.0), RoundTrips(30, 46.0))}, Outcome.INCONCLUSIVE),  # 5.75 times
        ({"pgpool-2": (RoundTrips(100, 0.5), RoundTrips(30, 5.0))}, Outcome.BAD),  # ten times, and still quick
        ({"pgpool-2": (RoundTrips(100, 8.0), RoundTrips(4, 90.0))}, Outcome.BAD),  # too few to compare with
        ({"pgpool-2": (RoundTrips(0, None), RoundTrips(30, 90.0))}, Outcome.BAD),
        ({"pgpool-1": SPIKE}, Outcome.BAD),  # nobody is held against itself
        ({"pgpool-2": SPIKE, "pgpool-3": TRIPS}, Outcome.BAD),  # not most of them
        ({"pgpool-2": SPIKE, "pgpool-3": SPIKE, "pgpool-4": TRIPS}, Outcome.INCONCLUSIVE),
    ],
)
def test_what_slows_those_as_well_that_were_not_written_is_not_laid_to_the_change(
    control: Any, outcome: Outcome
) -> None:
    trips = {"pgpool-1": SPIKE}
    guards = replace(ALL, lost=False, replay_lag_s=None, error_factor=None, aborted=None, shares=False)

    [found] = judge(guards, before=BEFORE, now=NOW, round_trips=trips, aborted={}, reads=FOLLOWS, control=control)

    assert found.outcome is outcome
    if outcome is Outcome.INCONCLUSIVE:
        assert found.text.startswith("round trip 90.0 ms through pgpool-1, 8.0 ms before; pgpool-2")
        assert found.text.endswith(
            " slowed alike, where nothing was changed just now: that may be load, and not the change"
        )


def test_a_finding_names_its_guard() -> None:
    slow = judged(trips=(RoundTrips(100, 17.5), RoundTrips(30, 87.8)))["latency_factor"]

    assert told(slow) == (
        "the guard on round trips: round trip 87.8 ms through pgpool-1, 17.5 ms before, at most 5 times as long is "
        "allowed"
    )
    assert all(told(one).startswith("the guard on ") for one in judged().values())


@pytest.mark.parametrize(
    ("guard", "seen", "text"),
    [
        ("lost", {"now": replace(NOW, lost=("pgpool-3", "pg2"))}, "pg2 was lost since"),
        (
            "replay_lag_s",
            {"now": replace(NOW, lags_s={"pg2": 61.0}, lost=())},
            "pg2 is 61.0 s behind, allowed are 60 s",
        ),
        (
            "error_factor",  # 13 for 1000 reads, over 3 * 0.4 for 100
            {"now": replace(NOW, counted={"pgpool-1": Counted(53, 11_000)})},
            (
                "13 errors beside 1000 reads at pgpool-1, usual were 0.4 for 100 reads, at most 3 times as many are "
                "allowed"
            ),
        ),
        (
            "error_factor",  # set back by a restart: 20 since then
            {"now": replace(NOW, counted={"pgpool-1": Counted(20, 100)})},
            "20 errors beside 100 reads at pgpool-1, usual were 0.4 for 100 reads, at most 3 times as many are allowed",
        ),
        (
            "latency_factor",
            {"trips": (RoundTrips(100, 8.0), RoundTrips(30, 41.0))},
            "round trip 41.0 ms through pgpool-1, 8.0 ms before, at most 5 times as long is allowed",
        ),
        (
            "aborted",  # over 3 * 2 a minute
            {"aborted": (CANCELLED[0], Aborted(13, seconds=120.0))},
            "13 reads cancelled at pg2, 6.5 a minute, usual were 2 a minute, at most 3 times as many are allowed",
        ),
        (
            "aborted",  # where none is usual, three a minute still are no verdict
            {"aborted": (Aborted(0, seconds=600.0), Aborted(16, seconds=300.0))},
            "16 reads cancelled at pg2, 3.2 a minute, usual were 0 a minute, at most 3 times as many are allowed",
        ),
        ("shares", {"reads": Reads(is_off=True, sentence="Reads are off.", missing=0)}, "reads are off"),
    ],
)
def test_each_guard_sees_its_fault_and_only_that(guard: str, seen: dict[str, Any], text: str) -> None:
    found = judged(**seen)

    assert {name for name, one in found.items() if one.outcome is Outcome.BAD} == {guard}
    assert found[guard].text == text
    assert overall(found.values()) is Outcome.BAD


@pytest.mark.parametrize(
    ("guard", "seen", "text"),
    [
        ("replay_lag_s", {"now": replace(NOW, lags_s={"pg2": None})}, "the replay lag of pg2 is not known"),
        ("error_factor", {"now": replace(NOW, counted={"pgpool-1": None})}, "pgpool-1 tells no error counters"),
        (
            "latency_factor",
            {"trips": (RoundTrips(100, 8.0), RoundTrips(4, 900.0))},
            "pgpool-1: too few round trips to compare",
        ),
        (
            "aborted",
            {"aborted": (CANCELLED[0], Aborted(None))},
            "pg2: cancelled reads not known",
        ),
        (
            "aborted",
            {"aborted": (CANCELLED[0], Aborted(None, 30.0, is_set_back=True))},
            "pg2: its counter of cancelled reads was set back",
        ),
        *(
            (
                "aborted",
                {"aborted": (before, Aborted(500, seconds=60.0))},
                "500 reads cancelled at pg2, what is usual there is not known",
            )
            for before in (Aborted(None), Aborted(None, 1800.0, is_set_back=True), Aborted(0, seconds=59.0))
        ),
        (
            "shares",
            {"reads": Reads(is_off=False, sentence="Too little traffic.", missing=65)},
            "too little traffic; needs about 65 more sessions",
        ),
        ("shares", {"reads": Reads(False, "No reads yet.", None)}, "no reads yet; sessions are not counted"),
        (
            "shares",
            {"reads": Reads(False, "Pg2 gets 7 points more than its weight.", 12)},
            "Pg2 gets 7 points more than its weight; needs about 12 more sessions",
        ),
        (
            "shares",
            {"reads": Reads(False, "Reads are off.", 0, is_on_the_way=True)},
            "reads are off; nearer than before, as sessions that stay read on",
        ),
    ],
)
def test_what_is_not_known_is_neither_good_nor_bad(guard: str, seen: dict[str, Any], text: str) -> None:
    found = judged(**seen)

    assert {name for name, one in found.items() if one.outcome is Outcome.INCONCLUSIVE} == {guard}
    assert found[guard].text == text
    assert overall(found.values()) is Outcome.INCONCLUSIVE


def test_what_nobody_polled_since_is_not_known() -> None:
    stale = replace(NOW, stale=("pgpool-1", "pg2"))
    found = judged(now=stale)

    unsure = {name: one.text for name, one in found.items() if one.outcome is Outcome.INCONCLUSIVE}
    assert unsure == {
        "lost": "pgpool-1, pg2 were not polled since, or not lately",
        "replay_lag_s": "pg2 was not polled since, or not lately",
        "error_factor": "pgpool-1 was not polled since, or not lately",
        "aborted": "pg2 was not polled since, or not lately",
    }
    assert overall(found.values()) is Outcome.INCONCLUSIVE
    assert overall(judged(now=replace(stale, lost=("pgpool-3", "pg3"))).values()) is Outcome.BAD


@pytest.mark.parametrize(
    ("guard", "seen"),
    [
        ("lost", {"now": replace(NOW, lost=())}),  # it came back
        ("replay_lag_s", {"now": replace(NOW, lags_s={"pg2": 0.1, "pg3": 300.0})}),  # pg3 was behind before
        ("error_factor", {"now": replace(NOW, counted={"pgpool-1": Counted(49, 10_010)})}),  # 9 are a busy moment
        ("latency_factor", {"trips": (RoundTrips(100, 0.4), RoundTrips(30, 4.0))}),  # ten times nothing is nothing
        ("aborted", {"aborted": (Aborted(0, 1800.0), Aborted(9, seconds=10.0))}),  # one vacuum
        ("aborted", {"aborted": (Aborted(60, 1800.0), Aborted(12, seconds=120.0))}),  # three times as many, no more
        ("aborted", {"aborted": (Aborted(120, 1800.0), Aborted(12, seconds=5.0))}),  # a burst is one of its minute
        ("aborted", {"aborted": (Aborted(None), Aborted(9, seconds=10.0))}),  # few are few, whatever is usual
        ("aborted", {"aborted": (Aborted(None), Aborted(None))}),  # one that is not reached stops no rollout
    ],
)
def test_what_was_so_before_or_means_nothing_is_good(guard: str, seen: dict[str, Any]) -> None:
    assert judged(**seen)[guard].outcome is Outcome.GOOD


def test_what_is_left_out_is_told_and_is_no_verdict() -> None:
    without = LeftOut("error_factor", ("pgpool-1",), "it tells none")
    found = judged(now=replace(NOW, counted={}), left_out=(without,))

    assert (found["error_factor"].outcome, found["error_factor"].text) == (Outcome.LEFT_OUT, "pgpool-1: it tells none")
    assert overall(found.values()) is Outcome.GOOD
    assert overall(judged(now=replace(NOW, counted={}, lost=("pg2",)), left_out=(without,)).values()) is Outcome.BAD


def test_where_all_are_left_out_nothing_is_known() -> None:
    only = Guards(replay_lag_s=None, latency_factor=None, lost=False, aborted=None)
    without = [LeftOut(guard, ("pgpool-1",), "never told") for guard in ("error_factor", "shares")]
    found = judged(only, now=replace(NOW, counted={}), reads=None, left_out=without)

    assert overall(found.values()) is Outcome.INCONCLUSIVE
    assert "it needs another guard, or a Pgpool-II that tells more" in found["any"].text


def test_where_one_of_two_is_left_out_the_other_is_judged() -> None:
    """By the counters and reads of the other one alone."""
    without = LeftOut("error_factor", ("pgpool-2",), "it tells none")
    found = judge(
        ALL,
        before=BEFORE,
        now=replace(NOW, counted={"pgpool-1": Counted(53, 11_000)}),
        round_trips={"pgpool-1": TRIPS},
        aborted={},
        reads=FOLLOWS,
        left_out=[without],
    )

    assert [one.outcome for one in found if one.guard == "error_factor"] == [Outcome.BAD, Outcome.LEFT_OUT]


def test_a_guard_that_is_off_sees_nothing() -> None:
    off = Guards(replay_lag_s=None, error_factor=None, latency_factor=None, lost=False, shares=False, aborted=None)

    assert judged(off, now=Seen(lost=("pg2",))) == {}
    assert overall([]) is Outcome.GOOD
