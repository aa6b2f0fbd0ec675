"""What the stories refuse, as answers of the REST interface."""

from collections.abc import Iterator
from contextlib import contextmanager

from rest_framework.exceptions import ValidationError

from apps.clusters import registration, registry_changes, rollouts, weight_change
from apps.clusters.domain.weights import WeightError
from controlplane.problems import Problem


@contextmanager
def as_problems() -> Iterator[None]:
    """Every refusal of a story becomes problem+json with the field or the conflict named."""
    try:
        yield
    except WeightError as error:
        raise ValidationError({error.field: [str(error).removeprefix(f"{error.field}: ")]}) from error
    except registration.RegistrationRefused as error:
        raise ValidationError({field: [message] for field, message in error.errors.items()}) from error
    except registry_changes.RegistryConflict as error:
        raise Problem("registry-conflict", 409, "The registration cannot be changed now", str(error)) from error
    except weight_change.BaseChanged as error:
        raise Problem(
            "base-changed",
            409,
            "The configuration was changed elsewhere",
            str(error),
            differences=error.differences,
        ) from error
    except weight_change.RolloutRunning as error:
        raise Problem("rollout-running", 409, "A rollout is running", str(error), rollout=error.rollout_id) from error
    except weight_change.WeightsRefused as error:
        raise Problem("weights-refused", 409, "These weights cannot be rolled out", str(error)) from error
    except rollouts.RolloutRefused as error:
        raise Problem("rollout-refused", 409, "This is not possible now", str(error)) from error
