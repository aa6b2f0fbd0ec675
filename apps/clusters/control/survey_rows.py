"""The rows of surveys: which database may be asked for, which wait for a worker, and who has one."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.clusters.models.survey import Survey

# Longer than any step of a survey takes; a dead worker's survey waits this long.
LEASE = timedelta(seconds=60)
LONGEST_DATABASE = 63
State = Survey.State
AnySurvey = TypeVar("AnySurvey", bound=Survey)


class SurveyRefused(ValueError):
    """This database cannot be surveyed. field, message: as the REST interface names them."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def refuse_odd(database: str) -> None:
    """Raises SurveyRefused for what can be the name of no database."""
    if not database or len(database.encode()) > LONGEST_DATABASE or "\0" in database:
        raise SurveyRefused("database", f"must be the name of a database, of at most {LONGEST_DATABASE} bytes")


def due_ids(surveys: QuerySet[AnySurvey]) -> list[int]:
    """Those that wait for a worker, and those whose worker died."""
    return list(surveys.filter(_is_free()).order_by("pk").values_list("pk", flat=True))


def take(surveys: QuerySet[AnySurvey], *, survey_id: int, holder: str) -> bool:
    """False where another worker has it, or was there first."""
    free = surveys.filter(_is_free(), pk=survey_id)
    return free.update(state=State.RUNNING, lease_holder=holder, lease_expires_at=Now() + LEASE) == 1


def forget_old(surveys: QuerySet[AnySurvey], *, kept: int) -> None:
    """Of one cluster, all but the newest `kept` and the newest of every database that was read, however long ago."""
    newest = list(surveys.order_by("-pk").values_list("pk", flat=True)[:kept])
    of_each = surveys.filter(state=State.DONE).order_by("database", "-pk").distinct("database")
    newest += of_each.values_list("pk", flat=True)
    surveys.exclude(pk__in=newest).delete()


def _is_free() -> Q:
    return Q(state=State.PENDING) | Q(state=State.RUNNING, lease_expires_at__lte=Now())
