"""The Celery doors of this application, gathered for Celery's discovery."""

from apps.clusters.backend_tasks import advance_backend_operation, advance_backend_operations
from apps.clusters.restart_tasks import advance_restart, advance_restarts
from apps.clusters.rollout_tasks import (
    advance_rollout,
    advance_rollouts,
    apply_role_weights,
    settle_debts,
    survey_functions,
    survey_tables,
)
from apps.clusters.watch_tasks import keep_history, look_at_files, watch

__all__ = [
    "advance_backend_operation",
    "advance_backend_operations",
    "advance_restart",
    "advance_restarts",
    "advance_rollout",
    "advance_rollouts",
    "apply_role_weights",
    "keep_history",
    "look_at_files",
    "settle_debts",
    "survey_functions",
    "survey_tables",
    "watch",
]
