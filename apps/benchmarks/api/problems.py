"""What benchmarks refuse, as problem+json with the field named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rest_framework.exceptions import ValidationError

from apps.benchmarks.control.access import AccessRefused
from apps.benchmarks.control.endpoints import EndpointRefused
from apps.benchmarks.control.imports import ImportRefused
from apps.benchmarks.control.runs import NotAllowedHere, RunRefused
from apps.benchmarks.domain.comparison_plan import PlanRefused
from apps.benchmarks.domain.run_wish import WishRefused
from apps.clusters.api import refusals
from controlplane.problems import Problem


@contextmanager
def as_problems() -> Iterator[None]:
    try:
        with refusals.as_problems():
            yield
    except (WishRefused, PlanRefused) as error:
        said = str(error).removeprefix(f"{error.field}: ")
        raise ValidationError({error.field: [said]}) from error
    except ImportRefused as error:
        raise ValidationError({error.field: [error.reason]}) from error
    except (AccessRefused, EndpointRefused) as error:
        raise ValidationError({error.field: [error.expected]}) from error
    except NotAllowedHere as error:
        raise Problem("benchmarks-not-allowed", 409, "Benchmarks are not allowed here", str(error)) from error
    except RunRefused as error:
        raise Problem("run-refused", 409, "This cannot be done now", str(error)) from error
