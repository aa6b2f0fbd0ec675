"""Celery doors of attach, detach and drain. Rows hold the work; a task that is lost or comes twice changes nothing."""

from celery import shared_task
from django.utils import timezone

from apps.clusters.control import backend_operation_rows, backend_operation_steps, rollout_rows
from apps.clusters.rollout_tasks import holder


@shared_task(name=backend_operation_rows.ADVANCE_TASK)
def advance_backend_operation(operation_id: int) -> None:
    backend_operation_steps.advance(operation_id=operation_id, holder=holder(), clock=timezone.now)


@shared_task(name="clusters.advance_backend_operations")
def advance_backend_operations() -> None:
    """Give every operation that waits for a worker one of its own."""
    for operation_id in backend_operation_rows.due_operation_ids(now=timezone.now()):
        rollout_rows.nudge(operation_id, task=backend_operation_rows.ADVANCE_TASK)
