"""A pgpool that numbers the backends otherwise than the cluster: told loudly, believed in nothing, told nothing."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import Organisation
from apps.clusters.control.backend_operations import OperationRefused
from apps.clusters.control.weight_change import WeightsRefused
from apps.clusters.models import BackendOperation, ClusterEvent, InstanceLatest, NodeLatest
from apps.clusters.outside.node_control import NotBrought, bring
from apps.clusters.outside.pcp import PcpAddress
from apps.clusters.outside.pgpool_client import PgpoolAddress
from apps.clusters.polling import numbering
from apps.clusters.polling.changes import changes
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import InstanceReading, NodeReading, Tick
from apps.clusters.polling.registry import watched_clusters
from apps.clusters.queries.editing import editor
from apps.clusters.queries.health import health_of
from apps.clusters.queries.overview import overview
from apps.clusters.queries.sight import sight_of
from tests.clusters import polling_scene, rollout_scene
from tests.clusters.polling_scene import wait_until, watching
from tests.clusters.rollout_scene import Scene
from tests.clusters.seen_cluster import NOW, poll, register
from tests.clusters.test_backend_operations import advance, asked, drained, request, statuses
from tests.fake_pgpool import FakePgpool

SWAPPED = (
    "backend 1 is 127.0.0.1:25434 here, which the cluster numbers 2; "
    "backend 2 is 127.0.0.1:25433 here, which the cluster numbers 1"
)


def swap(pgpool: FakePgpool) -> None:
    """As after a restart with the ports of two backends exchanged."""
    pgpool.backends[1].port, pgpool.backends[2].port = pgpool.backends[2].port, pgpool.backends[1].port


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with rollout_scene.scene(tmp_path, settings, pgpools=2) as found:
        yield found


@pytest.mark.waits
@pytest.mark.django_db(transaction=True)
def test_a_pgpool_that_numbers_the_backends_differently_is_told_and_not_believed() -> None:
    def state() -> str:
        return InstanceLatest.objects.get(instance__name="pgpool-2").state

    with polling_scene.scene(pgpools=2) as pair, watching():
        seen = NodeLatest.objects.filter(instance__name="pgpool-2")
        wait_until(lambda: seen.filter(lb_weight__isnull=False).count() == 3, "the backends of pgpool-2 are seen")
        swap(pair.pgpools["pgpool-2"])
        wait_until(lambda: state() == "renumbered", "the other numbering is seen")
        wait_until(ClusterEvent.objects.exists, "it is told")
        health, rows = health_of(sight=sight_of(pair.cluster), now=timezone.now()), seen.count()
        swap(pair.pgpools["pgpool-2"])
        wait_until(lambda: state() == "answering", "the numbering is as before")
        wait_until(lambda: ClusterEvent.objects.count() == 2, "that is told too")

    told = list(ClusterEvent.objects.order_by("pk"))
    assert [one.title for one in told] == ["pgpool-2 numbers the backends differently", "pgpool-2 answers again"]
    assert (told[0].is_problem, SWAPPED in told[0].detail) == (True, True)
    assert (health["state"], health["word"]) == ("crit", "Backends mixed up")
    assert health["reasons"][0].startswith(f"pgpool-2 numbers the backends differently: {SWAPPED}.")
    assert rows == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("addresses", "sentence"),
    [
        ({0: ("db0.example", 5000), 1: ("db1.example", 5001)}, "backend 2 (db2.example:5002) is missing here"),
        (
            {n: (f"db{n}.example", 5000 + n) for n in range(4)},
            "backend 3 is db3.example:5003 here, which the cluster does not have",
        ),
        (
            {0: ("db0.example", 5000), 1: ("db1.example", 5001), 2: ("db2.example", 6002)},
            "backend 2 is db2.example:6002 here, but db2.example:5002 in the cluster",
        ),
        ({n: (f"DB{n}.example.", 5000 + n) for n in range(3)}, ""),  # another spelling of the same
        ({}, ""),  # not shown yet
    ],
)
def test_backends_gained_lost_or_moved_are_another_numbering_and_another_spelling_is_none(
    organisation: Organisation, addresses: Mapping[int, tuple[str, int]], sentence: str
) -> None:
    register(organisation, pgpools=1)
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    nodes = (NodeReading(0, "up", "primary", 7),)
    reading = InstanceReading(watched.instances[0].instance_id, "answering", nodes=nodes, addresses=addresses)

    [found] = numbering.checked(watched, Tick(at=NOW, number=1, instances=(reading,), backends=())).instances

    if sentence:
        assert (found.state, found.nodes) == ("renumbered", ())
        assert sentence in found.reason
    else:
        assert found == reading


@pytest.mark.django_db
def test_a_cluster_whose_pgpools_are_all_renumbered_is_not_called_silent(organisation: Organisation) -> None:
    cluster = register(organisation)
    poll(cluster, state="renumbered", reason="numbers the backends differently: backend 1 is elsewhere.")

    found = health_of(sight=sight_of(cluster), now=NOW)

    assert (found["state"], found["word"]) == ("crit", "Backends mixed up")
    assert not any("answers" in reason for reason in found["reasons"])


@pytest.mark.django_db
def test_another_numbering_is_told_once_also_of_a_pgpool_that_was_told_to_be_away(organisation: Organisation) -> None:
    register(organisation, pgpools=1)
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    key, memory = watched.instances[0].instance_id, ClusterMemory()
    readings = [InstanceReading(key, state) for state in ("unreachable", "unreachable", "renumbered", "renumbered")]

    told = [
        change.title
        for number, reading in enumerate([*readings, InstanceReading(key, "answering")])
        for change in changes(cluster=watched, memory=memory, tick=Tick(NOW, number, (reading,), ()))
    ]

    assert told == [
        "pgpool-1 does not answer",
        "pgpool-1 numbers the backends differently",
        "pgpool-1 answers again",
    ]


@pytest.mark.django_db
def test_the_page_of_weights_says_why_nothing_can_be_applied(
    organisation: Organisation, caller: Callable[[str], Caller]
) -> None:
    cluster = register(organisation)
    poll(cluster)
    reason = "numbers the backends differently: backend 1 is elsewhere."
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="renumbered", reason=reason)
    seen = overview(cluster=cluster, window_s=300, now=NOW)

    found = editor(caller=caller("operator"), cluster=cluster, seen=seen, now=NOW)

    assert f"pgpool-2 {reason}" in found["blockers"]


def test_no_weights_are_given_to_a_pgpool_that_numbers_the_backends_differently(acme: Scene) -> None:
    reason = "numbers the backends differently: backend 1 is 127.0.0.1:25434 here"
    facts = {"polled_at": NOW, "state_since": NOW, "state": "renumbered", "reason": reason}
    InstanceLatest.objects.create(instance=acme.instances[1], **facts)

    with pytest.raises(WeightsRefused, match="pgpool-2: numbers the backends differently: backend 1 is"):
        acme.request(base="live")


def test_no_weights_are_written_to_a_file_that_numbers_the_backends_differently(acme: Scene) -> None:
    text = acme.confs[1].read_text().replace("25433", "0").replace("25434", "25433")
    acme.confs[1].write_text(text.replace("backend_port1 = 0", "backend_port1 = 25434"))

    with pytest.raises(WeightsRefused) as refused:
        acme.request(base="live")

    assert str(refused.value).startswith("pgpool-2: ")
    assert f"numbers the backends differently: {SWAPPED}" in str(refused.value)


def test_a_rollout_proves_nothing_at_a_pgpool_that_numbers_the_backends_differently(acme: Scene) -> None:
    before = acme.texts()
    rollout = acme.request()
    swap(acme.pgpools[1])

    rollout = acme.advance(rollout)

    assert rollout.state in ("failed", "rolled_back")
    assert acme.texts() == before
    assert f"pgpool-2 numbers the backends differently: {SWAPPED}." in rollout.steps.get(position=1).error


@pytest.mark.parametrize("kind", ["attach", "detach", "drain"])
def test_nothing_is_attached_or_detached_by_a_number_that_is_another_server(acme: Scene, kind: str) -> None:
    swap(acme.pgpools[1])

    with pytest.raises(OperationRefused) as refused:
        request(acme, kind)

    assert f"pgpool-2 numbers the backends differently: {SWAPPED}. Another server may be " in str(refused.value)
    assert not BackendOperation.objects.exists()
    assert asked(acme) == [[], []]


def test_a_numbering_that_changes_while_a_drain_waits_stops_it(acme: Scene) -> None:
    operation = drained(acme)
    swap(acme.pgpools[1])

    advance(operation)

    assert (operation.state, statuses(acme)) == ("failed", ["up", "up"])
    assert "pgpool-2 numbers the backends differently" in operation.outcome
    assert asked(acme) == [[], []]


@pytest.mark.parametrize(
    ("kind", "before", "after"), [("detach", "up", ["down", "up"]), ("attach", "down", ["up", "down"])]
)
def test_a_pgpool_that_was_silent_when_asked_is_told_nothing_by_another_number(
    acme: Scene, kind: str, before: str, after: list[str]
) -> None:
    operation = request(acme, "detach")
    BackendOperation.objects.update(kind=kind, checked_at=NOW)
    for pgpool in acme.pgpools:
        pgpool.backends[2].status = before
    swap(acme.pgpools[1])

    advance(operation)

    assert (operation.state, statuses(acme)) == ("failed", after)
    assert f"pgpool-2: it numbers the backends differently: {SWAPPED}; nothing was asked of it." in operation.outcome
    assert asked(acme) == [[f"pcp {kind} 2"], []]


def test_a_number_that_is_another_server_is_not_taken_for_done(acme: Scene) -> None:
    operation = request(acme, "detach")
    BackendOperation.objects.update(checked_at=NOW)
    swap(acme.pgpools[1])
    acme.pgpools[1].backends[2].status = "down"

    advance(operation)

    assert operation.state == "failed"
    assert "is confirmed down at pgpool-1." in operation.outcome


class Restarting(FakePgpool):
    """Swaps two backends while it detaches one."""

    def _brought(self, node_id: int, *, is_attach: bool) -> bytes:
        answer = super()._brought(node_id, is_attach=is_attach)
        swap(self)
        return answer


def test_what_is_shown_by_other_numbers_afterwards_proves_nothing() -> None:
    with Restarting().running() as pgpool:
        address = PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password)
        control = PcpAddress(pgpool.host, pgpool.pcp_port, pgpool.pcp_username, pgpool.pcp_password)
        known = {backend.node_id: (backend.hostname, backend.port) for backend in pgpool.backends}

        with pytest.raises(NotBrought) as caught:
            asyncio.run(bring(address, control, 2, "down", known=known))

    assert caught.value.reason == f"PCP said: Command Successful; then it numbers the backends differently: {SWAPPED}"
