"""What the cluster did between two polls."""

import pytest

from apps.benchmarks.domain.cluster_course import MOST_POINTS, Look, gap_s, point

BEFORE = Look(
    5.0,
    selects={"pgpool-1": {"0": 100, "1": 50}, "pgpool-2": {"0": 10, "1": 10}},
    cache={"pgpool-1": (10, 90)},
    lag_s={"pg2": 0.5},
    written=(1000.0, 5_000),
)
AFTER = Look(
    10.04,
    selects={"pgpool-1": {"0": 110, "1": 70}, "pgpool-2": {"0": 20, "1": 10}},
    cache={"pgpool-1": (40, 100)},
    lag_s={"pg2": None},
    written=(1005.0, 15_000),
)


def test_counters_are_told_by_what_they_grew() -> None:
    assert point(BEFORE, AFTER) == {
        "at_s": 10.0,
        "read_shares": {"0": 0.5, "1": 0.5},  # 10 + 10 and 20 + 0
        "cache_hit_share": 0.75,  # 30 of 40
        "replay_lag_s": {"pg2": None},
        "wal_bytes_per_s": 2000.0,  # 10,000 in 5 s
    }


def test_the_first_look_tells_what_holds_at_its_moment() -> None:
    found = point(None, BEFORE)

    assert (found["read_shares"], found["cache_hit_share"], found["wal_bytes_per_s"]) == (None, None, None)
    assert found["replay_lag_s"] == {"pg2": 0.5}


@pytest.mark.parametrize(
    ("now", "untold"),
    [
        (Look(10.0, selects={"pgpool-1": {"0": 5, "1": 70}}), "read_shares"),  # restarted
        (Look(10.0, selects={"pgpool-3": {"0": 5}}), "read_shares"),  # new: nobody knows since when
        (Look(10.0, selects=BEFORE.selects), "read_shares"),  # no reads at all
        (Look(10.0, cache={"pgpool-1": (0, 100)}), "cache_hit_share"),
        (Look(10.0, cache={"pgpool-2": (10, 100)}), "cache_hit_share"),
        (Look(10.0, cache=BEFORE.cache), "cache_hit_share"),
        (Look(10.0, written=(1000.0, 9_000)), "wal_bytes_per_s"),  # not asked again
        (Look(10.0, written=(1005.0, 4_000)), "wal_bytes_per_s"),  # another primary
        (Look(10.0), "wal_bytes_per_s"),
    ],
)
def test_what_began_anew_or_stood_still_is_not_told(now: Look, untold: str) -> None:
    assert point(BEFORE, now)[untold] is None  # type: ignore[literal-required]  # the name comes from the table above


def test_a_long_run_has_no_more_points_than_a_short_one() -> None:
    assert gap_s(60) < 1
    assert round(7 * 86_400 / gap_s(7 * 86_400)) <= MOST_POINTS
