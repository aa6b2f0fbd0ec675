"""Changes of what is registered: tested first where it matters, whole, audited, and none under a rollout."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry
from apps.clusters.models import (
    BackendOperation,
    Cluster,
    ConfigRevision,
    PgpoolInstance,
    RollingRestart,
    Rollout,
)
from apps.clusters.registry import registry_changes
from apps.clusters.registry.registration import DeliveryWanted, RegistrationRefused, register
from apps.clusters.registry.registry_changes import RegistryConflict
from tests.clusters.registration_scene import SECRET, Scene, fake_with_file, pgpools_running
from tests.fake_show import FakeBackend, three_backends

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
MakeCaller = Callable[..., Caller]
Change = Callable[[dict[str, Any]], Cluster]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def cluster(scene: Scene, caller: MakeCaller) -> Cluster:
    return register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)


@pytest.fixture
def change(cluster: Cluster, caller: MakeCaller) -> Change:
    def make(changes: dict[str, Any]) -> Cluster:
        return registry_changes.change_cluster(caller=caller("admin"), cluster=cluster, changes=changes, now=NOW)

    return make


def start_rollout(cluster: Cluster) -> Rollout:
    revision = ConfigRevision.objects.create(cluster=cluster, number=1, origin="edit", weights={}, author_name="x")
    return Rollout.objects.create(cluster=cluster, revision=revision, requested_by_name="x")


def test_a_name_and_azs_change_without_asking_anybody(scene: Scene, change: Change) -> None:
    for pgpool in scene.pgpools:
        pgpool.mode = "refuse"

    changed = change(
        {
            "name": "Orders EU",
            "pgpools": [{"name": "pgpool-2", "az": "eu-west-1b"}],
            "backends": [{"node_id": 0, "az": "eu-west-1a"}],
        }
    )

    assert changed.name == "Orders EU"
    assert changed.instances.get(name="pgpool-2").az == "eu-west-1b"
    assert changed.backends.get(node_id=0).az == "eu-west-1a"


def test_a_change_is_audited_by_what_differs_and_without_secrets(scene: Scene, change: Change) -> None:
    for pgpool in scene.pgpools:
        pgpool.password = "hunter2"

    change({"name": "Orders EU", "password": "hunter2"})

    entry = AuditEntry.objects.get(action="cluster.change")
    assert entry.before == {"name": "Orders"}
    assert entry.after == {"name": "Orders EU", "password": "changed"}
    assert "hunter2" not in json.dumps([entry.before, entry.after])


def test_new_credentials_are_tried_before_they_are_stored(cluster: Cluster, change: Change) -> None:
    with pytest.raises(RegistrationRefused) as caught:
        change({"password": "not accepted"})

    assert any("password" in message for message in caught.value.errors.values())
    cluster.refresh_from_db()
    assert cluster.password == "secret"


def test_a_pgpool_that_is_down_keeps_nobody_from_new_credentials(scene: Scene, change: Change) -> None:
    scene.pgpools[0].password = "new"
    scene.pgpools[1].mode = "refuse"

    assert change({"password": "new"}).password == "new"


def test_a_pgpool_that_refuses_the_new_password_does(cluster: Cluster, scene: Scene, change: Change) -> None:
    scene.pgpools[0].password = "new"

    with pytest.raises(RegistrationRefused) as caught:
        change({"password": "new"})

    assert set(caught.value.errors) == {"password"}
    assert "pgpool-2" in caught.value.errors["password"]


def test_a_pgpool_moves_to_an_address_that_answers_alike(
    scene: Scene, change: Change, cluster: Cluster, tmp_path: Path
) -> None:
    with fake_with_file(tmp_path / "moved", three_backends()).running() as moved:
        delivery = {"kind": "local", "path": str(moved.conf)}
        pcp = {"port": moved.pcp_port, "user": "pcp", "password": "secret"}
        moves = {"name": "pgpool-1", "port": moved.port, "pcp": pcp, "delivery": delivery}
        change({"password": SECRET, "pgpools": [moves]})

        instance = cluster.instances.get(name="pgpool-1")
        assert (instance.port, instance.pcp_port) == (moved.port, moved.pcp_port)
        assert instance.delivery_target == str(moved.conf)


def test_an_address_of_another_cluster_is_refused(change: Change, cluster: Cluster, tmp_path: Path) -> None:
    others = [FakeBackend(0, port=1111, role="primary"), FakeBackend(1, port=2222)]
    with fake_with_file(tmp_path / "other", others).running() as other, pytest.raises(RegistrationRefused) as caught:
        moves = {"name": "pgpool-1", "port": other.port, "pcp": None, "delivery": OBSERVED}
        change({"password": SECRET, "pgpools": [moves]})

    assert "numbers the backends differently" in caught.value.errors["pgpools.0.host"]
    assert cluster.instances.get(name="pgpool-1").port != other.port


OBSERVED = {"kind": "observe", "path": ""}


def test_delivery_can_be_given_up_and_taken_again(scene: Scene, change: Change, cluster: Cluster) -> None:
    change({"pgpools": [{"name": "pgpool-1", "delivery": OBSERVED}]})
    instance = cluster.instances.get(name="pgpool-1")
    assert (instance.delivery_kind, instance.delivery_path, instance.delivery_target) == ("observe", "", None)

    change({"pgpools": [{"name": "pgpool-1", "delivery": {"kind": "local", "path": str(scene.pgpools[0].conf)}}]})
    instance.refresh_from_db()
    assert instance.delivery_target == str(scene.pgpools[0].conf)


def test_unknown_pgpools_and_backends_are_named(change: Change) -> None:
    with pytest.raises(RegistrationRefused) as caught:
        change({"pgpools": [{"name": "pgpool-9", "az": ""}], "backends": [{"node_id": 9, "az": ""}]})

    assert set(caught.value.errors) == {"pgpools.0.name", "backends.0.node_id"}


def test_a_further_pgpool_is_added_under_the_next_free_name(
    caller: MakeCaller, cluster: Cluster, scene: Scene, tmp_path: Path
) -> None:
    with fake_with_file(tmp_path / "third", three_backends()).running() as third:
        wanted = Scene(scene.folder, (third,)).pgpool(0)
        instance = registry_changes.add_instance(caller=caller("admin"), cluster=cluster, wanted=wanted, now=NOW)

    assert (instance.name, instance.version) == ("pgpool-3", "4.3.5")
    assert AuditEntry.objects.get(action="cluster.pgpool.add").target_name == "orders/pgpool-3"


def test_a_pgpool_that_is_there_already_is_not_added_again(caller: MakeCaller, cluster: Cluster, scene: Scene) -> None:
    with pytest.raises(RegistrationRefused) as caught:
        registry_changes.add_instance(caller=caller("admin"), cluster=cluster, wanted=scene.pgpool(0), now=NOW)

    assert set(caught.value.errors) == {"host"}


def test_a_pgpool_that_is_there_under_another_name_of_its_host_is_not_added(
    caller: MakeCaller, cluster: Cluster, scene: Scene
) -> None:
    wanted = scene.pgpool(0, host="localhost", delivery=DeliveryWanted("observe", ""))

    with pytest.raises(RegistrationRefused) as refused:
        registry_changes.add_instance(caller=caller("admin"), cluster=cluster, wanted=wanted, now=NOW)

    assert "is the same pgpool as pgpool-1 127.0.0.1" in refused.value.errors["host"]


def test_a_pgpool_whose_file_is_taken_is_not_added(
    caller: MakeCaller, cluster: Cluster, scene: Scene, tmp_path: Path
) -> None:
    with fake_with_file(tmp_path / "third", three_backends()).running() as third:
        delivery = DeliveryWanted("local", str(scene.pgpools[0].conf))
        wanted = Scene(scene.folder, (third,)).pgpool(0, delivery=delivery)
        with pytest.raises(RegistrationRefused) as caught:
            registry_changes.add_instance(caller=caller("admin"), cluster=cluster, wanted=wanted, now=NOW)

    assert set(caught.value.errors) == {"delivery.path"}


def test_one_pgpool_is_changed_with_its_own_field_names(caller: MakeCaller, cluster: Cluster) -> None:
    instance = cluster.instances.get(name="pgpool-1")

    with pytest.raises(RegistrationRefused) as caught:
        registry_changes.change_instance(
            caller=caller("admin"),
            instance=instance,
            changes={"pcp": {"port": instance.pcp_port, "user": "pcp", "password": "wrong"}},
            now=NOW,
        )
    changed = registry_changes.change_instance(
        caller=caller("admin"), instance=instance, changes={"az": "us-east-1c"}, now=NOW
    )

    assert set(caught.value.errors) == {"pcp.password"}
    assert changed.az == "us-east-1c"


def test_the_last_pgpool_stays(caller: MakeCaller, cluster: Cluster, scene: Scene) -> None:
    first, last = cluster.instances.order_by("name")

    registry_changes.remove_instance(caller=caller("admin"), instance=first, now=NOW)
    with pytest.raises(RegistryConflict, match="last pgpool"):
        registry_changes.remove_instance(caller=caller("admin"), instance=last, now=NOW)

    assert list(cluster.instances.values_list("name", flat=True)) == ["pgpool-2"]
    assert scene.pgpools[0].conf is not None
    assert scene.pgpools[0].conf.exists()


def start_restart(cluster: Cluster) -> str:
    return f"Restart {RollingRestart.objects.create(cluster=cluster).pk} of pgpools"


def start_drain(cluster: Cluster) -> str:
    operation = {"node_id": 1, "backend_name": "pg2", "kind": "drain", "state": "waiting"}
    BackendOperation.objects.create(cluster=cluster, **operation)
    return "The drain of pg2"


@pytest.mark.parametrize("begin", [lambda cluster: f"Rollout {start_rollout(cluster).pk}", start_restart, start_drain])
def test_what_is_under_way_keeps_its_pgpools_backends_and_cluster(
    caller: MakeCaller, cluster: Cluster, change: Change, begin: Callable[[Cluster], str]
) -> None:
    what = begin(cluster)
    instance, admin = cluster.instances.get(name="pgpool-1"), caller("admin")
    password = {"password": cluster.password}

    for forbidden in (
        lambda: change({"pgpools": [{"name": "pgpool-1", "delivery": OBSERVED}]}),
        lambda: change({"backends": [{"node_id": 1, "host": "127.0.0.2"}], **password}),
        lambda: registry_changes.remove_instance(caller=admin, instance=instance, now=NOW),
        lambda: registry_changes.remove_cluster(caller=admin, cluster=cluster, now=NOW),
    ):
        with pytest.raises(RegistryConflict, match=f"{what} in orders is under way: wait for its end, or cancel it"):
            forbidden()

    assert (cluster.instances.count(), cluster.backends.get(node_id=1).asked_host) == (2, "127.0.0.1")
    backends = [{"node_id": 1, "az": "eu-west-1a"}]
    assert change({"name": "Orders EU", "backends": backends}).name == "Orders EU"


def test_a_removed_cluster_takes_its_history_and_leaves_the_files(
    caller: MakeCaller, cluster: Cluster, scene: Scene
) -> None:
    rollout = start_rollout(cluster)
    Rollout.objects.filter(pk=rollout.pk).update(state=Rollout.State.VERIFIED)

    registry_changes.remove_cluster(caller=caller("admin"), cluster=cluster, now=NOW)

    assert not Cluster.objects.exists()
    assert not PgpoolInstance.objects.exists()
    assert not ConfigRevision.objects.exists()
    assert all(pgpool.conf is not None and pgpool.conf.exists() for pgpool in scene.pgpools)
    entry = AuditEntry.objects.get(action="cluster.remove")
    assert entry.before is not None
    assert entry.before["slug"] == "orders"


def test_only_admins_change_the_registry(caller: MakeCaller, cluster: Cluster, scene: Scene) -> None:
    operator = caller("operator")
    instance = cluster.instances.get(name="pgpool-1")

    for forbidden in (
        lambda: registry_changes.change_cluster(caller=operator, cluster=cluster, changes={"name": "x"}, now=NOW),
        lambda: registry_changes.add_instance(caller=operator, cluster=cluster, wanted=scene.pgpool(0), now=NOW),
        lambda: registry_changes.remove_instance(caller=operator, instance=instance, now=NOW),
        lambda: registry_changes.remove_cluster(caller=operator, cluster=cluster, now=NOW),
    ):
        with pytest.raises(PermissionDenied):
            forbidden()
