"""A pgpool whose file is delivered by SSH: described, tested step by step, registered, changed by a rollout."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry, Organisation
from apps.clusters.control import rollouts, weight_change
from apps.clusters.models import Cluster, PublishedFile, SshKey
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.registry.cluster_wanted import DeliveryWanted, SshWanted
from apps.clusters.registry.connection_test import test_connection as connection_test
from apps.clusters.registry.registration import RegistrationRefused, register
from apps.clusters.registry.registry_changes import change_instance
from apps.clusters.registry.ssh_accounts import key_of
from tests.clusters.registration_scene import Scene, pgpools_running
from tests.ssh_host import SshHost, ssh_host

pytestmark = pytest.mark.django_db

WEIGHTS = {"0": 0, "1": 1, "2": 3}


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with ssh_host(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings, count=1) as found:
        yield found


@pytest.fixture
def known(sshd: SshHost, organisation: Organisation, scene: Scene) -> SshHost:
    """The host knows the organisation's key, for the file of the first pgpool."""
    sshd.client = replace(sshd.client, public=key_of(organisation).public_key)
    assert scene.pgpools[0].conf is not None
    sshd.authorize(scene.pgpools[0].conf)
    return sshd


def by_ssh(scene: Scene, sshd: SshHost, **changes: Any) -> DeliveryWanted:
    confirmed = fingerprint(sshd.host.public)
    ssh = SshWanted("127.0.0.1", sshd.port, sshd.account.username, confirmed)
    return DeliveryWanted("ssh", str(scene.pgpools[0].conf), replace(ssh, **changes))


def wanted(scene: Scene, delivery: DeliveryWanted) -> Any:
    return scene.wanted(pgpools=(scene.pgpool(delivery=delivery),))


def steps_of(scene: Scene, delivery: DeliveryWanted, organisation: Organisation) -> list[tuple[str, str]]:
    report = connection_test(wanted(scene, delivery), organisation=organisation)
    return [
        (each["step"], each["state"])
        for each in report["steps"]
        if each["step"].startswith("ssh") or each["step"] == "delivery"
    ]


def test_the_connection_test_goes_step_by_step(known: SshHost, scene: Scene, organisation: Organisation) -> None:
    reached = [("ssh_host", "ok"), ("ssh_host_key", "ok"), ("ssh_account", "ok"), ("ssh_script", "ok")]
    assert steps_of(scene, by_ssh(scene, known), organisation) == [
        *reached,
        ("delivery", "ok"),
        ("ssh_dry_run", "ok"),
    ]
    skipped = [("ssh_account", "skipped"), ("ssh_script", "skipped")]
    assert steps_of(scene, by_ssh(scene, known, host_key=""), organisation) == [
        ("ssh_host", "ok"),
        ("ssh_host_key", "failed"),
        *skipped,
    ]
    elsewhere = replace(by_ssh(scene, known), path="/etc/elsewhere.conf")
    assert steps_of(scene, elsewhere, organisation) == [*reached, ("delivery", "failed")]


def test_a_refusal_names_the_field_and_what_mends_it(
    sshd: SshHost, scene: Scene, caller: Callable[..., Caller]
) -> None:
    (sshd.folder / "authorized_keys").write_text("")
    admin = caller()
    for changes, field, words in (
        ({"host_key": ""}, "host_key", fingerprint(sshd.host.public)),
        ({}, "user", f'command="/usr/local/lib/lifeguard/node {scene.pgpools[0].conf}",restrict ssh-ed25519 '),
        ({"port": 1}, "host", "cannot be reached"),
    ):
        with pytest.raises(RegistrationRefused) as caught:
            register(caller=admin, wanted=wanted(scene, by_ssh(scene, sshd, **changes)), now=timezone.now())
        assert words in caught.value.errors[f"pgpools.0.delivery.{field}"]
    assert not Cluster.objects.exists()


def test_weights_are_rolled_out_and_back_by_ssh(known: SshHost, scene: Scene, caller: Callable[..., Caller]) -> None:
    admin, conf = caller(), scene.pgpools[0].conf
    assert conf is not None
    before = conf.read_text()
    cluster = register(caller=admin, wanted=wanted(scene, by_ssh(scene, known)), now=timezone.now())
    instance = cluster.instances.get()
    assert instance.ssh_host_key.split()[:2] == known.host.public.split()[:2]
    assert "private" not in str(AuditEntry.objects.get().after).lower()

    rollout = weight_change.request_weights(caller=admin, cluster=cluster, weights=WEIGHTS, now=timezone.now())
    rollouts.advance(rollout_id=rollout.pk, holder="worker", clock=timezone.now)
    rollout.refresh_from_db()

    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    assert scene.pgpools[0].weights == {0: 0.0, 1: 1.0, 2: 3.0}
    back = rollouts.request_rollback(caller=admin, rollout=rollout, now=timezone.now())
    rollouts.advance(rollout_id=back.pk, holder="worker", clock=timezone.now)
    assert conf.read_text() == before


def test_one_file_has_one_writer_and_another_host_key_ends_the_delivery(
    known: SshHost, scene: Scene, caller: Callable[..., Caller]
) -> None:
    admin = caller()
    cluster = register(caller=admin, wanted=wanted(scene, by_ssh(scene, known)), now=timezone.now())

    with pytest.raises(RegistrationRefused, match="one pgpool, one file"):
        again = replace(wanted(scene, by_ssh(scene, known)), name="Second")
        register(caller=admin, wanted=again, now=timezone.now())
    other = SshKey.objects.get().public_key
    cluster.instances.update(ssh_host_key=other)
    with pytest.raises(weight_change.WeightsRefused, match="presents another host key") as caught:
        weight_change.request_weights(caller=admin, cluster=cluster, weights=WEIGHTS, now=timezone.now())
    assert fingerprint(other) in str(caught.value)
    assert fingerprint(known.host.public) in str(caught.value)


def test_a_file_for_delivery_by_hand_must_be_this_pgpools(scene: Scene, caller: Callable[..., Caller]) -> None:
    admin, conf = caller(), scene.pgpools[0].conf
    assert conf is not None
    text = conf.read_text()
    refusals = {
        "": "give the pgpool.conf as it is now",
        text.replace("port = 9001", "port = 9002"): "this file is another pgpool's",
        text + "!!\n": "cannot read",
        text + "# " + "x" * (1 << 20): "larger than 1 MiB",
    }
    scene.pgpools[0].values["port"] = "9001"
    for given, words in refusals.items():
        with pytest.raises(RegistrationRefused, match=words) as caught:
            register(caller=admin, wanted=wanted(scene, DeliveryWanted("manual", text=given)), now=timezone.now())
        assert list(caught.value.errors) == ["pgpools.0.delivery.text"]

    cluster = register(
        caller=admin, wanted=wanted(scene, DeliveryWanted("manual", text=text, wait_h=2)), now=timezone.now()
    )

    assert PublishedFile.objects.get().text == text
    instance = cluster.instances.get()
    assert instance.longest_wait_h == 2
    # What is published already need not be given again; another way of delivery publishes nothing.
    change_instance(
        caller=admin, instance=instance, changes={"delivery": {"kind": "manual", "path": "", "wait_h": 5}},
        now=timezone.now(),
    )  # fmt: skip
    assert (PublishedFile.objects.get().text, cluster.instances.get().longest_wait_h) == (text, 5)
    change_instance(
        caller=admin, instance=instance, changes={"delivery": {"kind": "observe", "path": ""}}, now=timezone.now()
    )
    assert not PublishedFile.objects.exists()
