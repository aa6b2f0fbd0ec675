"""Weights that differ per pgpool on purpose, as two AZs want them: real pgpools use them, and they are no drift."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import drift_changes
from apps.clusters.models import InstanceConfig, Rollout
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.clusters.polling_scene import watching
from tests.lab.registered import carry_out, register_lab
from tests.lab.test_drift_for_real import edit, look
from tests.sessions import reads_from, session

pytestmark = pytest.mark.django_db(transaction=True)

OWN = {
    "pgpool-1": {"0": 0, "1": 1, "2": 0},
    "pgpool-2": {"0": 0, "1": 0, "2": 1},
    "pgpool-3": {"0": 0, "1": 1, "2": 3},
}
SHOWN = [[0, 1, 0], [0, 0, 1], [0, 0.25, 0.75]]
SESSIONS = 4


def test_each_real_pgpool_balances_by_weights_of_its_own(
    restored_lab: Lab, settings: Any, wait_until: Callable[..., None]
) -> None:
    cluster, caller = register_lab(restored_lab, settings)
    operator = script("operator")

    asked = operator.put("/api/v1/clusters/orders/weights/", {"per_instance": OWN}, format="json")
    assert asked.status_code == 202, asked.content
    rollout = carry_out(Rollout.objects.get(pk=asked.json()["id"]))

    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    assert shown(restored_lab) == SHOWN
    for pgpool, backend in zip(restored_lab.plan.pgpools[:2], (1, 2), strict=True):
        for _ in range(SESSIONS):
            with session(restored_lab, pgpool) as connection:
                assert reads_from(connection) == backend

    with watching():
        wait_until(lambda: InstanceConfig.objects.exclude(running={}).count() == 3, "every pgpool shows its values")
        assert look(cluster, caller)["state"] == "in_step"
        edit(restored_lab, "backend_weight2 = 1 ", "backend_weight2 = 7 ")
        [only] = look(cluster, caller)["differences"]
        assert (only["instance"], only["parameter"]) == ("pgpool-2", "backend_weight2")

        taken = drift_changes.request_reversion(caller=caller, cluster=cluster, names=["pgpool-2"], now=timezone.now())
        assert carry_out(taken).state == "verified"
        assert look(cluster, caller)["state"] == "in_step"
    assert "backend_weight2 = 1 " in Path(restored_lab.plan.pgpools[1].conf).read_text(encoding="utf-8")
    assert shown(restored_lab) == SHOWN


def shown(lab: Lab) -> list[list[float]]:
    return [[float(row["lb_weight"]) for row in lab.pgpools.nodes(pgpool)] for pgpool in lab.plan.pgpools]
