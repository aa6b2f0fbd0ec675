"""The tables of the workload, every statement that is run on them, and how they are made, reset and dropped.

One table for each partition; a counter for each partition gives offsets in the order of commits, since its row stays
locked until then; a position for each group and partition says what is read next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from apps.benchmarks.domain.pubsub_accounting import FIRST_OFFSET
from apps.benchmarks.domain.pubsub_plan import Plan

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

# $1 group, $2 the partition to look at first, $3 partitions, $4 messages at most. A partition that another reader of
# the group holds is passed over. Nothing is written where nothing is there.
CLAIM = """
WITH one AS (
    SELECT p.partition_no, p.next_offset AS first, least(p.next_offset + $4::bigint, c.next_offset) AS upto
    FROM lifeguard_pubsub_positions p JOIN lifeguard_pubsub_counters c USING (partition_no)
    WHERE p.group_no = $1::bigint AND p.next_offset < c.next_offset
    ORDER BY (p.partition_no - $2::bigint + $3::bigint) % $3::bigint
    LIMIT 1
    FOR UPDATE OF p SKIP LOCKED
)
UPDATE lifeguard_pubsub_positions p SET next_offset = one.upto FROM one
WHERE p.group_no = $1::bigint AND p.partition_no = one.partition_no
RETURNING p.partition_no, one.first, one.upto
"""
# $1 messages, $2 all their payloads in one, $3 bytes of each, $4 when they were due, in microseconds.
_PUBLISH = """
WITH taken AS (
    UPDATE lifeguard_pubsub_counters SET next_offset = next_offset + $1::bigint WHERE partition_no = _N_
    RETURNING next_offset - $1::bigint AS first
)
INSERT INTO lifeguard_pubsub_messages_N_ (message_offset, payload, due_us)
SELECT taken.first + n, substring($2::bytea FROM (n * $3::bigint)::int + 1 FOR $3::bigint::int), $4::bigint
FROM taken, generate_series(0, $1::bigint - 1) AS n
"""
# From offset $1 to before $2.
_FETCH = """
SELECT message_offset, due_us, payload FROM lifeguard_pubsub_messages_N_
WHERE message_offset >= $1::bigint AND message_offset < $2::bigint ORDER BY message_offset
"""
# Rows that are updated all the time find room on their own page.
_MAKE = (
    "CREATE TABLE lifeguard_pubsub_looks (looks bigint NOT NULL)",
    "INSERT INTO lifeguard_pubsub_looks VALUES (0)",
    """CREATE TABLE lifeguard_pubsub_counters (
        partition_no integer PRIMARY KEY, next_offset bigint NOT NULL
    ) WITH (fillfactor = 20)""",
    """CREATE TABLE lifeguard_pubsub_positions (
        group_no integer NOT NULL, partition_no integer NOT NULL, next_offset bigint NOT NULL,
        PRIMARY KEY (group_no, partition_no)
    ) WITH (fillfactor = 20)""",
)
_MAKE_MESSAGES = (
    "CREATE TABLE lifeguard_pubsub_messages_N_ (id bigserial PRIMARY KEY, message_offset bigint NOT NULL UNIQUE, "
    "payload bytea NOT NULL, due_us bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now())"
)
_COUNT_FROM = "INSERT INTO lifeguard_pubsub_counters SELECT n, %s FROM generate_series(0, %s) AS n"
_READ_FROM = (
    "INSERT INTO lifeguard_pubsub_positions SELECT g, n, %s FROM generate_series(0, %s) AS g, "
    "generate_series(0, %s) AS n"
)
# A write, so that a pgpool asks the primary, for what follows in its transaction as well.
_LOOK = "UPDATE lifeguard_pubsub_looks SET looks = looks + 1 RETURNING (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"
_ENDS = "SELECT partition_no, next_offset FROM lifeguard_pubsub_counters"
_POSITIONS = "SELECT group_no, partition_no, next_offset FROM lifeguard_pubsub_positions"
# A pgpool asks the primary for what stands in the catalog.
_STANDING = (
    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() "
    "AND tablename ~ '^lifeguard_pubsub_(counters|positions|looks|messages_[0-9]+)$'"
)


class NotPrepared(RuntimeError):
    """The tables do not stand, or not those of this run."""


@dataclass(frozen=True)
class Look:
    """ends: partition -> offset of its next message. positions: (group, partition) -> what is read next."""

    wal_bytes: int
    ends: Mapping[int, int]
    positions: Mapping[tuple[int, int], int]

    def behind(self, group: int) -> int:
        return sum(self.ends[partition] - at for (own, partition), at in self.positions.items() if own == group)


def tables(plan: Plan) -> list[str]:
    messages = [f"lifeguard_pubsub_messages_{partition}" for partition in range(plan.partitions)]
    return ["lifeguard_pubsub_counters", "lifeguard_pubsub_looks", "lifeguard_pubsub_positions", *messages]


def publish(partition: int) -> str:
    return _of(partition, _PUBLISH)


def fetch(partition: int) -> str:
    return _of(partition, _FETCH)


async def prepare(session: Connection, plan: Plan) -> None:
    """Make them anew; what stood there before is dropped."""
    await drop(session)
    async with session.transaction():
        for statement in (*_MAKE, *(_of(partition, _MAKE_MESSAGES) for partition in range(plan.partitions))):
            await _execute(session, statement)
    await reset(session, plan)


async def reset(session: Connection, plan: Plan) -> None:
    """No message, every group at the beginning. Raises NotPrepared."""
    standing = await _standing(session)
    if missing := set(tables(plan)) - standing:
        raise NotPrepared(
            f"{len(missing)} of the {len(tables(plan))} tables of this workload do not stand, such as {min(missing)}: "
            "prepare them first."
        )
    async with session.transaction():
        await _execute(session, f"TRUNCATE {', '.join(sorted(standing - {'lifeguard_pubsub_looks'}))}")
        await session.execute(_COUNT_FROM, [FIRST_OFFSET, plan.partitions - 1])
        await session.execute(_READ_FROM, [FIRST_OFFSET, plan.groups - 1, plan.partitions - 1])
    await _execute(session, "ANALYZE lifeguard_pubsub_counters, lifeguard_pubsub_positions")


async def drop(session: Connection) -> None:
    if standing := await _standing(session):
        await _execute(session, f"DROP TABLE {', '.join(sorted(standing))}")


async def look(session: Connection) -> Look:
    async with session.transaction():
        wal = await (await session.execute(_LOOK)).fetchone()
        ends = await (await session.execute(_ENDS)).fetchall()
        positions = await (await session.execute(_POSITIONS)).fetchall()
    if wal is None:
        raise NotPrepared("lifeguard_pubsub_looks is empty: prepare the tables anew.")
    return Look(wal[0], dict(ends), {(group, partition): at for group, partition, at in positions})


async def _standing(session: Connection) -> set[str]:
    return {name for (name,) in await (await session.execute(_STANDING)).fetchall()}


async def _execute(session: Connection, statement: str) -> None:
    """Of names and numbers that were put together here."""
    await session.execute(statement.encode())


def _of(partition: int, statement: str) -> str:
    return statement.replace("messages_N_", f"messages_{partition}").replace("_N_", str(partition))
