"""The newest survey of a cluster's functions, for the page and the REST interface."""

from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TypedDict

from django.db.models import QuerySet

from apps.clusters.control.function_survey import SurveyResult
from apps.clusters.domain import function_verdict
from apps.clusters.domain.function_verdict import Marks
from apps.clusters.models import Cluster, FunctionSurvey
from apps.clusters.queries.function_proposal import (
    FunctionProposal,
    existing_databases,
    function_proposal,
    newest_results,
)
from apps.clusters.queries.trusted_functions import TrustedAnswer, trusted_answer

DEFAULT_DATABASE = "postgres"
State = FunctionSurvey.State


class SurveyAnswer(TypedDict):
    """state: pending, running, done or failed. error: why it failed. backend: the one that was read."""

    id: int
    database: str
    state: str
    requested_by: str
    requested_at: datetime
    finished_at: datetime | None
    backend: str
    error: str
    result: SurveyResult | None


class DatabaseReading(TypedDict):
    """The newest reading of one database. read: functions of its own that were looked at."""

    database: str
    backend: str
    read: int
    read_at: datetime | None


class FunctionsAnswer(TypedDict):
    """latest: the newest survey; shown: the newest one that was done, whose result still counts. Null without any.

    verdict: not_read, nothing_to_mark, unclear (some could not be read), right or wrong; sentence says it, of the
    database of shown. reading: what was read, or why nothing was. databases: the newest reading of each that is still
    there, latest first.
    proposal: what pgpool can be told, for all of them together. trusted: those of all of them that could not be read
    and go to standbys by their mark alone.
    """

    latest: SurveyAnswer | None
    shown: SurveyAnswer | None
    verdict: str
    sentence: str
    reading: str
    databases: list[DatabaseReading]
    proposal: FunctionProposal
    trusted: TrustedAnswer


def functions_answer(*, cluster: Cluster) -> FunctionsAnswer:
    surveys = cluster.function_surveys.order_by("-pk")
    latest, shown = surveys.first(), surveys.filter(state=State.DONE).first()
    existing = existing_databases(cluster=cluster)
    databases = _databases(surveys, existing)
    if shown is None or shown.result is None:
        verdict, sentence = Marks.NOT_READ, f"The functions of {cluster.name} have not been read yet."
    else:
        verdict, sentence = _verdict(shown.database, shown.result)
    return {
        "latest": _answer(latest),
        "shown": _answer(shown),
        "verdict": verdict.value,
        "sentence": sentence,
        "reading": _reading(latest, databases),
        "databases": databases,
        "proposal": function_proposal(cluster=cluster),
        "trusted": trusted_answer(newest_results(cluster=cluster, existing=existing)),
    }


def _verdict(database: str, result: SurveyResult) -> tuple[Marks, str]:
    read, unreadable = result["read"], sum(one["kind"] == "unreadable" for one in result["findings"])
    is_list_proposed = result["write_function_list"] is not None
    found = function_verdict.marks(read=read, unreadable=unreadable, is_list_proposed=is_list_proposed)
    return found, function_verdict.sentence(found, database, read=read, unreadable=unreadable)


def _databases(surveys: QuerySet[FunctionSurvey], existing: AbstractSet[str] | None) -> list[DatabaseReading]:
    """Without the results, which are long. existing: None where it is not known."""
    found: dict[str, DatabaseReading] = {}
    done = surveys.filter(state=State.DONE, result__isnull=False)
    for database, backend, read, read_at in done.values_list("database", "backend_name", "result__read", "finished_at"):
        if existing is None or database in existing:
            found.setdefault(database, {"database": database, "backend": backend, "read": read, "read_at": read_at})
    return list(found.values())


def _reading(latest: FunctionSurvey | None, databases: list[DatabaseReading]) -> str:
    if databases:
        count = sum(one["read"] for one in databases)
        names = [one["database"] for one in databases]
        where = names[0] if len(names) == 1 else f"{len(names)} databases"
        return f"Read {count} function{'' if count == 1 else 's'} of {where}."
    if latest is None:
        return "Not read yet: nobody has asked for a survey."
    if latest.state == State.FAILED:
        return f"Not read yet: {latest.database} could not be read."
    return f"Not read yet: a worker is about to read {latest.database}."


def survey_answer(survey: FunctionSurvey) -> SurveyAnswer:
    return {
        "id": survey.pk,
        "database": survey.database,
        "state": survey.state,
        "requested_by": survey.requested_by_name,
        "requested_at": survey.requested_at,
        "finished_at": survey.finished_at,
        "backend": survey.backend_name,
        "error": survey.error,
        "result": survey.result,
    }


def _answer(survey: FunctionSurvey | None) -> SurveyAnswer | None:
    return None if survey is None else survey_answer(survey)
