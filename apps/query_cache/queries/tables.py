"""Which tables empty a cluster's caches: the newest survey of how often they are written, and what leaves them out."""

from __future__ import annotations

from datetime import datetime

from apps.accounts.access import Caller
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.control import draft_rows
from apps.clusters.control.draft_rows import Draft
from apps.clusters.control.table_survey import TableRow, TableSurveyResult
from apps.clusters.models import Cluster, PgpoolInstance, TableSurvey
from apps.clusters.queries.functions import DEFAULT_DATABASE
from apps.clusters.queries.standing import Standing, standing
from apps.query_cache.domain.settings import settings_of
from apps.query_cache.domain.table_lists import names_both_ways
from apps.query_cache.queries.draft_wishes import instances_of, leaving_out, running_of, wishes, with_cache
from apps.query_cache.queries.table_shapes import TableAnswer, TableReading, TablesAnswer, TableSurveyAnswer

State = TableSurvey.State


def tables_answer(*, caller: Caller, cluster: Cluster, database: str | None = None) -> TablesAnswer:
    """database: only what is known of this one. The cluster is one of the caller's."""
    surveys = cluster.table_surveys.order_by("-pk")
    if database is not None:
        surveys = surveys.filter(database=database)
    latest = surveys.defer("first_sample", "result").first()
    done = surveys.filter(state=State.DONE, result__isnull=False).defer("first_sample").first()
    reading = None if done is None or done.result is None else _reading(caller, cluster, done, done.result)
    return {
        "latest": None if latest is None else survey_answer(latest),
        "reading": reading,
        "databases": _databases(cluster),
        "sentence": _sentence(cluster, latest, reading, database),
    }


def survey_answer(survey: TableSurvey) -> TableSurveyAnswer:
    return {
        "id": survey.pk,
        "database": survey.database,
        "state": survey.state,
        "requested_by": survey.requested_by_name,
        "requested_at": survey.requested_at,
        "finished_at": survey.finished_at,
        "backend": survey.backend_name,
        "error": survey.error,
    }


def default_database(*, cluster: Cluster) -> str:
    """The one that was asked for latest, else the one that loads read, else what every server has."""
    latest = cluster.table_surveys.order_by("-pk").values_list("database", flat=True).first()
    load = BenchmarkAccess.objects.filter(cluster=cluster).values_list("database", flat=True).first()
    return latest or load or DEFAULT_DATABASE


def _databases(cluster: Cluster) -> list[str]:
    done = cluster.table_surveys.filter(state=State.DONE).order_by("-pk").values_list("database", flat=True)
    return list(dict.fromkeys(done))


def _reading(caller: Caller, cluster: Cluster, survey: TableSurvey, result: TableSurveyResult) -> TableReading:
    instances, draft = instances_of(cluster), draft_rows.find(caller, cluster)
    stands, reset_at = standing(cluster=cluster, draft=draft), result["reset_at"]
    return {
        "database": survey.database,
        "backend": survey.backend_name,
        "first_at": datetime.fromisoformat(result["first_at"]),
        "second_at": datetime.fromisoformat(result["second_at"]),
        "apart_s": result["apart_s"],
        "reset_at": None if reset_at is None else datetime.fromisoformat(reset_at),
        "table_count": result["table_count"],
        "written_count": result["written_count"],
        "tables": [_table(row, instances, stands, draft) for row in result["tables"]],
    }


def _table(row: TableRow, instances: list[PgpoolInstance], stands: Standing, draft: Draft) -> TableAnswer:
    schema, name = row["schema"], row["name"]
    kept = kept_of(row, instances)
    changes = leaving_out(instances, [(schema, name)], stands) if kept == "yes" else []
    return {
        "schema": schema,
        "name": name,
        "is_unlogged": row["is_unlogged"],
        "rows_written": row["rows_written"],
        "rows_per_s": row["rows_per_s"],
        "rows_per_s_since_reset": row["rows_per_s_since_reset"],
        "kept": kept,
        "drafts": wishes(changes, names=[one.name for one in instances], draft=draft),
    }


def kept_of(row: TableRow, instances: list[PgpoolInstance]) -> str:
    """As TableAnswer has it: what the pgpools run, whatever is drafted."""
    on = [settings_of(running_of(one)) for one in with_cache(instances)]
    if not on:
        return "off"
    if all(names_both_ways(one.unsafe_tables, row["schema"], row["name"]) for one in on):
        return "left_out"
    if row["is_unlogged"] and not any(names_both_ways(one.safe_tables, row["schema"], row["name"]) for one in on):
        return "unlogged"
    return "yes"


def _sentence(cluster: Cluster, latest: TableSurvey | None, reading: TableReading | None, database: str | None) -> str:
    if reading is not None:
        return _found(reading)
    what = f"the tables of {database}" if database else f"any tables of {cluster.name}"
    if latest is None:
        return f"Nobody has asked yet how often {what} are written."
    if latest.state == State.FAILED:
        return f"How often the tables of {latest.database} are written could not be read."
    return f"The tables of {latest.database} are being read."


def _found(reading: TableReading) -> str:
    now = [one for one in reading["tables"] if one["rows_per_s"]]
    if now:
        first = now[0]
        return (
            f"{first['schema']}.{first['name']} is written most: {first['rows_per_s']:,.1f} rows a second in the "
            f"{reading['apart_s']:.0f} s that were looked at."
        )
    if reading["tables"]:
        return f"No table of {reading['database']} was written in the {reading['apart_s']:.0f} s that were looked at."
    return f"No table of {reading['database']} was written since PostgreSQL counts."
