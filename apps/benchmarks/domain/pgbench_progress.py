"""The lines of progress of pgbench 11 to 18."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.benchmarks.domain.printed import INT, NUMBER, Figures


@dataclass(frozen=True)
class Progress:
    """One line of -P, of the seconds since the line before.

    at_s: since the run began, or since 1970 where at_is_timestamp (--progress-timestamp).
    latency_ms, stddev_ms: None where no transaction ended in these seconds.
    lag_ms, skipped: with -R (and -L). retried, retries: with --max-tries.
    """

    at_s: float
    at_is_timestamp: bool
    tps: float
    latency_ms: float | None
    stddev_ms: float | None
    failed: int | None = None
    lag_ms: float | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None


_PROGRESS = re.compile(
    rf"progress: (?P<at>\d{{1,12}}\.(?P<decimals>\d{{1,6}})) s, (?P<tps>{NUMBER}) tps, "
    rf"lat (?P<latency>{NUMBER}) ms stddev (?P<stddev>{NUMBER})"
    rf"(?:, (?P<failed>{INT}) failed)?"
    rf"(?:, lag (?P<lag>{NUMBER}) ms)?(?:, (?P<skipped>{INT}) skipped)?"
    rf"(?:, (?P<retried>{INT}) retried, (?P<retries>{INT}) retries)?",
    re.IGNORECASE,
)


def parse_progress(line: str) -> Progress | None:
    """None for any other line, and for one that a kill has cut short."""
    match = _PROGRESS.fullmatch(line.strip())
    if match is None:
        return None
    figures = Figures({name: text for name, text in match.groupdict().items() if text is not None})
    tps = figures.number("tps")
    if tps is None:
        return None
    latency = figures.number("latency")
    # Without a transaction pgbench prints 0.000 ms, which nobody measured.
    measured = latency is not None and not (tps == 0 and latency == 0)
    return Progress(
        at_s=float(match["at"]),
        # Seconds of the run have one decimal, a timestamp has three.
        at_is_timestamp=len(match["decimals"]) > 1,
        tps=tps,
        latency_ms=latency if measured else None,
        stddev_ms=figures.number("stddev") if measured else None,
        failed=figures.integer("failed"),
        lag_ms=figures.number("lag") if measured else None,
        skipped=figures.integer("skipped"),
        retried=figures.integer("retried"),
        retries=figures.integer("retries"),
    )
