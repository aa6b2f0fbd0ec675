"""Celery doors of benchmarks. Rows hold the work; a task that is lost or comes twice changes nothing."""

import logging
from collections.abc import Callable

from celery import shared_task
from django.utils import timezone

from apps.benchmarks.control import campaign_rounds, comparison_rows, run_engine, run_rows
from apps.clusters.control import rollout_rows
from apps.clusters.rollout_tasks import holder

logger = logging.getLogger(__name__)


@shared_task(name=run_rows.CARRY_OUT_TASK)
def carry_out_run(run_id: int) -> None:
    run_engine.carry_out(run_id=run_id, holder=holder(), clock=timezone.now)


@shared_task(name="benchmarks.advance_runs")
def advance_runs() -> None:
    """Whatever is due: rounds of campaigns, ends of comparisons, runs whose turn it is, those whose worker died."""
    now = timezone.now()
    steps: tuple[Callable[[], None], ...] = (
        lambda: campaign_rounds.begin_due(now=now),
        lambda: campaign_rounds.end_overdue(now=now),
        lambda: comparison_rows.advance_all(now=now),
        lambda: campaign_rounds.judge_finished(now=now),
        _begin_runs,
    )
    for step in steps:
        try:
            step()
        except Exception:  # what one comparison or campaign fails at shall not keep runs of others waiting
            logger.exception("a step of the benchmarks failed; it is tried again in two seconds")


def _begin_runs() -> None:
    for run_id, queue in run_rows.due_runs():
        rollout_rows.nudge(run_id, task=run_rows.CARRY_OUT_TASK, queue=queue)
