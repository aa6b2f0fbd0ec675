"""Sessions that Lifeguard opens where it waits for long are no sessions of clients."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import (
    BackendOperation,
    BackendOperationStep,
    Cluster,
    ConfigRevision,
    PgpoolInstance,
    RestartStep,
    RevisionFile,
    RollingRestart,
    Rollout,
    RolloutStep,
)
from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import PgpoolAddress
from apps.clusters.polling import instance_watch
from apps.clusters.polling.instance_watch import InstanceWatch
from apps.clusters.polling.own_sessions import Opened
from apps.clusters.polling.registry import WatchedInstance, watched_clusters
from tests.fake_pgpool import FakePgpool

NOW = dt.datetime(2026, 11, 21, 14, 0, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(seconds=3)


async def counted(told: list[Mapping[str, Opened]]) -> list[int | None]:
    """One session comes and goes, and then this is told; the sessions of clients that were counted after each."""
    async with FakePgpool() as pgpool:
        address = PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password, sslmode="disable")
        watch = InstanceWatch(WatchedInstance(1, "pgpool-1", address, None, "4.3.5", {}), sessions_before=0)
        try:
            await watch.look(pool_nodes_every_s=3600.0)
            found = []
            for number, opened in enumerate(told, 1):
                session = await pgpool_client.connect(address, deadline_s=30)
                await session.close()
                while pgpool.sessions_ended < number:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                watch.take(replace(watch.instance, opened=opened))
                found.append((await watch.look(pool_nodes_every_s=3600.0)).session_count)
            return found
        finally:
            await watch.close()


def test_one_that_a_row_tells_is_subtracted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_watch, "FAST_DEADLINE_S", 30.0)
    first, second = {"drain": Opened(NOW, 1)}, {"drain": Opened(LATER, 1)}

    assert asyncio.run(counted([{}, first, second, second, {}, second])) == [1, 1, 1, 2, 3, 4]


@pytest.fixture
def instance(organisation: Organisation) -> PgpoolInstance:
    cluster = Cluster.objects.create(organisation=organisation, slug="orders", name="Orders")
    return PgpoolInstance.objects.create(cluster=cluster, name="pgpool-1", host="127.0.0.1", port=1)


def opened() -> Mapping[str, Opened]:
    [cluster] = watched_clusters(shard=0, shards=1, now=NOW)
    [watched] = cluster.instances
    return watched.opened


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("waiting", "", {"drain": Opened(NOW, 1)}),
        ("asking", "", {"drain": Opened(NOW, 1)}),
        ("waiting", "it refused", {}),
        ("done", "", {}),
    ],
)
def test_a_drain_counts_sessions_on_one_of_its_own(
    instance: PgpoolInstance, state: str, reason: str, expected: Mapping[str, Opened]
) -> None:
    drain = BackendOperation.objects.create(cluster=instance.cluster, node_id=1, kind="drain", state=state)
    BackendOperationStep.objects.create(
        operation=drain,
        position=0,
        instance=instance,
        instance_name="pgpool-1",
        sessions_at=NOW,
        sessions_reason=reason,
    )

    assert opened() == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "waiting_for", "expected"),
    [("reloaded", "whoever applies it", {"rollout": Opened(NOW, 3)}), ("reloaded", "", {}), ("verified", "", {})],
)
def test_a_file_that_others_apply_is_asked_for_on_three(
    instance: PgpoolInstance, state: str, waiting_for: str, expected: Mapping[str, Opened]
) -> None:
    revision = ConfigRevision.objects.create(cluster=instance.cluster, number=1, origin="edit", weights={})
    rollout = Rollout.objects.create(cluster=instance.cluster, revision=revision, state="running")
    file = RevisionFile.objects.create(
        revision=revision, instance=instance, instance_name="pgpool-1", text="", sha256="2" * 64, base_text="",
        base_sha256="1" * 64,
    )  # fmt: skip
    RolloutStep.objects.create(
        rollout=rollout, position=0, instance=instance, instance_name="pgpool-1", file=file, state=state, retry_at=NOW,
        waiting_for=waiting_for,
    )  # fmt: skip

    assert opened() == expected


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "expected"), [("ordered", {"restart": Opened(NOW, 1)}), ("done", {})])
def test_a_restart_that_is_waited_for_is_looked_at_on_one(
    instance: PgpoolInstance, state: str, expected: Mapping[str, Opened]
) -> None:
    restart = RollingRestart.objects.create(cluster=instance.cluster, state="running")
    RestartStep.objects.create(
        restart=restart, position=0, instance=instance, instance_name="pgpool-1", way="hand", state=state,
        ordered_at=NOW, answered_at=NOW,
    )  # fmt: skip

    assert opened() == expected
