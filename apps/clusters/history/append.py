"""Writes what one tick read: samples by binary COPY, the latest rows in place by one statement per table.

All of it belongs into the tick's transaction, which the caller opens.
"""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection


class InstanceSampleRow(NamedTuple):
    """A pgpool instance at one tick; the fields stand in the order of the COPY.

    counted_since: since then its counters were read without a break and never restarted; None if nobody knows.
    """

    instance_id: int
    at: dt.datetime
    is_answering: bool
    probe_ms: float | None = None
    children_used: int | None = None
    children_total: int | None = None
    session_count: int | None = None
    cache_hit_count: int | None = None
    cache_miss_count: int | None = None
    counted_since: dt.datetime | None = None
    cache_entry_count: int | None = None


class NodeSampleRow(NamedTuple):
    """A backend as one pgpool saw it at one tick."""

    instance_id: int
    node_id: int
    at: dt.datetime
    select_count: int | None = None
    lb_weight: float | None = None
    is_up: bool | None = None


class BackendSampleRow(NamedTuple):
    """A backend asked directly at one tick."""

    backend_id: int
    at: dt.datetime
    is_answering: bool
    is_in_recovery: bool | None = None
    probe_ms: float | None = None
    lsn_bytes: int | None = None
    replay_lag_s: float | None = None
    replay_lag_bytes: int | None = None
    aborted_count: int | None = None


# A binary COPY without the types of its columns fails with a protocol violation.
_INSTANCE_TYPES = (
    "int8",
    "timestamptz",
    "bool",
    "float4",
    "int4",
    "int4",
    "int8",
    "int8",
    "int8",
    "timestamptz",
    "int8",
)
_NODE_TYPES = ("int8", "int2", "timestamptz", "int8", "float4", "bool")
_BACKEND_TYPES = ("int8", "timestamptz", "bool", "bool", "float4", "int8", "float4", "int8", "int8")


def append(
    *,
    instances: Sequence[InstanceSampleRow] = (),
    nodes: Sequence[NodeSampleRow] = (),
    backends: Sequence[BackendSampleRow] = (),
) -> None:
    """Append the samples of one tick."""
    _copy("clusters_instance_sample", InstanceSampleRow._fields, _INSTANCE_TYPES, instances)
    _copy("clusters_node_sample", NodeSampleRow._fields, _NODE_TYPES, nodes)
    _copy("clusters_backend_sample", BackendSampleRow._fields, _BACKEND_TYPES, backends)


def _copy(table: str, columns: Sequence[str], types: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    if not rows:
        return
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
