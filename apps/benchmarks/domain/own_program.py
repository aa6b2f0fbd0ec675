"""What drivers that are programs of Lifeguard print: a JSON object a line; and latencies in a file.

    {"second": {"at_s": 1, "tps": 4980.2, "latency_ms": 2.1, "stddev_ms": 0.4, "failed": 0}}
    {"report": {"tps": 4991.0, "transactions": 299460, "failed": 0, "latency_ms": 2.0, "latency_stddev_ms": 0.4,
                "connect_ms": 12.5, "statements": [{"text": "INSERT …", "latency_ms": 1.2}], "own": {"empty": 12}}}
    {"failure": {"reason": "There is no database shop.", "fix": "Create it: CREATE DATABASE."}}

Of seconds and reports only at_s, tps and transactions must be there; the names are those of load_report. Lines of any
other form are for people.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond, StatementReport
from apps.benchmarks.domain.printed import UnreadableOutputError

# A calibration of an hour tells a few thousand pairs in its report.
_LONGEST_LINE = 2_000_000


def line(kind: str, told: Mapping[str, object]) -> str:
    """kind: second, report or failure. For the program that prints it, without an end of line."""
    return json.dumps({kind: dict(told)}, allow_nan=False, ensure_ascii=False)


def parse_second(text: str) -> LoadSecond | None:
    """None for any other line, and for one that a kill has cut short."""
    told = _told(text, "second")
    at_s, tps = _number(told, "at_s"), _number(told, "tps")
    if at_s is None or tps is None:
        return None
    return LoadSecond(at_s, tps, _number(told, "latency_ms"), _number(told, "stddev_ms"), _count(told, "failed"))


def parse_report(text: str) -> LoadReport:
    """The latest of all that a program printed. Raises UnreadableOutputError where there is none that is whole."""
    told = next((found for one in reversed(text.split("\n")) if (found := _told(one, "report"))), None)
    transactions = None if told is None else _count(told, "transactions")
    if told is None or transactions is None:
        raise UnreadableOutputError(0, "", 'a line {"report": {"tps": …, "transactions": …}}')
    statements = told.get("statements")
    own = told.get("own")
    return LoadReport(
        tps=_number(told, "tps"),
        transactions=transactions,
        failed=_count(told, "failed"),
        latency_ms=_number(told, "latency_ms"),
        latency_stddev_ms=_number(told, "latency_stddev_ms"),
        connect_ms=_number(told, "connect_ms"),
        statements=tuple(_statements(statements if isinstance(statements, list) else [])),
        own=own if isinstance(own, dict) else {},
        is_partial=told.get("is_partial") is True,
    )


def parse_failure(text: str) -> str:
    """Why, and what mends it; "" where the program did not come to say so."""
    told = next((found for one in reversed(text.split("\n")) if (found := _told(one, "failure"))), {})
    return f"{told.get('reason', '')} {told.get('fix', '')}".strip()


def latencies_text(latencies: LatencyHistogram) -> str:
    """As the program leaves them: [[lower bound in microseconds, count], …]."""
    return json.dumps(latencies.buckets())


def parse_latencies(text: str) -> LatencyHistogram:
    """Percentiles of it are within 0.1 %: of a bucket its lower bound is known. Raises UnreadableOutputError."""
    found = LatencyHistogram()
    try:
        for bound, times in json.loads(text):
            found.record(int(bound), int(times))
    except (TypeError, ValueError) as error:
        raise UnreadableOutputError(0, "", "latencies such as [[1024, 3], [2048, 1]]") from error
    return found


def _statements(given: Iterable[object]) -> Iterable[StatementReport]:
    for one in given:
        if isinstance(one, dict) and (latency := _number(one, "latency_ms")) is not None:
            yield StatementReport(str(one.get("text", "")), latency)


def _told(text: str, kind: str) -> dict[str, Any]:
    """{} where the line is none of this kind."""
    if not text.startswith(f'{{"{kind}"') or len(text) > _LONGEST_LINE:
        return {}
    try:
        found = json.loads(text)[kind]
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(told: Mapping[str, Any], name: str) -> float | None:
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
