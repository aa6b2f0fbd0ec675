"""Each address of benchmarks that changes something, what the audit trail calls that, and a request for it."""

from collections.abc import Callable

from django.http import HttpResponse

from apps.benchmarks.domain.cache_sql import LOOK_UP
from tests.controlplane.write_world import LOAD, World

BENCHMARKS = "/o/acme/benchmarks/"
CAMPAIGNS = "/api/v1/benchmarks/campaigns/"
ENDPOINTS = "/api/v1/clusters/orders/endpoints/"

BENCHMARK_WRITES: dict[tuple[str, str], tuple[str, Callable[[World], HttpResponse]]] = {
    ("POST", "benchmark-access"): (
        "benchmarks.access.change",
        lambda w: w.post("benchmark-access", w.load_allowed(), slug="orders"),
    ),
    ("POST", "run-start"): (
        "benchmarks.run.requested",
        lambda w: w.browser.post("/o/acme/benchmarks/new/?cluster=orders", w.loadable()),
    ),
    ("PUT", "api-cluster-benchmarks"): (
        "benchmarks.access.change",
        lambda w: w.script.put("/api/v1/clusters/orders/benchmarks/", {"is_on": False, **LOAD}, format="json"),
    ),
    ("POST", "api-runs"): (
        "benchmarks.run.requested",
        lambda w: w.script.post("/api/v1/benchmarks/runs/", w.loadable(), format="json"),
    ),
    ("POST", "api-comparisons"): (
        "benchmarks.comparison.requested",
        lambda w: w.script.post("/api/v1/benchmarks/comparisons/", w.comparable(), format="json"),
    ),
    ("POST", "api-comparison-stop"): (
        "benchmarks.comparison.stopped",
        lambda w: w.script.post(f"/api/v1/benchmarks/comparisons/{w.comparison()}/stop/"),
    ),
    ("POST", "run-stop"): ("benchmarks.run.stopped", lambda w: w.post("run-stop", pk=w.run())),
    ("POST", "api-imports"): (
        "benchmarks.import.taken",
        lambda w: w.script.post("/api/v1/benchmarks/imports/", {"example": "spqr_router"}, format="json"),
    ),
    ("DELETE", "api-import"): (
        "benchmarks.import.removed",
        lambda w: w.script.delete(f"/api/v1/benchmarks/imports/{w.imported()}/"),
    ),
    ("POST", "api-campaigns"): (
        "benchmarks.campaign.created",
        lambda w: w.script.post(CAMPAIGNS, w.repeatable(), format="json"),
    ),
    ("PATCH", "api-campaign"): (
        "benchmarks.campaign.paused",
        lambda w: w.script.patch(f"{CAMPAIGNS}{w.campaign()}/", {"is_paused": True}, format="json"),
    ),
    ("DELETE", "api-campaign"): (
        "benchmarks.campaign.removed",
        lambda w: w.script.delete(f"{CAMPAIGNS}{w.campaign()}/"),
    ),
    ("POST", "api-campaign-rounds"): (
        "benchmarks.campaign.begun",
        lambda w: w.script.post(f"{CAMPAIGNS}{w.campaign()}/rounds/"),
    ),
    ("POST", "comparison-new"): (
        "benchmarks.comparison.requested",
        lambda w: w.browser.post(f"{BENCHMARKS}comparisons/new/?cluster=orders", w.comparable_typed()),
    ),
    ("POST", "comparison-pick"): (
        "benchmarks.comparison.picked",
        lambda w: w.post("comparison-pick", {"run": w.measured_runs()}),
    ),
    ("POST", "campaign-new"): (
        "benchmarks.campaign.created",
        lambda w: w.browser.post(
            f"{BENCHMARKS}campaigns/new/?cluster=orders",
            {**w.comparable_typed(), "name": "Nightly", "cron": "0 2 * * *", "window_min": 60, "budget_min": 60},
        ),
    ),
    ("POST", "campaign-pause"): (
        "benchmarks.campaign.paused",
        lambda w: w.post("campaign-pause", pk=w.campaign()),
    ),
    ("POST", "campaign-resume"): (
        "benchmarks.campaign.resumed",
        lambda w: w.post("campaign-resume", pk=w.campaign(is_paused=True)),
    ),
    ("POST", "campaign-begin"): (
        "benchmarks.campaign.begun",
        lambda w: w.post("campaign-begin", pk=w.campaign()),
    ),
    ("POST", "campaign-remove"): (
        "benchmarks.campaign.removed",
        lambda w: w.post("campaign-remove", pk=w.campaign()),
    ),
    ("POST", "import-list"): (
        "benchmarks.import.taken",
        lambda w: w.post("import-list", {"example": "spqr_router"}),
    ),
    ("POST", "import-remove"): (
        "benchmarks.import.removed",
        lambda w: w.post("import-remove", pk=w.imported()),
    ),
    ("POST", "comparison-stop"): (
        "benchmarks.comparison.stopped",
        lambda w: w.post("comparison-stop", pk=w.comparison()),
    ),
    ("POST", "api-run-stop"): (
        "benchmarks.run.stopped",
        lambda w: w.script.post(f"/api/v1/benchmarks/runs/{w.run()}/stop/"),
    ),
    ("POST", "api-endpoints"): (
        "benchmarks.endpoint.added",
        lambda w: w.script.post(ENDPOINTS, {"name": "bouncer-1", "host": "127.0.0.1", "port": 6432}, format="json"),
    ),
    ("PATCH", "api-endpoint"): (
        "benchmarks.endpoint.changed",
        lambda w: w.script.patch(f"{ENDPOINTS}{w.endpoint().name}/", {"port": 6433}, format="json"),
    ),
    ("DELETE", "api-endpoint"): (
        "benchmarks.endpoint.removed",
        lambda w: w.script.delete(f"{ENDPOINTS}{w.endpoint().name}/"),
    ),
    ("POST", "endpoint-list"): (
        "benchmarks.endpoint.added",
        lambda w: w.post("endpoint-list", w.endpoint_typed(name="bouncer-1"), slug="orders"),
    ),
    ("POST", "endpoint-change"): (
        "benchmarks.endpoint.changed",
        lambda w: w.post("endpoint-change", w.endpoint_typed(), slug="orders", pk=w.endpoint().pk),
    ),
    ("POST", "endpoint-remove"): (
        "benchmarks.endpoint.removed",
        lambda w: w.post("endpoint-remove", slug="orders", pk=w.endpoint().pk),
    ),
    ("POST", "cluster-cache-tables-survey"): (
        "tables.survey_requested",
        lambda w: w.post("cluster-cache-tables-survey", {"database": "shop"}, slug="orders"),
    ),
    ("POST", "api-cache-tables-survey"): (
        "tables.survey_requested",
        lambda w: w.script.post("/api/v1/clusters/orders/cache/tables/survey/", {"database": "shop"}),
    ),
    ("POST", "api-calibrations"): (
        "benchmarks.run.requested",
        lambda w: w.script.post("/api/v1/clusters/orders/cache/calibrations/", w.calibratable(), format="json"),
    ),
    ("POST", "cluster-cache"): (
        "benchmarks.run.requested",
        lambda w: w.post("cluster-cache", w.calibratable() | {"sql": LOOK_UP, "hot_keys": 100}, slug="orders"),
    ),
}
