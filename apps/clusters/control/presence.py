"""Whether anybody answers for a pgpool at all: one that refuses is there, one that is silent is not."""

import asyncio

from apps.clusters.models import PgpoolInstance
from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable

DEADLINE_S = 1.5


def silence_of(instance: PgpoolInstance) -> str:
    """Why no session can be had there, "" if one can, or if pgpool turns us away: then it runs.

    Asks no database: the cluster is loaded with the instance.
    """
    cluster = instance.cluster
    address = PgpoolAddress(instance.host, instance.port, cluster.username, cluster.password, sslmode=cluster.sslmode)
    try:
        asyncio.run(_open(address))
    except PgpoolUnreachable as error:
        return error.reason.rstrip(".") if error.is_silence or error.step == "tcp" else ""
    return ""


async def _open(address: PgpoolAddress) -> None:
    connection = await pgpool_client.connect(address, deadline_s=DEADLINE_S)
    await connection.close()
