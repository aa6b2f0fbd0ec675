"""What a comparison measures, and in which order."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

FEWEST_ARMS, MOST_ARMS = 2, 12
FEWEST_REPETITIONS, MOST_REPETITIONS = 2, 60
MOST_RUNS = 400
FIRST_BLOCK = 0
MOST_LABEL = 80
LEAST_MARGIN, MOST_MARGIN = 0.01, 100.0
FEWEST_PLACES = 3
CLIENTS = "clients"
PGPOOLS = "pgpools"
# weight.BACKEND: its share of the weights, in percent.
WEIGHT = "weight"


class Arm(TypedDict):
    """One way to run it. x: of a sweep, the number that stands on its axis; None else. The rest as a run's wish."""

    label: str
    workload: str
    topology: str
    clients: int
    threads: int | None
    duration_s: int
    warm_up_s: int
    parameters: dict[str, Any]
    x: float | None


class PlanRefused(ValueError):
    """Nothing was queued. field: as REST names it. value: None of what was not given. expected: what would be right."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        given = "" if value is None else f"{str(value)[:80]!r} "
        super().__init__(f"{field}: {given}{expected}")
        self.field = field
        self.value = value
        self.expected = expected


def labelled(given: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each arm: as given, else what sets it apart from the others. Raises PlanRefused."""
    if not FEWEST_ARMS <= len(given) <= MOST_ARMS:
        raise PlanRefused("arms", len(given), f"arms; there must be {FEWEST_ARMS} to {MOST_ARMS}")
    varying = [name for name in _names(given) if len({repr(_value(one, name)) for one in given}) > 1]
    labels = _apart([one.get("label") or _told(one, varying) for one in given], given)
    for position, label in enumerate(labels):
        if len(label) > MOST_LABEL:
            raise PlanRefused(f"arms.{position}.label", label, f"must be a text of at most {MOST_LABEL} characters")
        if label in labels[:position]:
            raise PlanRefused(
                f"arms.{position}.label", label, "stands for two arms; give each a name, or leave one out"
            )
    return labels


