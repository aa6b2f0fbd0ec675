"""The newest survey of a cluster's functions, for the page and the REST interface."""

from datetime import datetime
from typing import TypedDict

from apps.clusters.control.function_survey import SurveyResult
from apps.clusters.models import Cluster, FunctionSurvey

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


class FunctionsAnswer(TypedDict):
    """latest: the newest survey; shown: the newest one that was done, whose result still counts. Null without any."""

    latest: SurveyAnswer | None
    shown: SurveyAnswer | None


def functions_answer(*, cluster: Cluster) -> FunctionsAnswer:
    surveys = cluster.function_surveys.order_by("-pk")
    return {"latest": _answer(surveys.first()), "shown": _answer(surveys.filter(state=State.DONE).first())}


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
