"""A standby drained, detached and attached again at real pgpools: its sessions are waited for, the others go on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from apps.accounts.access import Caller
from apps.clusters.control import backend_operation_steps, backend_operations, rollouts
from apps.clusters.control.backend_operations import OperationRefused
from apps.clusters.models import BackendOperation, Cluster
from deploy.lab import Lab
from deploy.lab.plan import Pgpool
from tests.lab.registered import register_lab
from tests.sessions import reads_from, session

pytestmark = pytest.mark.django_db

PG3 = 2


@pytest.fixture
def registered(restored_lab: Lab, settings: Any) -> Iterator[tuple[Lab, Cluster, Caller]]:
    """The lab with auto_failback off; on, pgpool would attach a standby that streams again by itself."""
    cluster, caller = register_lab(restored_lab, settings)
    with pytest.raises(OperationRefused, match="auto_failback is on at pgpool-1, pgpool-2 and pgpool-3"):
        request(cluster, caller, "drain")
    for pgpool in restored_lab.plan.pgpools:
        conf = Path(pgpool.conf)
        restored_lab.account.file(conf, conf.read_text().replace("auto_failback = on", "auto_failback = off"))
        restored_lab.pgpools.reload(pgpool)
    yield restored_lab, cluster, caller


def request(cluster: Cluster, caller: Caller, kind: str) -> BackendOperation:
    backend = cluster.backends.get(node_id=PG3)
    return backend_operations.request(caller=caller, cluster=cluster, backend=backend, kind=kind, now=timezone.now())


def advance(operation: BackendOperation) -> str:
    BackendOperation.objects.filter(pk=operation.pk).update(next_look_at=None)
    backend_operation_steps.advance(operation_id=operation.pk, holder="test", clock=timezone.now)
    operation.refresh_from_db()
    return operation.state


def session_on_pg3(lab: Lab, pgpool: Pgpool, opened: ExitStack) -> psycopg.Connection[Any]:
    """pgpool draws a backend for each session: the first that it gives to pg3."""
    for _ in range(60):
        connection = opened.enter_context(session(lab, pgpool))
        if reads_from(connection) == PG3:
            return connection
        connection.close()
    pytest.fail("none of 60 sessions was given to pg3, which has half of the weight")


def statuses(lab: Lab) -> list[str]:
    return [lab.pgpools.nodes(pgpool)[PG3]["status"] for pgpool in lab.plan.pgpools]


def test_a_standby_is_drained_and_attached_again(
    registered: tuple[Lab, Cluster, Caller], wait_until: Callable[..., None]
) -> None:
    lab, cluster, caller = registered
    with ExitStack() as opened:
        busy = session_on_pg3(lab, lab.plan.pgpools[1], opened)

        drain = request(cluster, caller, "drain")
        assert drain.rollout is not None
        rollouts.advance(rollout_id=drain.rollout.pk, holder="test", clock=timezone.now)
        assert advance(drain) == "waiting"
        assert backend_operations.sessions_left(drain) == 1
        elsewhere = opened.enter_context(session(lab, lab.plan.pgpools[1]))
        assert reads_from(elsewhere) != PG3
        assert advance(drain) == "waiting"

        busy.close()
        wait_until(lambda: advance(drain) == "done", "the drain is done once its last session has ended")
        wait_until(lambda: statuses(lab) == ["down"] * 3, "no pgpool uses it")
        assert elsewhere.execute("SELECT 1").fetchone() == (1,)  # no session that reads elsewhere is cut

    attach = request(cluster, caller, "attach")
    assert any("Its weight is 0 at" in risk for risk in attach.risks)
    wait_until(lambda: advance(attach) == "done", "it is attached")
    wait_until(lambda: set(statuses(lab)) <= {"up", "waiting"}, "every pgpool uses it")


def test_a_standby_that_streams_again_and_is_stuck_down_is_attached(
    registered: tuple[Lab, Cluster, Caller], wait_until: Callable[..., None]
) -> None:
    lab, cluster, caller = registered
    lab.stop("pg3")
    wait_until(lambda: statuses(lab) == ["down"] * 3, "every pgpool has seen that pg3 is away")
    with pytest.raises(OperationRefused, match="PostgreSQL of pg3 does not answer"):
        request(cluster, caller, "attach")
    # Without what the lab does to have it used again.
    lab.backends.start(lab.backends.standbys[-1])

    attach = wait_for_attach(cluster, caller, wait_until)

    assert attach.risks[0].startswith("pg3 is a standby that streams from the primary, ")
    assert "It is attached at pgpool-1, pgpool-2 and pgpool-3; new sessions may read there at once." in attach.risks
    assert statuses(lab) == ["down"] * 3
    wait_until(lambda: advance(attach) == "done", "it is attached")
    wait_until(lambda: set(statuses(lab)) <= {"up", "waiting"}, "every pgpool uses it")


def wait_for_attach(cluster: Cluster, caller: Caller, wait_until: Callable[..., None]) -> BackendOperation:
    """It is refused until the standby streams again."""
    taken: list[BackendOperation] = []

    def is_taken() -> bool:
        try:
            taken.append(request(cluster, caller, "attach"))
        except OperationRefused as refusal:
            assert "does not stream from the primary" in str(refusal) or "does not answer" in str(refusal)
        return bool(taken)

    wait_until(is_taken, "pg3 streams again")
    return taken[0]
