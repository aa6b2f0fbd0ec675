"""A pgpool.conf that somebody else applies: it is published, waited for, and asked after at the real pgpool."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.clusters.control import rollouts
from apps.clusters.models import Rollout
from controlplane.environment import DeliveryDirectory
from deploy.demo.dashboard import cluster_description
from deploy.lab import Lab

pytestmark = pytest.mark.django_db

URL = "/api/v1/clusters/"
FIRST, MOVED = [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]


def advance(rollout: Rollout, *, later_s: int = 0) -> Rollout:
    rollouts.advance(rollout_id=rollout.pk, holder="test", clock=lambda: timezone.now() + timedelta(seconds=later_s))
    rollout.refresh_from_db()
    return rollout


def story(rollout: Rollout) -> list[str]:
    return list(rollout.log.order_by("pk").values_list("text", flat=True))


def states(rollout: Rollout) -> list[str]:
    return list(rollout.steps.order_by("position").values_list("state", flat=True))


def shown_weights(lab: Lab) -> list[list[float]]:
    return [[float(row["lb_weight"]) for row in lab.pgpools.nodes(each)] for each in lab.plan.pgpools]


def test_a_rollout_waits_for_the_file_that_is_applied_by_hand_and_sees_it_in_use(
    restored_lab: Lab, api_client: Callable[..., APIClient], settings: Any
) -> None:
    folders = [Path(pgpool.conf).parent for pgpool in restored_lab.plan.pgpools]
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, folder) for folder in folders]
    second = restored_lab.plan.pgpools[1]
    conf = Path(second.conf)
    first_text = conf.read_text(encoding="utf-8")
    script = api_client("admin")
    description = cluster_description(restored_lab.addresses)
    description["pgpools"][1]["delivery"] = {"kind": "manual", "text": first_text, "wait_h": 1}
    registered = script.post(URL, description, format="json")
    assert registered.status_code == 201, registered.content

    asked = script.put(f"{URL}orders/weights/", {"weights": {"0": 0, "1": 1, "2": 0}}, format="json")
    assert asked.status_code == 202, asked.content
    rollout = advance(Rollout.objects.get(pk=asked.json()["id"]))

    assert (rollout.state, states(rollout)) == ("running", ["verified", "reloaded", "pending"]), story(rollout)
    assert "is published for pgpool-2" in rollout.steps.get(position=1).waiting_for
    assert conf.read_text(encoding="utf-8") == first_text
    assert shown_weights(restored_lab) == [MOVED, FIRST, FIRST]

    published = script.get(f"{URL}orders/instances/pgpool-2/published/").content.decode()
    assert "backend_weight1 = 1" in published
    restored_lab.account.file(conf, published)
    restored_lab.pgpools.reload(second)
    advance(rollout, later_s=10)

    assert rollout.state == "verified", story(rollout)
    assert shown_weights(restored_lab) == [MOVED] * 3
    assert conf.read_text(encoding="utf-8") == published
