"""What empties the cache: tables by how often they are written, by REST and on the page, and what leaves one out."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.clusters.models import Cluster, InstanceConfig, PgpoolInstance, TableSurvey
from tests.clusters.callers_at_doors import browser, script
from tests.query_cache.conftest import RUNNING

pytestmark = pytest.mark.django_db

TABLES = "/api/v1/clusters/orders/cache/tables/"
PAGE = "/o/acme/clusters/orders/cache/"
DRAFT = "/o/acme/clusters/orders/draft/"
UNSAFE = "cache_unsafe_memqcache_table_list"


def surveyed(
    cluster: Cluster, *tables: tuple[str, str, float], database: str = "shop", unlogged: str = ""
) -> TableSurvey:
    """Done: schema, name and rows a second of each; 7,200 rows in an hour since the reset."""
    now = timezone.now()
    rows = [
        {
            "schema": schema, "name": name, "is_unlogged": name == unlogged, "rows_written": 7200, "rows_per_s": rate,
            "rows_per_s_since_reset": 2.0,
        }
        for schema, name, rate in tables
    ]  # fmt: skip
    result = {
        "first_at": (now - timedelta(seconds=10.2)).isoformat(), "second_at": now.isoformat(), "apart_s": 10.2,
        "reset_at": (now - timedelta(hours=1)).isoformat(), "table_count": 37, "written_count": len(rows),
        "tables": rows,
    }  # fmt: skip
    return TableSurvey.objects.create(
        cluster=cluster, database=database, state="done", requested_by_name="Ann", requested_at=now, finished_at=now,
        backend_name="pg1", result=result,
    )  # fmt: skip


def test_before_anybody_asked(cluster: Cluster) -> None:
    viewer = browser("viewer")
    assert viewer.get(TABLES).json() == {
        "latest": None, "reading": None, "databases": [],
        "sentence": "Nobody has asked yet how often any tables of Orders are written.",
    }  # fmt: skip
    page = browser("operator").get(PAGE).content.decode()
    assert "What empties the cache?" in page
    # The database that benchmarks may load is the one to begin with.
    assert 'value="shop"' in page
    assert "Counting writes needs the role operator; you have viewer access." in viewer.get(PAGE).content.decode()


def test_a_survey_is_asked_for_once_and_told_while_it_is_under_way(cluster: Cluster) -> None:
    operator, viewer = script("operator"), browser("viewer")

    answer = operator.post(f"{TABLES}survey/", {})

    body = answer.json()
    assert (answer.status_code, body["database"], body["state"]) == (202, "shop", "pending")
    assert operator.post(f"{TABLES}survey/", {"database": "other"}).json()["id"] == body["id"]
    assert viewer.get(TABLES).json()["sentence"] == "The tables of shop are being read."
    page = viewer.get(f"{PAGE}tables/").content.decode()
    assert "Workers count the writes to shop" in page


def test_who_may_not_ask_and_what_is_refused(cluster: Cluster) -> None:
    viewer, operator = browser("viewer"), browser("operator")
    assert viewer.post(f"{TABLES}survey/", {"database": "shop"}).status_code == 403
    assert viewer.post(f"{PAGE}tables/survey/", {"database": "shop"}).status_code == 403
    refused = operator.post(f"{PAGE}tables/survey/", {"database": "ü" * 40})
    assert (refused.status_code, "at most 63 bytes" in refused.content.decode()) == (422, True)
    odd = operator.post(f"{TABLES}survey/", {"database": "ü" * 40}, content_type="application/json")
    assert (odd.status_code, odd.json()["errors"][0]["field"]) == (400, "database")
    assert operator.get(TABLES, {"database": "x" * 64}).status_code == 400
    assert script("operator", organisation="umbrella").get(TABLES).status_code == 404
    assert not TableSurvey.objects.exists()


def test_what_failed_says_why(cluster: Cluster) -> None:
    TableSurvey.objects.create(
        cluster=cluster, database="shop", state="failed", requested_by_name="Ann", requested_at=timezone.now(),
        error="127.0.0.1:5000 did not list its tables in time",
    )  # fmt: skip

    page = browser("viewer").get(PAGE).content.decode()

    assert "The writes to shop could not be counted." in page
    assert "127.0.0.1:5000 did not list its tables in time" in page


def test_the_tables_written_most_come_first_with_what_leaves_each_out(cluster: Cluster) -> None:
    surveyed(
        cluster, ("public", "order_status", 41.2), ("public", "stock", 6.8), ("public", "session", 3.0),
        ("public", "two words", 1.0), unlogged="session",
    )  # fmt: skip
    InstanceConfig.objects.update(running=RUNNING | {UNSAFE: "stock,public.stock"}, file_text=f"{UNSAFE} = 'stock,a'\n")

    viewer = browser("viewer")

    found = viewer.get(TABLES).json()

    assert found["sentence"] == (
        "public.order_status is written most: 41.2 rows a second in the 10 s that were looked at."
    )
    reading = found["reading"]
    assert (reading["apart_s"], reading["table_count"], reading["written_count"]) == (10.2, 37, 4)
    assert [one["kept"] for one in reading["tables"]] == ["yes", "left_out", "unlogged", "yes"]
    # Behind what the file names, not what pgpool runs.
    assert [one["drafts"] for one in reading["tables"]] == [
        [{"pgpool": None, "parameter": UNSAFE, "value": "stock,a,order_status,public[.]order_status"}], [], [], [],
    ]  # fmt: skip
    page = browser("operator").get(PAGE).content.decode()
    assert 'aria-label="Leave out: order_status"' in page
    assert "of 37 tables of shop on pg1" in page
    assert "one that writes 1,000 rows drops the results of its table once" in page
    assert 'aria-label="Leave out' not in viewer.get(f"{PAGE}tables/").content.decode()


def test_what_is_drafted_already_stays_in_the_list(cluster: Cluster) -> None:
    surveyed(cluster, ("public", "stock", 41.2), ("public", "orders", 6.8))
    person = browser("operator")
    person.post(f"{DRAFT}parameter/", {"name": UNSAFE, "value": "stock,public[.]stock", "instance": ""})

    [stock, orders] = person.get(TABLES).json()["reading"]["tables"]

    assert stock["drafts"] == []
    assert orders["drafts"] == [
        {"pgpool": None, "parameter": UNSAFE, "value": "stock,public[.]stock,orders,public[.]orders"}
    ]


def test_pgpools_with_other_lists_get_a_draft_each(cluster: Cluster) -> None:
    surveyed(cluster, ("public", "stock", 41.2))
    PgpoolInstance.objects.filter(name="pgpool-2").update(version="4.1.2")
    person = browser("operator")

    [stock] = person.get(TABLES).json()["reading"]["tables"]

    assert stock["drafts"] == [
        {"pgpool": "pgpool-1", "parameter": UNSAFE, "value": "stock,public[.]stock"},
        {"pgpool": "pgpool-2", "parameter": "black_memqcache_table_list", "value": "stock,public[.]stock"},
    ]
    page = person.get(PAGE).content.decode()
    assert "Leave out on pgpool-2" in page


def test_a_file_that_nobody_read_and_does_not_run_leaves_nothing_out(cluster: Cluster) -> None:
    surveyed(cluster, ("public", "stock", 41.2))
    known = {name: value for name, value in RUNNING.items() if name != UNSAFE}
    InstanceConfig.objects.filter(instance__name="pgpool-2").update(file_text="", file_sha256="", running=known)

    [stock] = script("operator").get(TABLES).json()["reading"]["tables"]

    assert (stock["kept"], stock["drafts"]) == ("yes", [])


def test_without_a_cache_nothing_is_kept_and_nothing_has_to_be_left_out(cluster: Cluster) -> None:
    surveyed(cluster, ("public", "stock", 41.2))
    InstanceConfig.objects.update(running=RUNNING | {"memory_cache_enabled": "off"})
    person = browser("operator")

    [stock] = person.get(TABLES).json()["reading"]["tables"]

    assert (stock["kept"], stock["drafts"]) == ("off", [])
    assert "no cache is on" in person.get(PAGE).content.decode()


def test_one_database_is_asked_for_by_name(cluster: Cluster) -> None:
    surveyed(cluster, ("public", "stock", 41.2))
    surveyed(cluster, ("public", "events", 0.0), database="analytics")

    viewer = browser("viewer")

    both, shop, none = (
        viewer.get(TABLES, wanted).json() for wanted in ({}, {"database": "shop"}, {"database": "other"})
    )

    assert (both["reading"]["database"], both["databases"]) == ("analytics", ["analytics", "shop"])
    assert both["sentence"] == "No table of analytics was written in the 10 s that were looked at."
    assert shop["reading"]["tables"][0]["name"] == "stock"
    assert (none["reading"], none["sentence"]) == (
        None, "Nobody has asked yet how often the tables of other are written."
    )  # fmt: skip
