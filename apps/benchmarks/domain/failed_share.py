"""How much of a load fails while it runs, and when that is too much."""

from __future__ import annotations

from collections.abc import Iterable

from apps.benchmarks.domain.run_result import Second

# Of fewer, one that fails is no share yet.
FEWEST_TRIED = 20


class FailedShare:
    """Of the seconds that were told until now."""

    def __init__(self) -> None:
        self._done = 0.0
        self._failed = 0
        self._latest_s = 0.0

    def take(self, seconds: Iterable[Second]) -> None:
        for one in seconds:
            self._done += one.tps * max(0.0, one.at_s - self._latest_s)
            self._failed += one.failed or 0
            self._latest_s = one.at_s

    def above(self, most: float) -> str:
        """Why the load is to be ended, "" where it may go on. most: 0..1."""
        tried = round(self._done) + self._failed
        if tried < FEWEST_TRIED or self._failed <= most * tried:
            return ""
        return (
            f"{self._failed:,} of {tried:,} transactions failed within {self._latest_s:g} s; during a run at most "
            f"{most:.3g} of all may (most_failed_share). What failed first stands in the output of its programs."
        )
