"""Benchmark runs against the lab, asked for by REST and carried out here."""

from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from apps.benchmarks.control import run_engine
from apps.benchmarks.models import BenchmarkRun

COMPARISONS = "/api/v1/benchmarks/comparisons/"
RUNS = "/api/v1/benchmarks/runs/"


def asked(operator: APIClient, **changes: Any) -> BenchmarkRun:
    """A run of one client and two seconds, unless told."""
    wish = {
        "cluster": "orders", "workload": "pgbench-select-only", "topology": "primary", "clients": 1, "duration_s": 2,
        "parameters": {"scale": 1}, **changes,
    }  # fmt: skip
    answer = operator.post(RUNS, wish, format="json")
    assert answer.status_code == 202, answer.content
    return BenchmarkRun.objects.get(pk=answer.json()["id"])


def carried_out(run: BenchmarkRun) -> BenchmarkRun:
    run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
    run.refresh_from_db()
    return run
