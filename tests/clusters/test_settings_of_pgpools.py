"""The settings of a cluster's pgpools: each is added, changed, removed, or refused where it was typed."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from apps.accounts.access import Caller
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, Rollout
from apps.clusters.registry.registration import register
from tests.clusters.registration_scene import SECRET, Scene, fake_with_file, pgpools_running
from tests.clusters.test_registration_pages import problem_beside, text_of
from tests.fake_pgpool import FakePgpool
from tests.fake_show import FakeBackend, three_backends

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
PAGE = "/o/acme/clusters/orders/settings/"
ClientFor = Callable[..., Client]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def cluster(scene: Scene, caller: Callable[..., Caller]) -> Cluster:
    """pgpool-1 and pgpool-2, both with PCP and a file."""
    return register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)


@pytest.fixture
def first(cluster: Cluster) -> PgpoolInstance:
    return cluster.instances.get(name="pgpool-1")


@pytest.fixture
def admin(client_for: ClientFor) -> Client:
    return client_for("admin")


def is_done(answer: HttpResponse) -> bool:
    return (answer.status_code, answer.headers.get("Location")) == (303, PAGE)


def changed_pgpool(instance: PgpoolInstance, **changes: str) -> dict[str, str]:
    """The form of a pgpool as the page fills it in."""
    row = {
        "host": instance.host,
        "port": str(instance.port),
        "pcp_port": str(instance.pcp_port or ""),
        "pcp_user": instance.pcp_username,
        "pcp_password": "",
        "delivery": instance.delivery_kind,
        "path": instance.delivery_path,
        **changes,
    }
    return {f"pgpool-{instance.pk}-{name}": value for name, value in row.items()}


def new_pgpool(fake: FakePgpool, **changes: str) -> dict[str, str]:
    row = {"host": fake.host, "port": str(fake.port), "name": "", "az": "us-east-1c", "pcp_port": "", "pcp_user": ""}
    row |= {"pcp_password": "", "delivery": "observe", "path": "", **changes}
    return {f"new-{name}": value for name, value in row.items()}


def run_rollout(cluster: Cluster) -> Rollout:
    revision = ConfigRevision.objects.create(cluster=cluster, number=1, weights={})
    return Rollout.objects.create(cluster=cluster, revision=revision, state=Rollout.ACTIVE[0])


def test_a_pgpool_is_added(admin: Client, cluster: Cluster, tmp_path: Path) -> None:
    with fake_with_file(tmp_path / "third", three_backends()).running() as third:
        answer = admin.post(f"{PAGE}pgpools/", new_pgpool(third))

    assert is_done(answer)
    added = cluster.instances.get(name="pgpool-3")
    assert (added.port, added.az, added.delivery_kind) == (third.port, "us-east-1c", "observe")


def test_a_pgpool_that_numbers_the_backends_differently_is_not_added(
    admin: Client, cluster: Cluster, tmp_path: Path
) -> None:
    backends = [FakeBackend(0, port=25434, role="primary"), FakeBackend(1, port=25433), FakeBackend(2, port=25432)]
    with fake_with_file(tmp_path / "third", backends).running() as third:
        answer = admin.post(f"{PAGE}pgpools/", new_pgpool(third))

    assert answer.status_code == 422
    assert "numbers the backends differently" in problem_beside(answer, "new-host")
    assert cluster.instances.count() == 2


def test_a_pgpool_becomes_observed_only(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    answer = admin.post(f"{PAGE}pgpools/{first.pk}/", changed_pgpool(first, delivery="observe", path=""))

    assert is_done(answer)
    first.refresh_from_db()
    assert (first.delivery_kind, first.delivery_path, first.delivery_target) == ("observe", "", None)
    assert first.pcp_password == SECRET  # it was not typed, so it stays


def test_a_path_outside_the_allowed_directories_is_refused_at_its_field(
    admin: Client, cluster: Cluster, first: PgpoolInstance
) -> None:
    answer = admin.post(f"{PAGE}pgpools/{first.pk}/", changed_pgpool(first, path="/etc/passwd"))

    assert answer.status_code == 422
    assert "outside the directories allowed" in problem_beside(answer, f"pgpool-{first.pk}-path")
    first.refresh_from_db()
    assert first.delivery_path != "/etc/passwd"


def test_pcp_is_given_up_by_emptying_its_fields(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    answer = admin.post(f"{PAGE}pgpools/{first.pk}/", changed_pgpool(first, pcp_port="", pcp_user=""))

    assert is_done(answer)
    first.refresh_from_db()
    assert (first.pcp_port, first.pcp_username, first.pcp_password) == (None, "", "")


def test_another_pcp_user_needs_the_password_too(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    answer = admin.post(f"{PAGE}pgpools/{first.pk}/", changed_pgpool(first, pcp_user="other"))

    assert answer.status_code == 422
    assert "PCP needs" in problem_beside(answer, f"pgpool-{first.pk}-pcp_password")


def test_a_pgpool_is_removed_and_its_file_stays(
    admin: Client, cluster: Cluster, first: PgpoolInstance, scene: Scene
) -> None:
    before = Path(first.delivery_path).read_text()

    answer = admin.post(f"{PAGE}pgpools/{first.pk}/remove/")

    assert is_done(answer)
    assert list(cluster.instances.values_list("name", flat=True)) == ["pgpool-2"]
    assert Path(first.delivery_path).read_text() == before


def test_the_last_pgpool_is_not_removed(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    admin.post(f"{PAGE}pgpools/{first.pk}/remove/")
    last = cluster.instances.get()

    answer = admin.post(f"{PAGE}pgpools/{last.pk}/remove/")

    assert answer.status_code == 409
    assert "the last pgpool" in text_of(answer)
    assert cluster.instances.count() == 1


@pytest.mark.parametrize("part", ["pgpool", "drop", "remove"])
def test_nothing_is_pulled_from_under_a_rollout(
    admin: Client, cluster: Cluster, first: PgpoolInstance, part: str
) -> None:
    rollout = run_rollout(cluster)
    where, given = {
        "pgpool": (f"pgpools/{first.pk}/", changed_pgpool(first, delivery="observe", path="")),
        "drop": (f"pgpools/{first.pk}/remove/", {}),
        "remove": ("remove/", {"confirm": "orders"}),
    }[part]

    answer = admin.post(PAGE + where, given)

    assert answer.status_code == 409
    assert f"Rollout {rollout.pk} in orders is under way" in text_of(answer)
    assert cluster.instances.count() == 2
    first.refresh_from_db()
    assert first.delivery_kind == "local"
