"""How a rollout that is under way stands at a pgpool: whether something is written there just now."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from apps.clusters.control import rollout_rows
from apps.clusters.domain import rollout_plan
from apps.clusters.domain.rollout_plan import StepState, StepView
from apps.clusters.models import PgpoolInstance, Rollout, RolloutStep


@dataclass(frozen=True)
class Stand:
    """One pgpool in the rollout of its cluster that is under way.

    is_at_rest: nothing is written there now. done_at: when the rollout did something there latest, None for nothing.
    """

    rollout_id: int
    state: str
    is_at_rest: bool
    done_at: datetime | None


def stands_of(instances: Collection[PgpoolInstance]) -> dict[int, Stand]:
    """Instance id -> how it stands; only those that take part in a rollout that has not ended."""
    steps = RolloutStep.objects.filter(instance__in=instances, rollout__state__in=Rollout.ACTIVE)
    found = steps.select_related("rollout__revision").defer("receipt", "rollout__convergence")
    return {step.instance_id: _stand(step) for step in found if step.instance_id is not None}


def _stand(step: RolloutStep) -> Stand:
    rollout = step.rollout
    view = StepView(
        step.position, step.instance_name, StepState(step.state), attempts=step.attempts, is_touched=step.is_touched
    )
    is_at_rest = rollout_plan.is_at_rest(
        view,
        goes_back=rollout.is_halting or rollout.is_cancel_requested,
        goes_past_failures=rollout_rows.goes_past_failures(rollout),
    )
    done = [at for at in (step.written_at, step.reloaded_at, step.verified_at, step.restored_at) if at is not None]
    return Stand(rollout.pk, step.state, is_at_rest, max(done, default=None))
