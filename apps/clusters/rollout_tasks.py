"""Celery doors of rollouts. Rows hold the work; a task that is lost or comes twice changes nothing."""

import os
import secrets
import socket

from celery import shared_task
from django.utils import timezone

from apps.clusters.control import (
    convergence,
    debt_settlement,
    function_survey,
    role_weights,
    rollout_rows,
    rollouts,
    table_survey,
)


@shared_task(name=rollout_rows.ADVANCE_TASK)
def advance_rollout(rollout_id: int) -> None:
    rollouts.advance(rollout_id=rollout_id, holder=holder(), clock=timezone.now)


@shared_task(name="clusters.advance_rollouts")
def advance_rollouts() -> None:
    """Give every rollout that waits for a worker one of its own: a frozen pgpool holds up no other cluster."""
    now = timezone.now()
    for rollout_id in rollout_rows.due_rollout_ids(now=now, restoring_for=rollouts.RESTORE_FOR):
        rollout_rows.nudge(rollout_id)
    convergence.judge_recent_rollouts(now=now)


@shared_task(name="clusters.apply_role_weights")
def apply_role_weights() -> None:
    """Roll out what a change of roles asks for, where the organisation lets that happen without a person."""
    role_weights.apply_by_itself(now=timezone.now())


@shared_task(name="clusters.settle_debts")
def settle_debts() -> None:
    """Give every pgpool that answers again what it owes, or tell that it is back."""
    debt_settlement.settle_returned(now=timezone.now())


@shared_task(name="clusters.survey_functions")
def survey_functions() -> None:
    """Carry out every survey of functions that waits for a worker."""
    for survey_id in function_survey.due_survey_ids():
        function_survey.carry_out(survey_id=survey_id, holder=holder(), now=timezone.now())


@shared_task(name="clusters.survey_tables")
def survey_tables() -> None:
    """Take the sample that is next of every survey of tables that waits for one."""
    for survey_id in table_survey.due_survey_ids():
        table_survey.carry_out(survey_id=survey_id, holder=holder(), now=timezone.now())


def holder() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
