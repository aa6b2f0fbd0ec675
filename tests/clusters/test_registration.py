"""Registering a cluster: asked live, checked whole, stored in one piece or not at all."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry, Membership, Organisation
from apps.clusters.models import Backend, Cluster, ClusterEvent, PgpoolInstance
from apps.clusters.registry.registration import (
    BackendWanted,
    ClusterWanted,
    DeliveryWanted,
    PcpWanted,
    RegistrationRefused,
    register,
)
from controlplane.environment import DeliveryDirectory
from tests.clusters.registration_scene import Scene, fake_with_file, pgpools_running
from tests.fake_show import FakeBackend

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
MakeCaller = Callable[..., Caller]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


def errors_of(caller: Caller, wanted: ClusterWanted) -> dict[str, str]:
    """The refusal; nothing may have been stored then."""
    before = Cluster.objects.count(), AuditEntry.objects.count()
    with pytest.raises(RegistrationRefused) as caught:
        register(caller=caller, wanted=wanted, now=NOW)
    assert (Cluster.objects.count(), AuditEntry.objects.count()) == before
    return caught.value.errors


def test_a_cluster_is_stored_with_what_its_pgpools_show(scene: Scene, caller: MakeCaller) -> None:
    cluster = register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)

    assert cluster.slug == "orders"
    assert cluster.delay_threshold_bytes == 2097152
    assert not cluster.is_statement_level
    instances = list(PgpoolInstance.objects.filter(cluster=cluster).order_by("name"))
    assert [(each.name, each.version, each.az) for each in instances] == [
        ("pgpool-1", "4.3.5", "us-east-1a"),
        ("pgpool-2", "4.3.5", "us-east-1a"),
    ]
    assert instances[0].delivery_target == str(scene.pgpools[0].conf)
    backends = list(Backend.objects.filter(cluster=cluster).order_by("node_id"))
    assert [(each.node_id, each.port, each.application_name, each.az) for each in backends] == [
        (0, 25432, "pg1", ""),
        (1, 25433, "pg2", "us-east-1b"),
        (2, 25434, "pg3", ""),
    ]


def test_a_registration_is_audited_without_secrets_and_told(scene: Scene, caller: MakeCaller) -> None:
    cluster = register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)

    entry = AuditEntry.objects.get(action="cluster.register")
    assert entry.after is not None
    assert entry.after["pgpools"][0]["delivery"]["kind"] == "local"
    assert "secret" not in json.dumps(entry.after)
    assert ClusterEvent.objects.get(cluster=cluster).kind == ClusterEvent.Kind.REGISTERED


def test_a_backend_that_lifeguard_reaches_elsewhere_keeps_both_addresses(scene: Scene, caller: MakeCaller) -> None:
    wanted = scene.wanted(backends=(BackendWanted(2, host="localhost", port=25999),))

    cluster = register(caller=caller("admin"), wanted=wanted, now=NOW)

    backend = Backend.objects.get(cluster=cluster, node_id=2)
    assert (backend.hostname, backend.port) == ("127.0.0.1", 25434)
    assert (backend.asked_host, backend.asked_port) == ("localhost", 25999)


def test_only_admins_register(scene: Scene, caller: MakeCaller) -> None:
    with pytest.raises(PermissionDenied):
        register(caller=caller("operator"), wanted=scene.wanted(), now=NOW)


def test_a_slug_is_unique_in_its_organisation_only(scene: Scene, caller: MakeCaller) -> None:
    home = caller("admin")
    Cluster.objects.create(organisation=home.organisation, slug="orders", name="Orders", username="x", password="x")
    assert set(errors_of(home, scene.wanted())) == {"slug"}

    other = Organisation.objects.create(slug="other", name="Other")
    register(caller=caller("admin", of=other), wanted=scene.wanted(), now=NOW)
    assert Cluster.objects.filter(slug="orders").count() == 2


@pytest.mark.parametrize(("name", "slug"), [("Orders", "register"), ("★", ""), ("Register", "")])
def test_a_slug_that_pages_need_or_that_is_empty_is_refused(
    scene: Scene, caller: MakeCaller, name: str, slug: str
) -> None:
    assert set(errors_of(caller("admin"), scene.wanted(name=name, slug=slug))) == {"slug"}


def test_a_wrong_password_is_told_at_the_password(scene: Scene, caller: MakeCaller) -> None:
    errors = errors_of(caller("admin"), scene.wanted(password="wrong"))

    assert set(errors) == {"password"}
    assert "ALTER ROLE lifeguard PASSWORD" in errors["password"]


def test_an_unreachable_pgpool_is_told_at_its_host(scene: Scene, caller: MakeCaller) -> None:
    unreachable = scene.pgpool(1, host="no-such-host.invalid")

    errors = errors_of(caller("admin"), scene.wanted(pgpools=(scene.pgpool(0), unreachable)))

    assert set(errors) == {"pgpools.1.host", "pgpools.1.pcp.port"}
    assert "no-such-host.invalid" in errors["pgpools.1.host"]


def test_a_wrong_pcp_password_is_told_at_its_field(scene: Scene, caller: MakeCaller) -> None:
    pcp = PcpWanted(scene.pgpools[0].pcp_port, "pcp", "wrong")

    errors = errors_of(caller("admin"), scene.wanted(pgpools=(scene.pgpool(0, pcp=pcp), scene.pgpool(1))))

    assert set(errors) == {"pgpools.0.pcp.password"}


def test_a_pgpool_that_numbers_the_backends_differently_is_refused(
    tmp_path: Path, settings: Any, scene: Scene, caller: MakeCaller
) -> None:
    swapped = [FakeBackend(0, port=25432, role="primary"), FakeBackend(1, port=25434), FakeBackend(2, port=25433)]
    with fake_with_file(tmp_path / "odd", swapped).running() as odd:
        wanted = Scene(scene.folder, (*scene.pgpools, odd)).wanted()

        errors = errors_of(caller("admin"), wanted)

    assert set(errors) == {"pgpools.2.host"}
    assert "numbers the backends differently" in errors["pgpools.2.host"]


def test_a_file_outside_the_allowed_directories_is_refused(
    scene: Scene, caller: MakeCaller, settings: Any, tmp_path: Path
) -> None:
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, tmp_path / "pgpool-1")]

    errors = errors_of(caller("admin"), scene.wanted())

    assert set(errors) == {"pgpools.1.delivery.path"}
    assert "outside the directories" in errors["pgpools.1.delivery.path"]


def test_a_file_of_another_pgpool_is_refused(scene: Scene, caller: MakeCaller) -> None:
    text = scene.pgpools[1].conf.read_text()  # type: ignore[union-attr]
    scene.pgpools[1].conf.write_text(text.replace("port = 9001", "port = 9002", 1))  # type: ignore[union-attr]

    errors = errors_of(caller("admin"), scene.wanted())

    assert set(errors) == {"pgpools.1.delivery.path"}
    assert "another pgpool's" in errors["pgpools.1.delivery.path"]


def test_a_file_with_an_include_is_refused_with_a_clear_sentence(scene: Scene, caller: MakeCaller) -> None:
    with scene.pgpools[0].conf.open("a") as conf:  # type: ignore[union-attr]
        conf.write("include = 'more.conf'\n")

    errors = errors_of(caller("admin"), scene.wanted())

    assert "includes another file" in errors["pgpools.0.delivery.path"]


def test_one_file_serves_one_pgpool(scene: Scene, caller: MakeCaller) -> None:
    register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)

    errors = errors_of(caller("admin"), scene.wanted(slug="again"))

    assert set(errors) == {"pgpools.0.delivery.path", "pgpools.1.delivery.path"}
    assert "already" in errors["pgpools.0.delivery.path"]


def test_observe_only_needs_no_file(scene: Scene, caller: MakeCaller) -> None:
    pgpool = scene.pgpool(0, delivery=DeliveryWanted("observe"), pcp=None)

    cluster = register(caller=caller("admin"), wanted=scene.wanted(pgpools=(pgpool,)), now=NOW)

    instance = cluster.instances.get()
    assert (instance.delivery_kind, instance.delivery_target, instance.pcp_port) == ("observe", None, None)


def test_names_addresses_and_backends_are_given_once(scene: Scene, caller: MakeCaller) -> None:
    same = scene.pgpool(0, name="front")
    backends = (BackendWanted(1), BackendWanted(1))

    errors = errors_of(caller("admin"), scene.wanted(pgpools=(same, same), backends=backends))

    assert set(errors) == {
        "pgpools.0.name", "pgpools.1.name", "pgpools.0.host", "pgpools.1.host",
        "backends.0.node_id", "backends.1.node_id",
    }  # fmt: skip


def test_one_pgpool_under_two_names_of_its_host_is_refused_with_both(scene: Scene, caller: MakeCaller) -> None:
    twin = scene.pgpool(0, host="localhost", name="front", delivery=DeliveryWanted("observe", ""))

    errors = errors_of(caller("admin"), scene.wanted(pgpools=(scene.pgpool(0, name="east"), twin)))

    port = scene.pgpools[0].port
    expected = f"front localhost:{port}: is the same pgpool as east 127.0.0.1:{port}"
    assert set(errors) == {"pgpools.1.host"}
    assert expected in errors["pgpools.1.host"]


@pytest.mark.parametrize("name", ["east/1", ".", "..", "-1", "a?b", "a#b", "100%", "<b>", "a\nb"])
def test_a_pgpool_name_that_no_address_could_carry_is_refused(scene: Scene, caller: MakeCaller, name: str) -> None:
    wanted = scene.wanted(pgpools=(scene.pgpool(0, name=name),))

    assert errors_of(caller("admin"), wanted) == {
        "pgpools.0.name": f"{name} cannot stand in addresses; letters, digits, blanks and . : - _ can, as in pgpool-1"
    }


@pytest.mark.parametrize("name", ["pgpool-1", "Ost 2", "pool.example:9999", "池"])
def test_a_name_may_be_in_any_script(scene: Scene, caller: MakeCaller, name: str) -> None:
    cluster = register(caller=caller("admin"), wanted=scene.wanted(pgpools=(scene.pgpool(0, name=name),)), now=NOW)

    assert [instance.name for instance in cluster.instances.all()] == [name]


def test_a_backend_that_pgpool_does_not_show_is_refused(scene: Scene, caller: MakeCaller) -> None:
    errors = errors_of(caller("admin"), scene.wanted(backends=(BackendWanted(7),)))

    assert errors == {"backends.0.node_id": "there is no backend 7; pgpool shows 0, 1, 2"}


def test_lifeguards_own_database_is_never_registered(scene: Scene, caller: MakeCaller, settings: Any) -> None:
    own = settings.DATABASES["default"]
    pgpool = scene.pgpool(0, host=own["HOST"], port=int(own["PORT"]))

    as_pgpool = errors_of(caller("admin"), scene.wanted(pgpools=(pgpool,)))
    as_backend = errors_of(
        caller("admin"), scene.wanted(backends=(BackendWanted(1, host="localhost", port=int(own["PORT"])),))
    )

    assert "own database" in as_pgpool["pgpools.0.host"]
    assert "own database" in as_backend["backends"]


def test_the_command_registers_what_rest_takes(scene: Scene, member: Callable[..., Membership], tmp_path: Path) -> None:
    membership = member("admin")
    description = tmp_path / "cluster.json"
    fake = scene.pgpools[0]
    content = {
        "name": "Orders",
        "username": "lifeguard",
        "password": "secret",
        "pgpools": [{"host": fake.host, "port": fake.port, "delivery": {"kind": "observe"}}],
    }
    description.write_text(json.dumps(content))
    options = {"organisation": membership.organisation.slug, "by": membership.user.email}
    out = StringIO()

    call_command("register_cluster", json=str(description), stdout=out, **options)

    assert json.loads(out.getvalue()) == {"slug": "orders"}
    description.write_text(json.dumps({**content, "slug": "two", "password": "wrong"}))
    with pytest.raises(CommandError, match="password"):
        call_command("register_cluster", json=str(description), **options)


def test_a_cluster_description_never_shows_its_passwords(scene: Scene) -> None:
    assert "secret" not in repr(replace(scene.wanted(), password="secret"))
