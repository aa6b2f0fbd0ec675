"""How an attach, detach or drain is told to people."""

from collections.abc import Sequence

from apps.clusters.domain.routing_words import listed
from apps.clusters.models import BackendOperation, BackendOperationStep

_State = BackendOperation.State
Steps = Sequence[BackendOperationStep]


def sentence(operation: BackendOperation, steps: Steps) -> str:
    """The headline: where it stands."""
    name = operation.backend_name
    match operation.state:
        case _State.WEIGHING if operation.cancelled_by_name:
            return f"Cancelling the drain of {name}: {operation.outcome}"
        case _State.WEIGHING:
            return f"Draining {name}: rollout #{operation.rollout_id} takes its weight to 0."
        case _State.WAITING:
            return f"Draining {name}: {sessions_text(operation, steps)}."
        case _State.ASKING:
            minutes = operation.wait_limit_s / 60
            return f"{sessions_text(operation, steps)}, {minutes:g} min later: go on anyway, or stop?".capitalize()
        case _State.ACTING:
            done = sum(step.state == step.State.DONE for step in steps)
            verb, shown = ("Attaching", "up") if operation.kind == operation.Kind.ATTACH else ("Detaching", "down")
            held = f" {operation.outcome}" if operation.outcome else ""
            return f"{verb} {name}: {done} of {len(steps)} pgpools show it {shown}.{held}"
        case _State.FAILED:
            return f"{operation.get_kind_display().capitalize()} failed: {operation.outcome}"
    return operation.outcome


def sessions_text(operation: BackendOperation, steps: Steps) -> str:
    """Those of before that may still read there, and of which pgpools they are not known."""
    unknown = [step.instance_name for step in steps if step.sessions_left is None]
    left = sum(step.sessions_left or 0 for step in steps)
    counted = f"{left} session{'' if left == 1 else 's'} from before may still use {operation.backend_name}"
    if not unknown:
        return counted
    if all(step.sessions_at is None for step in steps):
        return "counting the sessions that may still use it"
    silent = f"the sessions at {listed(unknown)} are not known"
    return f"{counted}, and {silent}" if left else silent
