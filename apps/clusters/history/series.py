"""Answers a range of samples at a resolution: at most so many points per series, gaps as gaps."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NotRequired, TypedDict

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from apps.clusters.history.metrics import LAG_METRICS, Metric, metric_named
from apps.clusters.models import Backend, Cluster, PgpoolInstance

FEWEST_POINTS = 2
MOST_POINTS = 2000
# A tick comes every two seconds, every second while someone looks.
SHORTEST_BUCKET = dt.timedelta(seconds=1)
# One missed tick is no gap; a line is broken after the third.
GAP_S = 7.0
SHARE_REACH_S = 10.0
DIGITS = 6
# Whoever looks at a chart has left by then; the database has others to serve.
LONGEST_READ_S = 15.0

Point = tuple[float, float | None]


class RangeTooSlow(RuntimeError):
    """The samples of a range could not be read in time."""

    def __init__(self, span: dt.timedelta) -> None:
        super().__init__(
            f"the samples of {span.total_seconds() / 3600:.1f} hours could not be read in {LONGEST_READ_S:.0f} s;"
            " ask for a shorter range, or again when Lifeguard's database is less busy"
        )


class Series(TypedDict):
    """One line of a chart, of a backend (node_id), of a pgpool (instance) or of the whole cluster (neither)."""

    node_id: NotRequired[int]
    instance: NotRequired[str]
    name: str
    points: list[Point]


class SeriesAnswer(TypedDict):
    """start and end in seconds since 1970 UTC, as the first of each point."""

    metric: str
    unit: str
    series: list[Series]
    start: float
    end: float


def series(*, cluster: Cluster, metric: str, start: dt.datetime, end: dt.datetime, points: int = 300) -> SeriesAnswer:
    """The samples of (start, end], down-sampled to about the given number of points per series.

    Raises UnknownMetric, RangeTooSlow; ValueError if end does not lie after start.
    """
    asked = metric_named(metric)
    if end <= start:
        raise ValueError("end must lie after start")
    budget = min(max(points, FEWEST_POINTS), MOST_POINTS)
    width = max(-((start - end) // budget), SHORTEST_BUCKET)  # rounded up: never more buckets than points
    names = _Names(cluster)
    rows = _rows(asked, owners=names.owners(asked), start=start, end=end, width=width)
    lines: dict[tuple[int | None, int | None], list[Point]] = {}
    for owner_id, node_id, at, value in rows:
        lines.setdefault((owner_id, node_id), []).append((at.timestamp(), _figure(value)))
    found = [
        names.series(asked, owner_id, node_id, with_gaps(line, longest_s=max(GAP_S, 2.5 * width.total_seconds())))
        for (owner_id, node_id), line in lines.items()
        if not (metric in LAG_METRICS and all(value is None for _, value in line) and names.is_primary(owner_id))
    ]
    found.sort(key=lambda one: (one.get("node_id", -1), one["name"]))
    return SeriesAnswer(metric=metric, unit=asked.unit, series=found, start=start.timestamp(), end=end.timestamp())


def with_gaps(line: Sequence[Point], *, longest_s: float) -> list[Point]:
    """Put a None where no sample was taken for longer than longest_s, so that no chart draws a line across."""
    found: list[Point] = []
    for at_s, value in sorted(line, key=lambda point: point[0]):
        if found and at_s - found[-1][0] > longest_s and found[-1][1] is not None and value is not None:
            found.append((found[-1][0] + longest_s / 2, None))
        found.append((at_s, value))
    return found


def _rows(
    asked: Metric, *, owners: Sequence[int], start: dt.datetime, end: dt.datetime, width: dt.timedelta
) -> Iterable[tuple[int | None, int | None, dt.datetime, float | None]]:
    parameters: dict[str, Any] = {
        "owners": list(owners),
        "start": start,
        "end": end,
        "width": width,
        "buckets": -((start - end) // width),
        "reach": dt.timedelta(seconds=SHARE_REACH_S),
    }
    by_sample, by_bucket = asked.statements
    with _bounded(end - start), transaction.atomic(), connection.cursor() as cursor:
        # Compiling a plan over the partitions of a month takes longer than running it.
        cursor.execute(
            "SELECT set_config('jit', 'off', true), set_config('statement_timeout', %s, true)",
            [f"{LONGEST_READ_S * 1000:.0f}ms"],
        )
        cursor.execute(by_sample if width.total_seconds() <= SHARE_REACH_S else by_bucket, parameters)
        rows: list[tuple[int | None, int | None, dt.datetime, float | None]] = cursor.fetchall()
        return rows


@contextmanager
def _bounded(span: dt.timedelta) -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise RangeTooSlow(span) from error
        raise


def _figure(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)


class _Names:
    """Who the series of a cluster belong to."""

    def __init__(self, cluster: Cluster) -> None:
        instances = PgpoolInstance.objects.filter(cluster=cluster).defer("pcp_password").order_by("pk")
        self._instances = {one.pk: one for one in instances}
        backends = Backend.objects.filter(cluster=cluster).select_related("latest").order_by("node_id")
        self._backends = {one.pk: one for one in backends}
        self._shown = {one.node_id: one.shown_name for one in self._backends.values()}

    def owners(self, asked: Metric) -> list[int]:
        return list(self._instances if asked.owner == "instance" else self._backends)

    def is_primary(self, backend_id: int | None) -> bool:
        backend = self._backends.get(backend_id or 0)
        latest = getattr(backend, "latest", None)
        return latest is not None and latest.is_in_recovery is False

    def series(self, asked: Metric, owner_id: int | None, node_id: int | None, points: list[Point]) -> Series:
        if owner_id is not None and asked.owner == "backend":
            node_id = self._backends[owner_id].node_id
        elif owner_id is not None:
            name = self._instances[owner_id].name
            return Series(instance=name, name=name, points=points)
        if node_id is not None:
            return Series(node_id=node_id, name=self._shown.get(node_id, f"backend {node_id}"), points=points)
        return Series(name="all", points=points)
