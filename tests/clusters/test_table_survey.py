"""A survey of tables: two samples by whichever worker, of a real PostgreSQL; what stops it is told."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.clusters.control import table_survey
from apps.clusters.control.table_survey import FirstSample, result_of
from apps.clusters.domain.table_writes import TableCount
from apps.clusters.models import Backend, Cluster, TableSurvey
from apps.clusters.outside.table_catalog import TableSample, TablesUnreadable
from tests.clusters.callers_at_doors import member

pytestmark = pytest.mark.django_db

TABLES = """
CREATE SCHEMA survey;
CREATE TABLE survey.stock (id int);
CREATE UNLOGGED TABLE survey.session (id int);
CREATE TABLE survey.visits (day int) PARTITION BY RANGE (day);
CREATE TABLE survey.visits_1 PARTITION OF survey.visits FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (day);
CREATE TABLE survey.visits_1a PARTITION OF survey.visits_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE survey.visits_2 PARTITION OF survey.visits FOR VALUES FROM (10) TO (20);
"""


@pytest.fixture
def server(db: None) -> Iterator[psycopg.Connection[Any]]:
    """Lifeguard's own server stands for a backend; the tables are dropped again."""
    facts = connection.get_connection_params()
    wanted = {name: facts[name] for name in ("dbname", "user", "password", "host", "port") if facts.get(name)}
    with psycopg.connect(**wanted, autocommit=True) as session:
        session.execute("DROP SCHEMA IF EXISTS survey CASCADE")
        session.execute(TABLES)
        yield session
        session.execute("DROP SCHEMA survey CASCADE")


@pytest.fixture
def cluster(server: psycopg.Connection[Any]) -> Cluster:
    info = server.info
    made = Cluster.objects.create(
        organisation=member("operator").organisation, slug="orders", name="Orders", username=info.user,
        password=info.password, primary_node_id=1,
    )  # fmt: skip
    for node_id, port in ((0, 1), (1, info.port)):
        Backend.objects.create(
            cluster=made, node_id=node_id, hostname=info.host, port=port, application_name=f"pg{node_id}"
        )
    return made


def asked(cluster: Cluster, database: str) -> TableSurvey:
    return TableSurvey.objects.create(
        cluster=cluster, database=database, requested_by_name="Ann", requested_at=timezone.now()
    )


def carry_out(survey: TableSurvey) -> TableSurvey:
    table_survey.carry_out(survey_id=survey.pk, holder="worker", now=timezone.now())
    survey.refresh_from_db()
    return survey


def second_is_due(survey: TableSurvey) -> None:
    TableSurvey.objects.filter(pk=survey.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def write(server: psycopg.Connection[Any], statement: str) -> None:
    server.execute(statement)  # type: ignore[call-overload,unused-ignore]  # texts of this file
    # A session tells its counts later, unless it is told to.
    if server.info.server_version >= 150000:
        server.execute("SELECT pg_stat_force_next_flush()")
    server.execute("SELECT 1")


def test_two_samples_give_the_tables_written_most(cluster: Cluster, server: psycopg.Connection[Any]) -> None:
    survey = carry_out(asked(cluster, server.info.dbname))

    # No worker has it until the second sample is due.
    assert (survey.state, survey.lease_holder, table_survey.due_survey_ids()) == ("running", "", [])
    assert survey.lease_expires_at is not None
    write(server, "INSERT INTO survey.stock SELECT generate_series(1, 300)")
    write(server, "UPDATE survey.stock SET id = id WHERE id <= 100; DELETE FROM survey.stock WHERE id <= 50")
    write(server, "INSERT INTO survey.visits SELECT generate_series(0, 19)")
    write(server, "INSERT INTO survey.session VALUES (1)")
    second_is_due(survey)
    assert table_survey.due_survey_ids() == [survey.pk]
    carry_out(survey)

    assert (survey.state, survey.backend_name, survey.error, survey.first_sample) == ("done", "pg1", "", None)
    result = survey.result
    own = {one["name"]: one for one in result["tables"] if one["schema"] == "survey"}
    # 300 inserted + 100 updated + 50 deleted; partitions of partitions are counted for the table that has a name.
    assert {name: one["rows_written"] for name, one in own.items()} == {"stock": 450, "visits": 20, "session": 1}
    assert own["stock"]["rows_per_s"] == pytest.approx(450 / result["apart_s"])
    assert result["reset_at"] < result["first_at"]
    assert 0 < own["stock"]["rows_per_s_since_reset"] < own["stock"]["rows_per_s"]
    assert [one["name"] for one in result["tables"][:2]] == ["stock", "visits"]
    assert [name for name, one in own.items() if one["is_unlogged"]] == ["session"]
    assert result["table_count"] >= 3
    assert len(result["tables"]) <= 20


def test_a_primary_that_is_not_reached_and_a_database_that_is_not_there(cluster: Cluster) -> None:
    survey = carry_out(asked(cluster, "nowhere"))

    assert (survey.state, survey.result) == ("failed", None)
    assert "nowhere" in survey.error
    Backend.objects.filter(node_id=1).delete()
    assert "127.0.0.1:1" in carry_out(asked(cluster, "postgres")).error
    Backend.objects.all().delete()
    assert carry_out(asked(cluster, "postgres")).error == "this cluster has no backend"


def test_the_second_sample_is_of_the_same_backend(cluster: Cluster, server: psycopg.Connection[Any]) -> None:
    survey = carry_out(asked(cluster, server.info.dbname))
    second_is_due(survey)
    Backend.objects.filter(node_id=1).update(node_id=2)

    carry_out(survey)

    assert (survey.state, survey.error) == ("failed", "the backend of the first sample is the primary no more")


def test_a_dead_worker_is_followed_by_another(cluster: Cluster, server: psycopg.Connection[Any]) -> None:
    survey = asked(cluster, server.info.dbname)
    TableSurvey.objects.update(state="running", lease_holder="dead", lease_expires_at=timezone.now() + timedelta(60))
    assert carry_out(survey).lease_holder == "dead"

    second_is_due(survey)

    assert carry_out(survey).first_sample is not None


def test_counters_that_were_reset_between_the_samples_give_no_rate() -> None:
    first_at = timezone.now()
    first: FirstSample = {"node_id": 0, "asked_at": first_at.isoformat(), "rows_written": {"1": 5}}
    tables = [TableCount(1, "public", "stock", is_unlogged=False, rows_written=900)]

    reset = result_of(first, TableSample(first_at + timedelta(seconds=10), first_at + timedelta(seconds=1), tables))
    untold = result_of(first, TableSample(first_at + timedelta(seconds=10), None, tables))

    assert (reset["tables"][0]["rows_per_s"], reset["tables"][0]["rows_per_s_since_reset"]) == (None, 100.0)  # 900 / 9
    assert (untold["tables"][0]["rows_per_s"], untold["tables"][0]["rows_per_s_since_reset"]) == (89.5, None)
    with pytest.raises(TablesUnreadable, match="clock of the backend was set back"):
        result_of(first, TableSample(first_at - timedelta(seconds=1), None, tables))
