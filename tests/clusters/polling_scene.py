"""A registered cluster of fake pgpools, and a watch of it that runs until a test has seen enough."""

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import Backend, Cluster, PgpoolInstance
from apps.clusters.polling.cluster_watch import Pace
from apps.clusters.polling.watch import ShardWatch, watch_shard
from tests.fake_pgpool import FakePgpool

PATIENCE_S = 60.0
# Nobody listens there: a backend that is gone, and a pgpool that is.
CLOSED_PORT = 1


@dataclass
class Scene:
    cluster: Cluster
    pgpools: dict[str, FakePgpool] = field(default_factory=dict)

    def instance(self, name: str) -> PgpoolInstance:
        return PgpoolInstance.objects.select_related("latest").get(cluster=self.cluster, name=name)


@contextmanager
def scene(*, pgpools: int = 1, has_pcp: bool = True, slug: str = "orders") -> Iterator[Scene]:
    organisation, _ = Organisation.objects.get_or_create(slug="watchers", defaults={"name": "Watchers"})
    cluster = Cluster.objects.create(
        organisation=organisation, slug=slug, name=slug, username="lifeguard", password="secret", sslmode="disable"
    )
    for node_id in range(3):
        Backend.objects.create(
            cluster=cluster,
            node_id=node_id,
            hostname="127.0.0.1",
            port=25432 + node_id,
            direct_port=CLOSED_PORT,
            application_name=f"pg{node_id + 1}",
        )
    with ExitStack() as running:
        made = Scene(cluster)
        for number in range(1, pgpools + 1):
            pgpool = running.enter_context(FakePgpool().running())
            made.pgpools[f"pgpool-{number}"] = pgpool
            PgpoolInstance.objects.create(
                cluster=cluster,
                name=f"pgpool-{number}",
                host=pgpool.host,
                port=pgpool.port,
                pcp_port=pgpool.pcp_port if has_pcp else None,
                pcp_username=pgpool.pcp_username if has_pcp else "",
                pcp_password=pgpool.pcp_password if has_pcp else "",
            )
        yield made


@contextmanager
def watching(*, holder: str = "test") -> Iterator[None]:
    """Watch everything in a thread, as a Celery worker does in a process; what it raises is raised here."""
    is_over = threading.Event()
    raised: list[BaseException] = []
    watch = ShardWatch(
        shard=0,
        shards=1,
        holder=holder,
        clock=lambda: dt.datetime.now(dt.UTC),
        run_s=PATIENCE_S * 10,
        wait_s=PATIENCE_S,
        pace=Pace(tick_s=0.3, tick_busy_s=0.3, pool_nodes_s=0.6, pool_nodes_rollout_s=0.6),
        is_stopping=is_over.is_set,
    )

    def run() -> None:
        try:
            watch_shard(watch)
        except BaseException as error:  # noqa: BLE001  raised again by the test's own thread
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(timeout=PATIENCE_S)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def wait_until(is_true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(0.05)
