"""The Celery doors of this application, gathered for Celery's discovery."""

from apps.clusters.rollout_tasks import advance_rollout, advance_rollouts
from apps.clusters.watch_tasks import keep_history, watch

__all__ = ["advance_rollout", "advance_rollouts", "keep_history", "watch"]
