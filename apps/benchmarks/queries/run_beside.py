"""What the cluster did beside a run, as lines of charts: from what was kept with its environment when it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from apps.benchmarks.domain import environment_words
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.queries.weight_words import backend_names

_MIB = 1024 * 1024


class BesideLine(TypedDict):
    """One line: of a backend (node_id), or of the whole cluster. unit: as the series of a cluster name it.

    points: (seconds since the measurement began, value), null where there is nothing to tell.
    """

    metric: str
    unit: str
    node_id: int | None
    name: str
    points: list[tuple[float, float | None]]


def beside(run: BenchmarkRun) -> list[BesideLine]:
    """Those with any value, in the order in which charts show them; none before the run has ended."""
    course: Sequence[Mapping[str, Any]] = run.environment.get("course", ())
    if len(course) < 2:
        return []
    names = backend_names(cluster=run.cluster)
    numbers = {name: node_id for node_id, name in names.items()}
    is_past_pgpools = environment_words.goes_past_pgpools(run.environment)
    reads = sorted({int(node) for one in course for node in one.get("read_shares") or {} if not is_past_pgpools})
    standbys = sorted({name for one in course for name in one.get("replay_lag_s") or {}})
    lines = [
        *(
            _line(course, "read_shares", "share", node, names.get(node, f"node {node}"), _inside(str(node)))
            for node in reads
        ),
        *(_line(course, "replay_lag_s", "s", numbers.get(name), name, _inside(name)) for name in standbys),
        _line(course, "wal_bytes_per_s", "MiB/s", None, "primary", lambda size: None if size is None else size / _MIB),
        *(
            [_line(course, "cache_hit_share", "share", None, "all pgpools", lambda share: share)]
            if not is_past_pgpools
            else []
        ),
    ]
    return [line for line in lines if any(value is not None for _, value in line["points"])]


def _inside(key: str) -> Callable[[Any], float | None]:
    return lambda values: None if values is None else values.get(key)


def _line(
    course: Sequence[Mapping[str, Any]],
    metric: str,
    unit: str,
    node_id: int | None,
    name: str,
    value_of: Callable[[Any], float | None],
) -> BesideLine:
    points = [(float(one["at_s"]), value_of(one.get(metric))) for one in course]
    return {"metric": metric, "unit": unit, "node_id": node_id, "name": name, "points": points}
