"""What the stories refuse, as answers of the REST interface."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rest_framework.exceptions import ValidationError

from apps.clusters.control import (
    debt_settlement,
    drafts,
    drift_changes,
    function_draft,
    live_edits,
    parameter_change,
    redrafting,
    rollout_holds,
    rollouts,
    weight_change,
)
from apps.clusters.control.backend_operations import OperationInvalid, OperationRefused
from apps.clusters.control.program_parameters import NeedsAdmin
from apps.clusters.control.writes import NotAllowed
from apps.clusters.domain.rollout_waves import PlanError
from apps.clusters.domain.weights import WeightError
from apps.clusters.registry import registration, registry_changes
from controlplane.problems import Problem

# What cannot be done as things stand: the type of the problem and its title, the narrower kind first.
_CONFLICTS: Mapping[type[Exception], tuple[str, str]] = {
    debt_settlement.DebtRefused: ("debt-refused", "This cannot be done about the debt now"),
    drafts.NothingDrafted: ("draft-empty", "There is nothing in this draft"),
    redrafting.NotRedrafted: ("nothing-to-draft", "There is nothing of this rollout to draft"),
    function_draft.NothingProposed: ("nothing-proposed", "There is no list of functions to draft"),
    drift_changes.DriftRefused: ("drift-refused", "This cannot be done about the drift now"),
    weight_change.WeightsRefused: ("weights-refused", "These weights cannot be rolled out"),
    rollout_holds.PauseRefused: ("rollout-refused", "This is not possible now"),
    rollouts.RolloutRefused: ("rollout-refused", "This is not possible now"),
    registry_changes.RegistryConflict: ("registry-conflict", "The registration cannot be changed now"),
}


@contextmanager
def as_problems() -> Iterator[None]:
    """Every refusal of a story becomes problem+json with the field or the conflict named."""
    try:
        yield
    except (WeightError, PlanError) as error:
        raise ValidationError({error.field: [str(error).removeprefix(f"{error.field}: ")]}) from error
    except parameter_change.ParametersRefused as error:
        raise _parameters_refused(error) from error
    except registration.RegistrationRefused as error:
        raise ValidationError({field: [message] for field, message in error.errors.items()}) from error
    except drift_changes.UnknownInstances as error:
        raise ValidationError({"instances": [str(error)]}) from error
    except weight_change.BaseChanged as error:
        raise Problem(
            "base-changed",
            409,
            "The configuration was changed elsewhere",
            str(error),
            differences=error.differences,
        ) from error
    except drafts.DraftChanged as error:
        facts = {"version": error.version}
        raise Problem("draft-changed", 412, "The draft was changed meanwhile", str(error), **facts) from error
    except weight_change.RolloutRunning as error:
        raise Problem("rollout-running", 409, "A rollout is running", str(error), rollout=error.rollout_id) from error
    except (NotAllowed, NeedsAdmin) as error:
        raise _forbidden(error) from error
    except tuple(_CONFLICTS) as error:
        raise _conflict(error) from error


def _forbidden(error: NotAllowed | NeedsAdmin) -> Problem:
    if isinstance(error, NotAllowed):
        return Problem(error.kind, 409, "Nothing may be written now", str(error))
    facts = {"parameters": list(error.names), "instances": list(error.instances)}
    return Problem("needs-admin", 403, "This needs the role admin", str(error), **facts)


def _conflict(error: Exception) -> Problem:
    slug, title = next(words for kind, words in _CONFLICTS.items() if isinstance(error, kind))
    if not isinstance(error, live_edits.EditRefused):
        return Problem(slug, 409, title, str(error))
    findings = [parameter_change.named(instance, finding) for instance, finding in error.found]
    return Problem(slug, 409, title, str(error), findings=findings)


def _parameters_refused(error: parameter_change.ParametersRefused) -> Problem:
    wrong = [one for one in error.findings if one["severity"] == "error"]
    errors = [
        {
            "field": f"parameters.{one['parameter']}",
            "reason": one["message"] + (f"; expected {one['suggestion']}" if one["suggestion"] else ""),
        }
        for one in wrong
    ]
    title = "These parameters cannot be rolled out"
    return Problem("parameters-refused", 400, title, str(error), errors=errors, findings=error.findings)


@contextmanager
def operations_as_problems() -> Iterator[None]:
    """The same for attach, detach and drain, which may refuse on their own account as well."""
    try:
        with as_problems():
            yield
    except OperationInvalid as error:
        raise ValidationError({error.field: [f"must be {error.expected}"]}) from error
    except OperationRefused as error:
        refusals = list(error.refusals)
        raise Problem("operation-refused", 409, "This cannot be done now", str(error), refusals=refusals) from error
