"""The real cluster that all tests of this folder share, and the care that each leaves it as it was."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.domain.pgpool_conf import is_readable, parse
from deploy.lab import Lab
from deploy.lab.plan import Pgpool
from tests.lab.registered import register_lab

NUM_INIT_CHILDREN = 32
MADE_BY_LOADS = "^(pgbench_|sbtest|lifeguard_pubsub_)"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A primary, two standbys and three pgpools, up for the whole run. A test that changes it asks for restored_lab."""
    lab = Lab(tmp_path_factory.mktemp("lab"), pgpool_count=3, num_init_children=NUM_INIT_CHILDREN)
    lab.belongs_to(os.getpid())
    try:
        lab.up()
        yield lab
    finally:
        lab.forget()


@pytest.fixture(scope="session")
def first_files(lab: Lab) -> dict[Path, str]:
    """Every pgpool.conf as the lab wrote it."""
    return {Path(pgpool.conf): Path(pgpool.conf).read_text(encoding="utf-8") for pgpool in lab.plan.pgpools}


@pytest.fixture
def restored_lab(lab: Lab, first_files: dict[Path, str]) -> Iterator[Lab]:
    """The lab for a test that breaks something: files, servers and node states are put right afterwards."""
    yield lab
    lab.repair()
    changed = [pgpool for pgpool in lab.plan.pgpools if Path(pgpool.conf).read_text() != first_files[Path(pgpool.conf)]]
    for pgpool in changed:
        _put_back(lab, pgpool, first_files[Path(pgpool.conf)])
    for pgpool in lab.plan.pgpools:
        for backup in Path(pgpool.conf).parent.glob("pgpool.conf?*"):
            backup.unlink()
        wait_until(lambda pgpool=pgpool: has_first_weights(lab, pgpool), f"{pgpool.name} has the first weights again")


def _put_back(lab: Lab, pgpool: Pgpool, first_text: str) -> None:
    conf = Path(pgpool.conf)
    left = conf.read_text(encoding="utf-8")
    keeps_names = is_readable(left) and parse(left).values().keys() <= parse(first_text).values().keys()
    lab.account.file(conf, first_text)
    if not keeps_names:
        lab.restart(conf)  # children keep the value of a parameter that no line sets any more until they end
    else:
        lab.pgpools.reload(pgpool)


def has_first_weights(lab: Lab, pgpool: Pgpool) -> bool:
    return [float(row["lb_weight"]) for row in lab.pgpools.nodes(pgpool)] == [0, 0.5, 0.5]


def wait_until(
    is_true: Callable[[], object], what: str, *, within_s: float = 60, told: Callable[[], object] = str
) -> None:
    """Ask again and again, generously: these are real servers on a machine that may be busy.

    told: what is said of the matter when it does not come true.
    """
    deadline = time.monotonic() + within_s
    while not _is_seen(is_true):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {within_s:.0f} s: {what}. {told()}")
        time.sleep(0.2)


def _is_seen(is_true: Callable[[], object]) -> bool:
    try:
        return bool(is_true())
    except psycopg.OperationalError:
        return False  # a pgpool that fails over cuts its sessions


@pytest.fixture(name="wait_until", scope="session")
def wait_until_fixture() -> Callable[..., None]:
    return wait_until


@pytest.fixture
def loadable(lab: Lab, settings: Any) -> Iterator[Lab]:
    """orders of acme, which may be put under load; what the workloads made in its database goes afterwards."""
    cluster, _ = register_lab(lab, settings)
    primary, app = lab.backends.primary, lab.addresses["app"]
    numbers = {(one["host"], one["port"]): one["node_id"] for one in lab.addresses["backends"]}
    cluster.primary_node_id = numbers[primary.host, primary.port]
    cluster.save()
    BenchmarkAccess.objects.create(cluster=cluster, is_on=True, **app)
    yield lab
    with lab.backends.connect(primary, app["database"]) as superuser:
        found = superuser.execute("SELECT tablename FROM pg_tables WHERE tablename ~ %s", [MADE_BY_LOADS]).fetchall()
        for (table,) in found:
            superuser.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table)))
        superuser.execute("DROP SCHEMA IF EXISTS lifeguard_tpcc CASCADE")
