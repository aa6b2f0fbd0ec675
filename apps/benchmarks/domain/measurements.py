"""Repeated measurements of one figure, and what cannot be one."""

import math
from collections.abc import Sequence
from decimal import Decimal

FEWEST, MOST = 2, 1000
SMALLEST, LARGEST = 1e-9, 1e12


class MeasurementError(ValueError):
    """A value that cannot be used: the field, what stands there, what would be right."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {str(value)[:40]!r} is not possible; expected {expected}")
        self.field = field
        self.reason = f"{str(value)[:40]!r} is not possible; expected {expected}"


def measured(field: str, given: object) -> tuple[float, ...]:
    """The values of one side, in the order of their runs.

    Raises MeasurementError: fewer than 2 or more than 1000, or one that is no finite number above 0. A run that
    answered nothing (0) is a failed run and not a slow one.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise MeasurementError(field, given, "a list of numbers, one for each run")
    if not FEWEST <= len(given) <= MOST:
        counted = f"{len(given)} value" + ("" if len(given) == 1 else "s")
        raise MeasurementError(field, counted, f"{FEWEST} to {MOST}: one run alone does not tell how far runs differ")
    return tuple(_number(f"{field}.{position}", value) for position, value in enumerate(given))


def _number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MeasurementError(field, value, "a number")
    if not SMALLEST <= value <= LARGEST:
        hint = "; leave a run out that failed" if value == 0 else ""
        raise MeasurementError(field, value, f"a number above 0, from {SMALLEST:g} to {LARGEST:g}{hint}")
    return float(value)


def rounding(values: Sequence[float]) -> float:
    """Half of the smallest digit that any value is printed with: each stands for so much less to so much more.

    Whole numbers are taken as printed to 1: 100 stands for anything from 99.5 to 100.5.
    """
    exponents = (Decimal(repr(value)).normalize().as_tuple().exponent for value in values)
    finest = min(exponent for exponent in exponents if isinstance(exponent, int))
    return math.ldexp(10.0 ** min(finest, 0), -1)
