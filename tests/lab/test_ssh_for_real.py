"""Real pgpools behind a real sshd and its script: weights there and back; an edit by hand is adopted, or reverted."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import drift_changes, rollouts
from apps.clusters.models import InstanceConfig, PgpoolInstance, SshKey
from deploy.lab import Lab
from tests.clusters.polling_scene import wait_until, watching
from tests.lab.registered import carry_out, register_lab
from tests.lab.test_drift_for_real import edit, look
from tests.lab.test_rollouts_for_real import Registered
from tests.ssh_host import SshHost, ssh_host

pytestmark = pytest.mark.django_db


def deliver_by_ssh(orders: Registered, sshd: SshHost) -> None:
    organisation = orders.cluster.organisation
    SshKey.objects.create(organisation=organisation, private_key=sshd.client.private, public_key=sshd.client.public)
    sshd.authorize(*(Path(pgpool.conf) for pgpool in orders.lab.plan.pgpools))
    for instance in orders.cluster.instances.order_by("name"):
        PgpoolInstance.objects.filter(pk=instance.pk).update(
            delivery_kind="ssh", delivery_target=f"ssh:{organisation.pk}:{sshd.port}:{instance.delivery_target}",
            ssh_host="127.0.0.1", ssh_port=sshd.port, ssh_username=sshd.account.username,
            ssh_host_key=sshd.host.public, pcp_port=None, pcp_username="", pcp_password="",
        )  # fmt: skip


def test_weights_reach_real_pgpools_by_ssh_and_go_back(restored_lab: Lab, settings: Any, tmp_path: Path) -> None:
    orders = Registered(restored_lab, *register_lab(restored_lab, settings))
    before = [Path(pgpool.conf).stat() for pgpool in restored_lab.plan.pgpools]
    with ssh_host(tmp_path / "sshd") as sshd:
        deliver_by_ssh(orders, sshd)

        rollout = orders.advance(orders.request(0, 1, 0))

        assert rollout.state == "verified", orders.story(rollout)
        assert orders.shown_weights() == [[0, 1, 0]] * 3
        assert {step.receipt["reload"]["channel"] for step in rollout.steps.order_by("pk")} == {"signal"}
        back = rollouts.request_rollback(caller=orders.caller, rollout=rollout, now=timezone.now())
        orders.advance(back)

    assert back.state == "verified", orders.story(back)
    assert orders.shown_weights() == [[0, 0.5, 0.5]] * 3
    after = [Path(pgpool.conf).stat() for pgpool in restored_lab.plan.pgpools]
    assert [(each.st_uid, each.st_mode) for each in after] == [(each.st_uid, each.st_mode) for each in before]


def test_an_edit_by_hand_on_a_host_is_seen_over_ssh_adopted_and_reverted(
    restored_lab: Lab, settings: Any, tmp_path: Path, transactional_db: None
) -> None:
    orders = Registered(restored_lab, *register_lab(restored_lab, settings))
    conf = Path(restored_lab.plan.pgpools[1].conf)
    with ssh_host(tmp_path / "sshd") as sshd, watching():
        deliver_by_ssh(orders, sshd)
        wait_until(lambda: InstanceConfig.objects.exclude(running={}).count() == 3, "every pgpool shows its values")
        first = look(orders.cluster, orders.caller)
        assert (first["state"], first["differences"]) == ("in_step", [])

        edit(restored_lab, "sr_check_period = 1", "sr_check_period = 7")
        seen = look(orders.cluster, orders.caller)
        assert seen["sentence"] == "Edited by hand on pgpool-2: sr_check_period 1 → 7."
        edited = conf.read_text(encoding="utf-8")
        adopted = carry_out(
            drift_changes.request_adoption(caller=orders.caller, cluster=orders.cluster, now=timezone.now())
        )
        assert adopted.state == "verified", orders.story(adopted)
        assert conf.read_text(encoding="utf-8") == edited
        wait_until(lambda: look(orders.cluster, orders.caller)["state"] == "in_step", "the new value is seen in use")

        edit(restored_lab, "backend_weight1 = 500", "backend_weight1 = 900")
        seen = look(orders.cluster, orders.caller)
        assert seen["sentence"] == "Edited by hand on pgpool-2: backend_weight1 500 → 900."

        reverted = carry_out(
            drift_changes.request_reversion(
                caller=orders.caller, cluster=orders.cluster, names=["pgpool-2"], now=timezone.now()
            )
        )
        assert reverted.state == "verified", orders.story(reverted)
        assert look(orders.cluster, orders.caller)["state"] == "in_step"
    assert conf.read_text(encoding="utf-8") == edited
