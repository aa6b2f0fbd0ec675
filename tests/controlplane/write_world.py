"""A scene in which everything that writes can be asked for."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.tokens import create_token
from apps.benchmarks.control import imports, runs
from apps.benchmarks.models import BenchmarkAccess, BenchmarkCampaign, BenchmarkEndpoint, BenchmarkRun
from apps.clusters.control import backend_operations, restarts, rollout_holds, rollouts
from apps.clusters.control.weight_change import request_weights
from apps.clusters.models import BackendOperation, Cluster, InstanceConfig, PgpoolInstance, RevisionDebt, Rollout
from tests.clusters.registration_scene import SECRET, Scene

# How a benchmark signs in.
LOAD = {"database": "shop", "username": "app", "password": SECRET}


@dataclass(frozen=True)
class World:
    """A cluster of two pgpools, a third one that is not registered, and an admin in a browser and as a script."""

    scene: Scene
    cluster: Cluster
    caller: Any
    browser: Client
    script: APIClient

    @property
    def first(self) -> PgpoolInstance:
        return self.cluster.instances.get(name="pgpool-1")

    @property
    def token_id(self) -> int:
        now = timezone.now()
        ends = now + timedelta(days=1)
        return create_token(caller=self.caller, name="to revoke", scope="read", expires_at=ends, now=now)[0].pk

    def rollout(self) -> Rollout:
        weights = {"0": 0, "1": 1, "2": 3}
        return request_weights(caller=self.caller, cluster=self.cluster, weights=weights, now=timezone.now())

    def paused_rollout(self) -> Rollout:
        return rollout_holds.pause(caller=self.caller, rollout=self.rollout(), now=timezone.now())

    def backend(self, kind: str) -> int:
        """A backend that it can be done to: detach and drain a standby, attach a primary that every pgpool has down."""
        if kind != "attach":
            return 2
        own = settings.DATABASES["default"]
        for fake in self.scene.pgpools:
            fake.username, fake.password = own["USER"], own["PASSWORD"]
            fake.backends[0].status = "down"
        self.cluster.username, self.cluster.password = own["USER"], own["PASSWORD"]
        self.cluster.save()
        self.cluster.backends.filter(node_id=0).update(direct_host=own["HOST"], direct_port=int(own["PORT"]))
        return 0

    def drain(self) -> int:
        """One that waits for sessions."""
        backend = self.cluster.backends.get(node_id=2)
        found = backend_operations.request(
            caller=self.caller, cluster=self.cluster, backend=backend, kind="drain", now=timezone.now()
        )
        BackendOperation.objects.update(state="waiting")
        return found.pk

    def restart(self) -> int:
        return restarts.request(caller=self.caller, cluster=self.cluster, names=["pgpool-1"], now=timezone.now()).pk

    def loadable(self) -> dict[str, Any]:
        """A run that can be asked for, as REST takes it."""
        BenchmarkAccess.objects.create(cluster=self.cluster, is_on=True, **LOAD)
        Cluster.objects.filter(pk=self.cluster.pk).update(primary_node_id=0)
        wish = {"workload": "pgbench-select-only", "topology": "primary", "clients": 1, "duration_s": 1}
        return {"cluster": "orders", **wish}

    def calibratable(self) -> dict[str, Any]:
        """A calibration that can be asked for, as REST takes it."""
        self.loadable()
        instance = self.cluster.instances.order_by("name")[0]
        facts = {"file_text": "port = 9999\n", "file_sha256": "0" * 64}
        InstanceConfig.objects.update_or_create(instance=instance, defaults=facts)
        return {"storage": "shmem", "clients": 1, "duration_s": 60}

    def load_allowed(self) -> dict[str, Any]:
        """As the page sends it."""
        return {"is_on": "on", **LOAD, "most_clients": 4, "most_duration_s": 60, "queue": "bench"}

    def run(self) -> int:
        wish = self.loadable()
        del wish["cluster"]
        self.cluster.refresh_from_db()
        return runs.request(caller=self.caller, cluster=self.cluster, **wish).pk

    def measured_runs(self) -> list[int]:
        """Two that can be compared."""
        first = BenchmarkRun.objects.get(pk=self.run())
        second = BenchmarkRun.objects.create(
            cluster=first.cluster, workload=first.workload, topology="pgpools", clients=2, threads=1, duration_s=1,
        )  # fmt: skip
        BenchmarkRun.objects.update(state="done", tps=100.0)
        return [first.pk, second.pk]

    def comparable(self) -> dict[str, Any]:
        """A comparison that can be asked for, as REST takes it."""
        run = self.loadable()
        arms = [{"topology": run.pop("topology")}, {"topology": "pgpools", "clients": 2}]
        return {"cluster": run.pop("cluster"), "common": run, "arms": arms, "repetitions": 2}

    def comparison(self) -> int:
        answer = self.script.post("/api/v1/benchmarks/comparisons/", self.comparable(), format="json")
        return int(answer.json()["id"])

    def repeatable(self) -> dict[str, Any]:
        """A campaign that can be asked for, as REST takes it."""
        return {**self.comparable(), "name": "Nightly", "cron": "0 2 * * *", "window_min": 60, "budget_min": 60}

    def campaign(self, *, is_paused: bool = False) -> int:
        answer = self.script.post("/api/v1/benchmarks/campaigns/", self.repeatable(), format="json")
        pk = int(answer.json()["id"])
        BenchmarkCampaign.objects.filter(pk=pk).update(is_paused=is_paused)
        return pk

    def comparable_typed(self) -> dict[str, Any]:
        """The same as people fill it in."""
        self.loadable()
        return {"topology": ["primary", "pgpools"], "repetitions": 2, "clients": 2, "duration_s": 1}

    def endpoint(self) -> BenchmarkEndpoint:
        return BenchmarkEndpoint.objects.create(cluster=self.cluster, name="bouncer-1", host="127.0.0.1", port=6432)

    def endpoint_typed(self, **given: Any) -> dict[str, Any]:
        """As people fill it in."""
        return {"host": "127.0.0.1", "port": 6433, "kind": "pooler", "takes_writes": "on", **given}

    def imported(self) -> int:
        return imports.take_example(caller=self.caller, key="spqr_router").pk

    def finished_rollout(self) -> Rollout:
        rollout = self.rollout()
        rollouts.advance(rollout_id=rollout.pk, holder="worker", clock=timezone.now)
        rollout.refresh_from_db()
        assert rollout.state == Rollout.State.VERIFIED
        return rollout

    def debt(self) -> int:
        """pgpool-2 owes what it was given."""
        step = self.finished_rollout().steps.get(instance_name="pgpool-2")
        return RevisionDebt.objects.create(
            instance=self.cluster.instances.get(name="pgpool-2"), step=step, on_return="ask", owed_at=timezone.now()
        ).pk

    def post(self, name: str, given: dict[str, Any] | None = None, **parameters: Any) -> HttpResponse:
        address = reverse(name, kwargs={"organisation": "acme", **parameters})
        return self.browser.post(address, given or {})
