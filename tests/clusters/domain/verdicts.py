"""Verdicts on three backends of weights 0, 1 and 2 unless told otherwise."""

from collections.abc import Mapping
from datetime import datetime

from apps.clusters.domain.routing import Condition, InstanceReading, Verdict, verdict

NAMES = {0: "pg1", 1: "pg2", 2: "pg3"}
THIRDS = {0: 0.0, 1: 1.0, 2: 2.0}
HALVES = {0: 0.0, 1: 0.5, 2: 0.5}


def judged(
    select_counts: Mapping[int, int],
    *,
    weights: Mapping[int, float] = THIRDS,
    sessions: float | None = 5000,
    statement_level: bool = False,
    conditions: Mapping[int, Condition] | None = None,
    off_since: datetime | None = None,
    window_s: float | None = 300,
    draws_per_read: float | None = None,
) -> Verdict:
    return verdict(
        weights=weights,
        select_counts=select_counts,
        sessions=sessions,
        statement_level=statement_level,
        names=NAMES,
        conditions=conditions,
        window_s=window_s,
        off_since=off_since,
        draws_per_read=draws_per_read,
    )


def reading(name: str, select_counts: Mapping[int, int], sessions: float | None = 2000) -> InstanceReading:
    return InstanceReading(name, THIRDS, select_counts, sessions)
