"""The calendar of campaigns: days in columns, one row a campaign."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, TypedDict

from apps.benchmarks.control import campaign_schedule
from apps.benchmarks.models import BenchmarkCampaign
from apps.benchmarks.queries.campaigns import CampaignDetail

DAYS = 14
MOST_DUE = 60


class CalendarDay(TypedDict):
    """times: when rounds are due that day, as 02:00; most are cut after a few. count: how many in all."""

    times: list[str]
    count: int


class CalendarRow(TypedDict):
    id: int
    name: str
    cluster_name: str
    is_paused: bool
    days: list[CalendarDay]


_SHOWN = 8


def labelled_rounds(campaign: CampaignDetail) -> list[dict[str, Any]]:
    """The rounds, each with cells: (label of the arm, its point of the trend)."""
    return [{**each, "cells": list(zip(campaign["arms"], each["trend"], strict=True))} for each in campaign["rounds"]]


def calendar_days(*, now: dt.datetime) -> list[dt.date]:
    return [now.date() + dt.timedelta(days=number) for number in range(DAYS)]


def calendar_rows(campaigns: Sequence[BenchmarkCampaign], *, now: dt.datetime) -> list[CalendarRow]:
    return [_row(campaign, now) for campaign in campaigns]


def _row(campaign: BenchmarkCampaign, now: dt.datetime) -> CalendarRow:
    until = dt.datetime.combine(now.date() + dt.timedelta(days=DAYS), dt.time(), tzinfo=now.tzinfo)
    due = [] if campaign.is_paused else campaign_schedule.upcoming(campaign.cron, after=now, until=until, most=MOST_DUE)
    by_day: dict[dt.date, list[str]] = {}
    if len(due) == MOST_DUE:  # each costs time to find: of the days behind the last one it is only said that there are
        last = due[-1].date()
        by_day = {last + dt.timedelta(days=number): ["…"] for number in range(1, DAYS)}
    for at in due:
        by_day.setdefault(at.date(), []).append(f"{at:%H:%M}")
    return {
        "id": campaign.pk,
        "name": campaign.name,
        "cluster_name": campaign.cluster.name,
        "is_paused": campaign.is_paused,
        "days": [
            {"times": by_day.get(day, [])[:_SHOWN], "count": len(by_day.get(day, []))} for day in calendar_days(now=now)
        ],
    }
