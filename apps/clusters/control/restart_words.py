"""How a rolling restart is told: whose turn it is, what came of it, and what to do when it halts."""

from collections.abc import Sequence

from apps.clusters.domain.rolling_restart import RestartState
from apps.clusters.domain.routing_words import listed
from apps.clusters.models import RestartStep

State, Way = RestartStep.State, RestartStep.Way


def turn(step: RestartStep) -> str:
    """The event of its turn."""
    return f"restart {step.instance_name} now" if step.way == Way.HAND else f"{step.instance_name} is being restarted"


def out_of_service(way: str) -> str:
    """What was done beforehand, for the receipt."""
    if way == Way.HAND:
        return "Nothing was done by Lifeguard: whoever restarts it takes it out of service."
    return (
        "Nothing beyond the restart command, which may take it out of a load balancer: Lifeguard steers none. Clients "
        "are cut when it stops."
    )


def out_of_service_s(step: RestartStep) -> float | None:
    """From the latest answer of the old run to the first moment that the new one served: it was away no longer."""
    if step.answered_at is None or step.serves_at is None:
        return None
    return round((step.serves_at - step.answered_at).total_seconds(), 2)


def done(step: RestartStep) -> str:
    away_s = out_of_service_s(step)
    away = "" if away_s is None else f"It was out of service for {away_s:.1f} s at most. "
    used = [one for one in step.receipt.get("read_back", {}).get("parameters", []) if one["name"] in step.parameters]
    return away + "; ".join(f"{one['name']} is {one['wanted'] or 'empty'}" for one in used)


def command_failed(step: RestartStep, failure: str) -> str:
    command = step.receipt["command"]
    said = "Operators read what it said on the page Restarts. " if command.get("said") else ""
    return f"{step.instance_name} was not restarted by {command['by']}: {failure.rstrip('.')}. {said}{_stands(step)}"


def given_up(step: RestartStep) -> str:
    """What was waited for did not come."""
    name = step.instance_name
    if step.state == State.RESTARTED:
        return step.error or f"{name} was restarted, and was not seen to serve."
    if step.state == State.PENDING:
        return step.error or f"{name} could not be looked at."
    if step.way == Way.HAND:
        hours = step.instance.longest_wait_h if step.instance is not None else 0
        return f"Nobody restarted {name} within {hours} h."
    if step.ended_at is None:
        return f"What came of the restart command of {name} is not known. {_stands(step)}"
    if step.silent_at is None:
        return (
            f"The restart command of {name} ended well, and yet the same pgpool still runs there. Check what that "
            "command restarts."
        )
    return f"The restart command of {name} ended well. {_stands(step)}"


def _stands(step: RestartStep) -> str:
    if step.silent_at is None:
        return f"The pgpool of before still serves as {step.instance_name}."
    since = f"{step.silent_at:%H:%M:%S} UTC"
    return f"{step.instance_name} does not answer since {since}: start it, and look at its log."


def outcome(state: RestartState, steps: Sequence[RestartStep]) -> str:
    done_names = [step.instance_name for step in steps if step.state == State.DONE]
    left = [step.instance_name for step in steps if step.state in {State.PENDING, State.SKIPPED}]
    said = [step.error for step in steps if step.state == State.FAILED]
    if done_names:
        said.append(f"{listed(done_names)} {_was(done_names)} restarted and {_use(done_names)}.")
    if left:
        said.append(f"{listed(left)} {_was(left)} left as {'it is' if len(left) == 1 else 'they are'}.")
    if state == RestartState.FAILED:
        said.append("Once that is mended, begin a new restart for those that still wait.")
    return " ".join(said)


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _use(names: Sequence[str]) -> str:
    return "uses its file" if len(names) == 1 else "use their files"
