"""Celery doors of rolling restarts. Rows hold the work; a task that is lost or comes twice changes nothing."""

from celery import shared_task
from django.utils import timezone

from apps.clusters.control import restart_rows, restart_steps, rollout_rows
from apps.clusters.rollout_tasks import holder


@shared_task(name=restart_rows.ADVANCE_TASK)
def advance_restart(restart_id: int) -> None:
    restart_steps.advance(restart_id=restart_id, holder=holder(), clock=timezone.now)


@shared_task(name="clusters.advance_restarts")
def advance_restarts() -> None:
    """Give every restart that waits for a worker one of its own."""
    for restart_id in restart_rows.due_restart_ids(now=timezone.now()):
        rollout_rows.nudge(restart_id, task=restart_rows.ADVANCE_TASK)
