"""The figures of one run as somebody printed them, with the digits that they were printed with."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

SMALLEST, LARGEST = Decimal("1e-9"), Decimal("1e12")
MOST_STATEMENTS = 1000
_LONGEST = 40
# Decimal would take 1_000 and Arabic digits as well.
_NUMBER = re.compile(r"[0-9.eE+-]{1,40}")


class FigureError(ValueError):
    """A figure that cannot be one: the field, what stands there, what would be right."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field = field
        self.reason = f"{str(value)[:_LONGEST]!r} is not possible; expected {expected}"
        super().__init__(f"{field}: {self.reason}")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as printed: 8364.560 is exact to half of its last digit, 0.0005.

    JSON drops zeros at the end: 8364.56 is then taken as exact to 0.005 only. A text keeps them.
    """

    value: Decimal

    @property
    def half(self) -> Decimal:
        """Of the last digit."""
        exponent = self.value.as_tuple().exponent
        return Decimal(5).scaleb((exponent if isinstance(exponent, int) else 0) - 1)

    @property
    def low(self) -> Decimal:
        return self.value - self.half

    @property
    def high(self) -> Decimal:
        return self.value + self.half

    @property
    def digits(self) -> int:
        return len(self.value.as_tuple().digits)

    def __str__(self) -> str:
        return f"{self.value:,f}"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What is known of a run; None where nothing is. At least one figure is known.

    tps: completed per second, in the unit of throttle_per_s. batch: how many of that unit one transaction completes, as
    messages of a queue; 1 where tps counts transactions. latency_is_derived: the tool measured no latency and printed
    clients / tps. percentile: the highest that is read off the run, in 50..100 exclusive. is_throttled_evenly: starts
    are as far apart as the throttle says, and not drawn at random as those of pgbench and sysbench.
    """

    clients: int | None
    tps: Figure | None
    latency_ms: Figure | None
    latency_is_derived: bool
    statements_ms: tuple[Figure, ...] | None
    throttle_per_s: Figure | None
    batch: int | None
    duration_s: Figure | None
    percentile: Figure | None = None
    is_throttled_evenly: bool = False

    @property
    def unit(self) -> str:
        return "tps" if self.batch in {None, 1} else "messages/s"


def run_figures(given: Mapping[str, object]) -> RunFigures:
    """From numbers, or texts of numbers, by the names of RunFigures; None and what is left out are not known.

    Raises FigureError.
    """
    found = RunFigures(
        clients=_count("clients", given.get("clients")),
        tps=_figure("tps", given.get("tps")),
        latency_ms=_figure("latency_ms", given.get("latency_ms")),
        latency_is_derived=bool(given.get("latency_is_derived")),
        statements_ms=_statements(given.get("statements_ms")),
        throttle_per_s=_figure("throttle_per_s", given.get("throttle_per_s")),
        batch=_count("batch", given.get("batch")),
        duration_s=_figure("duration_s", given.get("duration_s")),
        percentile=_figure("percentile", given.get("percentile")),
        is_throttled_evenly=bool(given.get("is_throttled_evenly")),
    )
    if found.percentile is not None and not 50 <= found.percentile.value < 100:
        raise FigureError("percentile", found.percentile, "a number from 50 to below 100")
    known = (found.clients, found.tps, found.latency_ms, found.statements_ms, found.throttle_per_s, found.duration_s)
    if all(each is None for each in known):
        raise FigureError("tps", None, "at least one figure of the run")
    return found


def _figure(field: str, value: object, *, least: Decimal = SMALLEST) -> Figure | None:
    if value is None:
        return None
    expected = f"a number from {least:g} to {LARGEST:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise FigureError(field, value, expected)
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise FigureError(field, value, f"{expected}, with a point and no commas")
    try:
        # The shortest text of a float is what stood in the JSON, but for zeros at its end.
        number = Decimal(value if isinstance(value, str) else repr(value))
    except (InvalidOperation, ValueError) as error:
        raise FigureError(field, value, expected) from error
    if not number.is_finite() or not least <= number <= LARGEST:
        raise FigureError(field, value, expected)
    return Figure(number)


def _count(field: str, value: object) -> int | None:
    found = _figure(field, value)
    if found is None:
        return None
    if found.value < 1 or found.value != found.value.to_integral_value():
        raise FigureError(field, value, "a whole number of 1 or more")
    return int(found.value)


def _statements(given: object) -> tuple[Figure, ...] | None:
    field = "statements_ms"
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise FigureError(field, given, "a list of the latency of each statement")
    if not 1 <= len(given) <= MOST_STATEMENTS:
        raise FigureError(field, f"{len(given)} values", f"1 to {MOST_STATEMENTS}")
    found = []
    for position, value in enumerate(given):
        figure = _figure(f"{field}.{position}", value, least=Decimal(0))
        if figure is None:
            raise FigureError(f"{field}.{position}", value, "a number of 0 or more")
        found.append(figure)
    return tuple(found)
