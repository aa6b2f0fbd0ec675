"""Which functions of a database write: asked for as a row, read from a backend by a worker, judged, kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import NotRequired, TypedDict

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import survey_rows
from apps.clusters.domain.postgres_functions import CATALOG
from apps.clusters.domain.write_functions import VOLATILITIES, Judged, Verdict, judge, propose
from apps.clusters.models import Backend, Cluster, FunctionSurvey
from apps.clusters.outside.backend_client import BackendAddress
from apps.clusters.outside.function_catalog import BackendUnreachable, Catalog, FunctionsUnreadable, read_catalog
from apps.live import events

READ_DEADLINE_S = 5.0
MOST_BACKENDS_ASKED = 5
KEPT = 20
State = FunctionSurvey.State


class FunctionFinding(TypedDict):
    """kind: marked_wrong, could_be_balanced, unreadable or writes. remedy: a statement for its owner, or empty."""

    kind: str
    schema: str
    name: str
    arguments: str
    language: str
    volatility: str
    why: str
    remedy: str


class SurveyResult(TypedDict):
    """write_function_list: null where pgpool had better go on asking the catalog. read: functions that were judged.

    databases: all that the server holds, templates left out; missing in readings of before that was asked.
    """

    read: int
    findings: list[FunctionFinding]
    write_function_list: str | None
    read_only_function_list: str
    unlisted: list[str]
    databases: NotRequired[list[str]]


def request_survey(*, caller: Caller, cluster: Cluster, database: str, now: datetime) -> FunctionSurvey:
    """A survey that a worker carries out; the one that waits or runs already, if there is one. Raises SurveyRefused."""
    caller.require(Role.OPERATOR)
    survey_rows.refuse_odd(database)
    with transaction.atomic():
        if Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first() is None:
            raise Http404(f"The cluster {cluster.slug} was removed meanwhile.")
        survey = cluster.function_surveys.filter(state__in=[State.PENDING, State.RUNNING]).first()
        if survey is None:
            survey = FunctionSurvey.objects.create(
                cluster=cluster, database=database, requested_by_name=caller.user.shown_name, requested_at=now
            )
        audit.record(
            caller=caller,
            action="functions.survey_requested",
            target_type="cluster",
            target_id=cluster.pk,
            target_name=cluster.slug,
            after={"database": survey.database, "survey": survey.pk},
        )
    return survey


def due_survey_ids() -> list[int]:
    """Those that wait for a worker, and those whose worker died."""
    return survey_rows.due_ids(FunctionSurvey.objects.all())


def carry_out(*, survey_id: int, holder: str, now: datetime) -> None:
    """Read, judge and store. Does nothing where another worker has it, or was there first."""
    if not survey_rows.take(FunctionSurvey.objects.all(), survey_id=survey_id, holder=holder):
        return
    survey = FunctionSurvey.objects.select_related("cluster").get(pk=survey_id)
    try:
        backend, catalog = _read(survey)
    except (BackendUnreachable, FunctionsUnreadable) as error:
        _finish(survey, holder, state=State.FAILED, error=str(error), finished_at=now)
        return
    result = result_of(judge(catalog.functions), catalog.databases)
    _finish(
        survey, holder, state=State.DONE, error="", backend_name=backend.shown_name[:80], result=result, finished_at=now
    )


def _read(survey: FunctionSurvey) -> tuple[Backend, Catalog]:
    """From the first backend that answers: all of them hold the same functions."""
    trouble: Exception = FunctionsUnreadable("this cluster has no backend")
    cluster = survey.cluster
    for backend in cluster.backends.order_by("node_id")[:MOST_BACKENDS_ASKED]:
        address = BackendAddress(
            backend.asked_host, backend.asked_port, cluster.username, cluster.password, sslmode=cluster.sslmode
        )
        try:
            found = asyncio.run(read_catalog(address, database=survey.database, deadline_s=READ_DEADLINE_S))
        except (BackendUnreachable, FunctionsUnreadable) as error:
            trouble = error
        else:
            return backend, found
    raise trouble


def _finish(survey: FunctionSurvey, holder: str, **changes: object) -> None:
    own = FunctionSurvey.objects.filter(pk=survey.pk, state=State.RUNNING, lease_holder=holder)
    with transaction.atomic():
        own.update(lease_holder="", lease_expires_at=None, **changes)
        # What pgpool is told is made of the newest reading of every database.
        survey_rows.forget_old(survey.cluster.function_surveys.all(), kept=KEPT)
        events.announce(f"cluster.{survey.cluster_id}", "event")


def result_of(judged: Sequence[Judged], databases: Sequence[str]) -> SurveyResult:
    proposal, own = propose(judged), [one for one in judged if one.function.schema != CATALOG]
    return {
        "read": len(own),
        "findings": [_finding(one, kind) for one in own if (kind := _kind(one))],
        "write_function_list": proposal.write_function_list,
        "read_only_function_list": "",
        "unlisted": list(proposal.unlisted),
        "databases": list(databases),
    }


def _kind(one: Judged) -> str:
    if one.is_marked_wrong:
        return "marked_wrong"
    if one.could_be_balanced:
        return "could_be_balanced"
    if one.verdict is Verdict.UNKNOWN:
        return "unreadable"
    return "writes" if one.verdict is Verdict.WRITES else ""


def _finding(one: Judged, kind: str) -> FunctionFinding:
    function = one.function
    return {
        "kind": kind,
        "schema": function.schema,
        "name": function.name,
        "arguments": function.arguments,
        "language": function.language,
        "volatility": VOLATILITIES[function.volatility],
        "why": one.why,
        "remedy": one.remedy,
    }
