"""What several sessions of a pgpool show of what is, or just was, not as verified: its children may disagree."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence

from apps.clusters.domain.conf_secrets import mask_value
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside import read_back
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable

logger = logging.getLogger(__name__)

DEADLINE_S = 3.0

# name -> what each session showed, secrets masked; a name that not all of them showed is missing.
Shown = Mapping[str, Sequence[str]]


def shown_apart(asked: Sequence[tuple[PgpoolInstance, Collection[str]]]) -> dict[int, Shown]:
    """Instance id -> what its sessions show of these names, side by side; nothing of one that does not answer."""
    return asyncio.run(_all(asked)) if asked else {}


async def _all(asked: Sequence[tuple[PgpoolInstance, Collection[str]]]) -> dict[int, Shown]:
    found = await asyncio.gather(*(_one(instance, names) for instance, names in asked), return_exceptions=True)
    shown: dict[int, Shown] = {}
    for (instance, _), one in zip(asked, found, strict=True):
        if isinstance(one, BaseException):
            logger.error("the values of several sessions were not read: instance=%s", instance.pk, exc_info=one)
        elif one is not None:
            shown[instance.pk] = one
    return shown


async def _one(instance: PgpoolInstance, names: Collection[str]) -> Shown | None:
    cluster = instance.cluster
    address = PgpoolAddress(instance.host, instance.port, cluster.username, cluster.password, sslmode=cluster.sslmode)
    try:
        reading = await read_back.read_back_until(
            address, names, is_wanted=lambda _: True, patience_s=0, deadline_s=DEADLINE_S
        )
    except (PgpoolUnreachable, ShowRowError) as error:
        # What the kept session showed counts then; whether the pgpool answers is told by polling.
        logger.info("the values of several sessions could not be read: instance=%s error=%s", instance.pk, error)
        return None
    sessions = reading.sessions
    return {
        name: [mask_value(name, one[name]) for one in sessions]
        for name in names
        if all(name in one for one in sessions)
    }
