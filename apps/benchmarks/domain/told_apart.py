"""Runs that were to be measured alike, and were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def counted(values: Iterable[str]) -> str:
    """As "3 runs: asynchronous; 1 run: no standby"; "" where all that tell it are alike; "" of a run tells nothing."""
    found = Counter(value for value in values if value)
    if len(found) < 2:
        return ""
    return "; ".join(f"{count} run{'' if count == 1 else 's'}: {value}" for value, count in found.items())


def conditions(
    runs: Sequence[tuple[str, Mapping[str, Any]]], of_run: Callable[[Mapping[str, Any]], str], *, unknown: str
) -> list[str | None]:
    """What sets runs apart that were asked to be the same.

    runs: topology and environment of each. None of a topology whose runs were all measured under one, as far as they
    tell.
    """
    found: dict[str, set[str]] = {}
    for topology, environment in runs:
        if told := of_run(environment):
            found.setdefault(topology, set()).add(told)
    return [
        (of_run(environment) or unknown) if len(found.get(topology, ())) > 1 else None for topology, environment in runs
    ]