def _apart(labels: Sequence[str], given: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names that were made up and came out alike, as of two long scripts, get a number."""
    found: list[str] = []
    for label, one in zip(labels, given, strict=True):
        shown, number = label, 2
        while shown in found and not one.get("label"):
            shown, number = f"{label[: MOST_LABEL - 6]} ({number})", number + 1
        found.append(shown)
    return found


def refuse_too_many(arms: int, repetitions: int) -> None:
    """Raises PlanRefused."""
    if not FEWEST_REPETITIONS <= repetitions <= MOST_REPETITIONS:
        expected = f"must be from {FEWEST_REPETITIONS} to {MOST_REPETITIONS}; from 6 on a disturbed run does no harm"
        raise PlanRefused("repetitions", repetitions, expected)
    if (whole := arms * (repetitions + 1)) > MOST_RUNS:
        fit = MOST_RUNS // arms - 1
        raise PlanRefused("repetitions", repetitions, f"makes {whole} runs of {arms} arms; at most {fit} fit")


def refuse_margin(margin_percent: float) -> None:
    """Raises PlanRefused."""
    if not LEAST_MARGIN <= margin_percent <= MOST_MARGIN:
        raise PlanRefused("margin_percent", margin_percent, f"must be from {LEAST_MARGIN:g} to {MOST_MARGIN:g} %")


def block_order(arms: int, block: int, seed: int) -> list[int]:
    """Positions of the arms in the order in which this block measures them.

    Drawn anew for each block: a fixed order, or one that only turns around, takes drift for a difference.
    """
    positions = list(range(arms))
    random.Random(f"{seed}/{block}").shuffle(positions)
    return positions


def order(arms: int, blocks: Sequence[int], seed: int) -> Iterator[tuple[int, int]]:
    """(block, arm) one after the other."""
    for block in blocks:
        yield from ((block, arm) for arm in block_order(arms, block, seed))


@dataclass(frozen=True)
class OnAxis:
    """What an arm of a sweep may be placed by. x: as it names itself. weight_percent: of the backend that over names,
    at the pgpools that it goes through; None where they differ in it, or none is on its way.
    """

    clients: int
    pgpools: int
    parameters: Mapping[str, Any]
    x: float | None = None
    weight_percent: float | None = None


def place(over: str, position: int, arm: OnAxis) -> float | None:
    """Where it stands on the axis; None where nothing is swept. Raises PlanRefused."""
    kind, _, name = over.partition(".")
    value: object = None
    if not over:
        return None
    if over == CLIENTS:
        value = arm.clients
    elif over == PGPOOLS:
        value = arm.pgpools
    elif over == "x":
        value = arm.x
    elif kind == "parameters":
        value = arm.parameters.get(name)
    elif kind == WEIGHT and name:
        value = arm.weight_percent
    else:
        expected = "can be clients, pgpools, parameters.NAME, weight.BACKEND, or x, which each arm names itself"
        raise PlanRefused("over", over, expected)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise PlanRefused(
            f"arms.{position}.{over}", value, "must be a number above 0, to stand on the axis of the sweep"
        )
    return float(value)


def axis_name(over: str) -> str:
    """As people say it: parameters.scale -> scale; weight.pg2 -> weight of pg2 in %"""
    kind, _, name = over.partition(".")
    return f"weight of {name} in %" if kind == WEIGHT and name else name or over


def refuse_twice(over: str, places: Sequence[float | None]) -> None:
    """Raises PlanRefused where two arms of a sweep stand at one place, or too few do for a curve."""
    if not over:
        return
    if len(places) < FEWEST_PLACES:
        raise PlanRefused("arms", len(places), f"arms; a sweep needs {FEWEST_PLACES} or more")
    for position, value in enumerate(places):
        if value in places[:position]:
            raise PlanRefused(f"arms.{position}.{over}", value, "stands there for another arm already")


def place_words(topology: str) -> str:
    """A topology as the name of an arm: primary -> primary direct; pgpools:2 -> 2 pgpools."""
    kind, _, name = topology.partition(":")
    words = {
        "primary": "primary direct",
        "standby": f"standby {name} direct",
        "standbys": "all standbys direct",
        "pgpool": name,
        "pgpools": f"{name} pgpools" if name else "all pgpools",
        "commit": f"synchronous_commit = {name}",
        "endpoint": name,
    }
    return words.get(kind) or topology


# address, weights and the last two: of runs that were measured, what they were measured under.
_RUN_FIELDS = (
    "topology", "address", "weights", "workload", "clients", "threads", "duration_s", "warm_up_s", "replication",
    "synchronous_commit",
)  # fmt: skip
_SHOWN = {"clients": "{} client{}", "threads": "{} thread{}", "duration_s": "{} s", "warm_up_s": "{} s of warm-up"}


def _names(given: Sequence[Mapping[str, Any]]) -> list[str]:
    parameters = sorted({name for one in given for name in one.get("parameters") or {}})
    return [*_RUN_FIELDS, *(f"parameters.{name}" for name in parameters)]


def _value(arm: Mapping[str, Any], name: str) -> Any:
    prefix, _, parameter = name.partition(".")
    return (arm.get("parameters") or {}).get(parameter) if parameter else arm.get(prefix)


def _told(arm: Mapping[str, Any], varying: Sequence[str]) -> str:
    words = [_one(name, _value(arm, name)) for name in varying if _value(arm, name) is not None]
    return ", ".join(words)[:MOST_LABEL] or place_words(str(arm.get("topology", "")))


def _one(name: str, value: object) -> str:
    if name == "topology":
        return place_words(str(value))
    if name == "address":
        return f"at {value}"
    if name == "synchronous_commit":
        return f"{name} = {value}"
    if name in _SHOWN:
        return _SHOWN[name].format(value, "" if value == 1 else "s")
    return str(value) if name in _RUN_FIELDS else f"{name.partition('.')[2]} {value}"
