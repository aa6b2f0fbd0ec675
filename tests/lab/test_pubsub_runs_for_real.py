"""Pub/sub messaging as a benchmark run by REST, against the real cluster."""

import pytest
from django.utils import timezone

from apps.benchmarks.control import run_engine
from apps.benchmarks.models import BenchmarkRun
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/api/v1/benchmarks/runs/"
MESSAGING = {"writers": 2, "groups": 2, "readers_per_group": 2, "partitions": 2, "throttle_per_s": 300}


def test_messaging_through_all_pgpools_is_run_by_rest_and_accounts_for_every_message(loadable: Lab) -> None:
    wish = {
        "cluster": "orders", "workload": "pubsub", "topology": "pgpools", "clients": 6, "duration_s": 2,
        "warm_up_s": 1, "parameters": MESSAGING,
    }  # fmt: skip
    answer = script("operator").post(RUNS, wish, format="json")
    assert answer.status_code == 202, answer.content
    run = BenchmarkRun.objects.get(pk=answer.json()["id"])

    run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)

    body = script("viewer").get(f"{RUNS}{run.pk}/").json()
    assert (body["state"], body["error"], body["is_partial"]) == ("done", "", False)
    own = body["own"]["pgpools"]
    assert own["is_complete"]
    assert [group["received"] for group in own["groups"]] == [own["published_in_all"]] * 2
    assert 0 < body["latency_ms"]["p50"] <= body["latency_ms"]["p99"]
    assert body["tps"] == own["published_per_s"] > 0
    checks = {one["check"]: one["ok"] for one in body["findings"]}
    assert (checks["exactly_once"], checks["all_read"], "littles_law" in checks) == (True, True, False)
    assert [one["name"] for one in body["outputs"]] == ["preparation", "warm-up", "pgpools"]
    assert [one["at_s"] for one in body["samples"]] == [1, 2]
    assert loadable.addresses["app"]["password"] not in str(body)
    with loadable.backends.connect(loadable.backends.primary, "shop") as superuser:
        left = superuser.execute("SELECT count(*) FROM lifeguard_pubsub_messages_0").fetchone()
    assert left == (0,)
