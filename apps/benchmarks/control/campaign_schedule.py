"""When a campaign is due: a cron expression in UTC, read by Celery's own parser."""

from __future__ import annotations

from datetime import datetime, timedelta

from celery.schedules import ParseException, crontab

# Rounds closer together than this would be one.
CLOSEST = timedelta(minutes=5)
_LOOKED_AT = 10


class ScheduleRefused(ValueError):
    """The text says what is wrong, and what would be right."""


def next_due(cron: str, *, after: datetime) -> datetime:
    """The first time after this one that the expression names. Raises ScheduleRefused."""
    try:
        minute, hour, day_of_month, month, day_of_week = cron.split()
        schedule = crontab(minute, hour, day_of_week, day_of_month, month, nowfun=lambda: after)
        return after + schedule.remaining_estimate(after)
    except (ParseException, ValueError, KeyError, TypeError) as error:
        raise ScheduleRefused(
            f"is no schedule ({error}); expected five fields, minute hour day month weekday, as 0 2 * * * for every "
            "night at 02:00 UTC"
        ) from error


def refuse_too_often(cron: str, *, now: datetime) -> None:
    """Raises ScheduleRefused."""
    at = next_due(cron, after=now)
    for _ in range(_LOOKED_AT):
        following = next_due(cron, after=at)
        if following - at < CLOSEST:
            raise ScheduleRefused(
                f"is due every {(following - at).total_seconds() / 60:g} min; 5 min or more are right"
            )
        at = following


def upcoming(cron: str, *, after: datetime, until: datetime, most: int = 50) -> list[datetime]:
    """All that are due until then, earliest first."""
    found: list[datetime] = []
    at = next_due(cron, after=after)
    while at <= until and len(found) < most:
        found.append(at)
        at = next_due(cron, after=at)
    return found
