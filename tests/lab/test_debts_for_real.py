"""A real pgpool is dead while a revision is rolled out: it owes it, returns, and is given it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import debt_settlement
from apps.clusters.models import InstanceLatest, Rollout
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.clusters.polling_scene import watching
from tests.lab.registered import carry_out, register_lab

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_dead_pgpool_owes_a_revision_and_is_given_it_when_it_returns(
    restored_lab: Lab, settings: Any, transactional_db: None, wait_until: Callable[..., None]
) -> None:
    lab, (cluster, _) = restored_lab, register_lab(restored_lab, settings)
    operator = script("operator")
    orders = "/api/v1/clusters/orders/"
    dead = lab.plan.pgpools[2]
    before = Path(dead.conf).read_text(encoding="utf-8")

    lab.kill("pgpool-3")
    plan = {"strategy": "all_at_once", "absent": "owe"}
    asked = operator.put(f"{orders}weights/", {"weights": {"0": 0, "1": 1, "2": 3}, "plan": plan}, format="json")
    assert asked.status_code == 202, asked.json()
    rollout = carry_out(Rollout.objects.get(pk=asked.json()["id"]))

    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    answer = operator.get(f"/api/v1/rollouts/{rollout.pk}/").json()
    assert [step["state"] for step in answer["steps"]] == ["verified", "verified", "owed"]
    assert Path(dead.conf).read_text(encoding="utf-8") == before
    [owed] = operator.get(f"{orders}debts/").json()["open"]
    assert (owed["instance"], owed["revision"], owed["is_back"]) == ("pgpool-3", answer["revision"], False)

    lab.start("pgpool-3")
    with watching():
        seen = InstanceLatest.objects.filter(instance__name="pgpool-3", state="answering")
        wait_until(lambda: seen.filter(answered_at__gt=rollout.finished_at).exists(), "pgpool-3 answers again")
        debt_settlement.settle_returned(now=timezone.now())
    settlement = carry_out(cluster.rollouts.latest("pk"))

    assert settlement.settles_id == owed["id"]
    assert settlement.state == "verified", list(settlement.log.values_list("text", flat=True))
    assert [float(row["lb_weight"]) for row in lab.pgpools.nodes(dead)] == [0, 0.25, 0.75]
    answer = operator.get(f"{orders}debts/").json()
    assert answer["open"] == []
    assert answer["closed"][0]["sentence"] == f"pgpool-3 returned and was given revision {owed['revision']}."
