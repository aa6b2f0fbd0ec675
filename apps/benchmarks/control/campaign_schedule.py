"""When a campaign is due: a cron expression in UTC, read by Celery's own parser."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from celery.schedules import ParseException, crontab

# Rounds closer together than this would be one.
CLOSEST = timedelta(minutes=5)
_DAYS_OF_WEEK = 7


class ScheduleRefused(ValueError):
    """The text says what is wrong, and what would be right."""


def next_due(cron: str, *, after: datetime) -> datetime:
    """The first time after this one that the expression names. Raises ScheduleRefused."""
    try:
        return after + _parsed(cron, after).remaining_estimate(after)
    except (ParseException, ValueError, KeyError, TypeError) as error:
        raise ScheduleRefused(
            f"is no schedule ({error}); expected five fields, minute hour day month weekday, as 0 2 * * * for every "
            "night at 02:00 UTC"
        ) from error


def _parsed(cron: str, now: datetime) -> crontab:
    if not cron.isascii():
        raise ValueError("digits are 0 to 9")
    minute, hour, day_of_month, month, day_of_week = cron.split()
    return crontab(minute, hour, day_of_week, day_of_month, month, nowfun=lambda: now)


def refuse_too_often(cron: str, *, now: datetime) -> None:
    """Raises ScheduleRefused."""
    next_due(cron, after=now)
    # As Celery documents them; its types leave them out.
    named: dict[str, set[int]] = vars(_parsed(cron, now))
    of_day = sorted(timedelta(hours=hour, minutes=minute) for hour in named["hour"] for minute in named["minute"])
    if len(named["day_of_week"]) == _DAYS_OF_WEEK:  # the first time of the day after follows the last one
        of_day.append(of_day[0] + timedelta(days=1))
    closest = min((later - earlier for earlier, later in pairwise(of_day)), default=CLOSEST)
    if closest < CLOSEST:
        raise ScheduleRefused(f"is due twice within {closest.total_seconds() / 60:g} min; 5 min or more are right")


def upcoming(cron: str, *, after: datetime, until: datetime, most: int = 50) -> list[datetime]:
    """All that are due until then, earliest first."""
    found: list[datetime] = []
    at = next_due(cron, after=after)
    while at <= until and len(found) < most:
        found.append(at)
        at = next_due(cron, after=at)
    return found
