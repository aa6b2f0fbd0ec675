"""Whether a session can be had of a pgpool: one that turns us away is there, one that is silent is not."""

import asyncio
from dataclasses import dataclass

from apps.clusters.models import PgpoolInstance
from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable

DEADLINE_S = 1.5
# Of a connection that fails: nobody listens, or nobody knows where.
_NOBODY_THERE = ("resolve", "tcp")


@dataclass(frozen=True)
class NoSession:
    """reason: without its full stop. fix: what mends it, "" where nothing is known. is_silence: nobody answers."""

    reason: str
    fix: str
    is_silence: bool


def no_session_at(instance: PgpoolInstance) -> NoSession | None:
    """Why no session can be had there; None if one can. Asks no database: the cluster is loaded with the instance."""
    cluster = instance.cluster
    address = PgpoolAddress(instance.host, instance.port, cluster.username, cluster.password, sslmode=cluster.sslmode)
    try:
        asyncio.run(_open(address))
    except PgpoolUnreachable as error:
        is_silence = error.is_silence or error.step in _NOBODY_THERE
        return NoSession(error.reason.rstrip("."), error.fix, is_silence)
    return None


def silence_of(instance: PgpoolInstance) -> str:
    """Why nobody answers there, "" if a session can be had, or if pgpool turns us away: then it runs."""
    found = no_session_at(instance)
    return found.reason if found is not None and found.is_silence else ""


async def _open(address: PgpoolAddress) -> None:
    connection = await pgpool_client.connect(address, deadline_s=DEADLINE_S)
    await connection.close()
