"""The lease on a shard: one worker watches it at a time. All times are the database's clock."""

from dataclasses import dataclass

from django.db import connection

LEASE_S = 6.0
RENEWED_EVERY_S = 2.0


@dataclass(frozen=True)
class Lease:
    """epoch grows by 1 each time the lease changes hands: a holder with an old one may not write."""

    shard: int
    holder: str
    epoch: int


class LeaseLost(RuntimeError):
    """Another worker has taken over this shard."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"the lease on shard {lease.shard} (epoch {lease.epoch}) has been taken over")
        self.lease = lease


def take(*, shard: int, holder: str, lease_s: float = LEASE_S) -> Lease | None:
    """The lease, if nobody holds it or its time has run out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO clusters_shard (number, holder, epoch) VALUES (%s, '', 0) ON CONFLICT DO NOTHING", [shard]
        )
        cursor.execute(
            "UPDATE clusters_shard SET holder = %s, epoch = epoch + 1,"
            " expires_at = clock_timestamp() + %s * interval '1 s'"
            " WHERE number = %s AND (expires_at IS NULL OR expires_at < clock_timestamp()) RETURNING epoch",
            [holder, lease_s, shard],
        )
        row = cursor.fetchone()
    return None if row is None else Lease(shard, holder, row[0])


def renew(lease: Lease, *, lease_s: float = LEASE_S) -> None:
    """Raises LeaseLost. A lease that ran out may be renewed as long as nobody else has taken it."""
    _set(lease, "expires_at = clock_timestamp() + %s * interval '1 s'", [lease_s])


def confirm(lease: Lease) -> None:
    """Mark a finished tick in the transaction that stores it. Raises LeaseLost: the tick must not be stored then."""
    _set(lease, "ticked_at = clock_timestamp()", [])


def release(lease: Lease) -> None:
    """Let the next worker take over at once; nothing to do if one already has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE clusters_shard SET holder = '', expires_at = NULL WHERE number = %s AND holder = %s AND epoch = %s",
            [lease.shard, lease.holder, lease.epoch],
        )


def _set(lease: Lease, assignment: str, values: list[float]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE clusters_shard SET {assignment} WHERE number = %s AND holder = %s AND epoch = %s",  # noqa: S608
            [*values, lease.shard, lease.holder, lease.epoch],
        )
        if cursor.rowcount != 1:
            raise LeaseLost(lease)
