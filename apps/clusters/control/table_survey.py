"""How often the tables of a database are written: two samples of the primary, some seconds apart, by whichever worker.

No worker waits between them: the lease of the row is over when the second sample is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypedDict

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import survey_rows
from apps.clusters.domain.table_writes import TableWrites, writes_of
from apps.clusters.models import Backend, Cluster, TableSurvey
from apps.clusters.outside.backend_client import BackendAddress
from apps.clusters.outside.table_catalog import (
    BackendUnreachable,
    NotThePrimary,
    TableSample,
    TablesUnreadable,
    read_tables,
)
from apps.live import events

# Sessions tell their counts about once a second, so that much of it is missing at either end.
APART = timedelta(seconds=10)
READ_DEADLINE_S = 5.0
MOST_BACKENDS_ASKED = 5
KEPT = 20
SHOWN = 20
State = TableSurvey.State


class FirstSample(TypedDict):
    """asked_at: by the backend's clock, in ISO 8601. rows_written: oid, as a text -> rows."""

    node_id: int
    asked_at: str
    rows_written: dict[str, int]


class TableRow(TypedDict):
    """rows_written: since the statistics were reset. Rates are rows a second; null where they are not known."""

    schema: str
    name: str
    is_unlogged: bool
    rows_written: int
    rows_per_s: float | None
    rows_per_s_since_reset: float | None


class TableSurveyResult(TypedDict):
    """Times are those of the backend, in ISO 8601. reset_at: null where PostgreSQL does not tell since when it counts.

    tables: the 20 written most, those of the moment first. table_count: of how many; written_count: of those, the
    ones that were written at all since the reset.
    """

    first_at: str
    second_at: str
    apart_s: float
    reset_at: str | None
    table_count: int
    written_count: int
    tables: list[TableRow]


def request_survey(*, caller: Caller, cluster: Cluster, database: str, now: datetime) -> TableSurvey:
    """A survey that workers carry out; the one that waits or runs already, if there is one. Raises SurveyRefused."""
    caller.require(Role.OPERATOR)
    survey_rows.refuse_odd(database)
    with transaction.atomic():
        if Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first() is None:
            raise Http404(f"The cluster {cluster.slug} was removed meanwhile.")
        survey = cluster.table_surveys.filter(state__in=[State.PENDING, State.RUNNING]).first()
        if survey is None:
            survey = TableSurvey.objects.create(
                cluster=cluster, database=database, requested_by_name=caller.user.shown_name, requested_at=now
            )
        audit.record(
            caller=caller,
            action="tables.survey_requested",
            target_type="cluster",
            target_id=cluster.pk,
            target_name=cluster.slug,
            after={"database": survey.database, "survey": survey.pk},
        )
    return survey


def due_survey_ids() -> list[int]:
    """Those that wait for a worker or for their second sample, and those whose worker died."""
    return survey_rows.due_ids(TableSurvey.objects.all())


def carry_out(*, survey_id: int, holder: str, now: datetime) -> None:
    """Take the sample that is next, and after the second one judge and store."""
    if not survey_rows.take(TableSurvey.objects.all(), survey_id=survey_id, holder=holder):
        return
    survey = TableSurvey.objects.select_related("cluster").get(pk=survey_id)
    first: FirstSample | None = survey.first_sample
    try:
        backend, sample = _read(survey, first)
        result = None if first is None else result_of(first, sample)
    except (BackendUnreachable, TablesUnreadable) as error:
        _finish(survey, holder, state=State.FAILED, error=str(error), first_sample=None, finished_at=now)
        return
    if result is None:
        _own(survey, holder).update(
            first_sample=_first_sample(backend, sample), lease_holder="", lease_expires_at=Now() + APART
        )
        return
    _finish(
        survey, holder, state=State.DONE, error="", backend_name=backend.shown_name[:80],
        first_sample=None, result=result, finished_at=now,
    )  # fmt: skip


def _own(survey: TableSurvey, holder: str) -> QuerySet[TableSurvey]:
    return TableSurvey.objects.filter(pk=survey.pk, state=State.RUNNING, lease_holder=holder)


def _finish(survey: TableSurvey, holder: str, **changes: object) -> None:
    with transaction.atomic():
        _own(survey, holder).update(lease_holder="", lease_expires_at=None, **changes)
        survey_rows.forget_old(survey.cluster.table_surveys.all(), kept=KEPT)
        events.announce(f"cluster.{survey.cluster_id}", "event")


def result_of(first: FirstSample, second: TableSample) -> TableSurveyResult:
    """Raises TablesUnreadable where no time went by between the two."""
    first_at = datetime.fromisoformat(first["asked_at"])
    apart_s = (second.asked_at - first_at).total_seconds()
    if apart_s <= 0:
        raise TablesUnreadable("the clock of the backend was set back between the two samples")
    counted_s = None if second.reset_at is None else (second.asked_at - second.reset_at).total_seconds()
    # What was counted before a reset says nothing of what is counted after it.
    is_reset = second.reset_at is not None and second.reset_at > first_at
    before = {} if is_reset else {int(oid): rows for oid, rows in first["rows_written"].items()}
    found = writes_of(before, second.tables, apart_s=apart_s, counted_s=counted_s)
    return {
        "first_at": first["asked_at"],
        "second_at": second.asked_at.isoformat(),
        "apart_s": apart_s,
        "reset_at": None if second.reset_at is None else second.reset_at.isoformat(),
        "table_count": len(found),
        "written_count": sum(one.rows_written > 0 for one in found),
        "tables": [_row(one) for one in found if one.rows_written][:SHOWN],
    }


def _read(survey: TableSurvey, first: FirstSample | None) -> tuple[Backend, TableSample]:
    """From the primary; the second time from the same one, since another counts from another number."""
    cluster, standby, trouble = survey.cluster, None, None
    for backend in _asked(cluster, first):
        address = BackendAddress(
            backend.asked_host, backend.asked_port, cluster.username, cluster.password, sslmode=cluster.sslmode
        )
        try:
            return backend, asyncio.run(read_tables(address, database=survey.database, deadline_s=READ_DEADLINE_S))
        except NotThePrimary as error:
            standby = error
        except (BackendUnreachable, TablesUnreadable) as error:
            trouble = trouble or error
    if first is not None and trouble is None:
        raise TablesUnreadable("the backend of the first sample is the primary no more")
    raise trouble or standby or TablesUnreadable("this cluster has no backend")


def _asked(cluster: Cluster, first: FirstSample | None) -> Iterator[Backend]:
    backends = list(cluster.backends.order_by("node_id"))
    if first is not None:
        return (one for one in backends if one.node_id == first["node_id"])
    backends.sort(key=lambda one: one.node_id != cluster.primary_node_id)
    return iter(backends[:MOST_BACKENDS_ASKED])


def _first_sample(backend: Backend, sample: TableSample) -> FirstSample:
    return {
        "node_id": backend.node_id,
        "asked_at": sample.asked_at.isoformat(),
        "rows_written": {str(one.oid): one.rows_written for one in sample.tables},
    }


def _row(one: TableWrites) -> TableRow:
    return {
        "schema": one.schema,
        "name": one.name,
        "is_unlogged": one.is_unlogged,
        "rows_written": one.rows_written,
        "rows_per_s": one.rows_per_s,
        "rows_per_s_since_reset": one.rows_per_s_since_reset,
    }
