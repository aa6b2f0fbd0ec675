"""Daily partitions of the sample tables: made ahead, dropped when they are older than the history that is kept."""

import datetime as dt
import logging
import re

from django.db import IntegrityError, OperationalError, connection, transaction

logger = logging.getLogger(__name__)

TABLES = ("clusters_instance_sample", "clusters_node_sample", "clusters_backend_sample")
KEPT_DAYS = 30
DAYS_AHEAD = 2
# One worker at a time; the number only has to differ from other advisory locks of this database.
_LOCK = 7_210_001


def ensure_partitions(*, now: dt.datetime) -> list[str]:
    """Make the partitions of today and the next two days that do not exist yet; returns their names.

    A day whose samples already lie in the default partition stays there: nothing is moved.
    """
    days = [now.astimezone(dt.UTC).date() + dt.timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]
    wanted = [(table, day) for table in TABLES for day in days]
    existing = _existing()
    return [_name(table, day) for table, day in wanted if _name(table, day) not in existing and _make(table, day)]


def drop_old_samples(*, now: dt.datetime) -> list[str]:
    """Drop the partitions of days that ended more than 30 days ago; returns their names.

    One that is in use is left for the next time.
    """
    earliest = now.astimezone(dt.UTC).date() - dt.timedelta(days=KEPT_DAYS)
    dropped = []
    for name in sorted(_existing()):
        day = _day_of(name)
        if day is not None and day < earliest and _drop(name):
            dropped.append(name)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"DELETE FROM {table}_default WHERE at < %s", [earliest])  # noqa: S608  a name of ours
    return dropped


def _make(table: str, day: dt.date) -> bool:
    name = _name(table, day)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Attaching looks at the default partition under a lock that the samples of this moment wait for.
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} "
                f"FOR VALUES FROM ('{day} 00:00+00') TO ('{day + dt.timedelta(days=1)} 00:00+00')"
            )
    except IntegrityError:
        return False  # the default partition holds samples of that day
    except OperationalError as error:
        logger.warning("partition not made: name=%s error=%s", name, error)
        return False
    return True


def _drop(name: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # The samples of this moment wait behind it while somebody reads; it is tried again an hour later.
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
    except OperationalError as error:
        logger.warning("partition not dropped: name=%s error=%s", name, error)
        return False
    return True


def _existing() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid "
            "WHERE inhparent = ANY(ARRAY[%s::regclass, %s::regclass, %s::regclass])",
            list(TABLES),
        )
        return {name for (name,) in cursor.fetchall()}


def _name(table: str, day: dt.date) -> str:
    return f"{table}_{day:%Y%m%d}"


def _day_of(name: str) -> dt.date | None:
    match = re.fullmatch(r".*_(\d{4})(\d\d)(\d\d)", name)
    return None if match is None else dt.date(int(match[1]), int(match[2]), int(match[3]))
