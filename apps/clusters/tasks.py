"""The Celery doors of this application, gathered for Celery's discovery."""

from apps.clusters.rollout_tasks import advance_rollout, advance_rollouts

__all__ = ["advance_rollout", "advance_rollouts"]
