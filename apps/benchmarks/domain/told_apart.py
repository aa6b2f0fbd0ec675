"""Runs that were to be measured alike, and were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def counted(values: Iterable[str]) -> str:
    """As "3 runs: asynchronous; 1 run: no standby"; "" where all that tell it are alike; "" of a run tells nothing."""
    found = Counter(value for value in values if value)
    if len(found) < 2:
        return ""
    return "; ".join(f"{count} run{'' if count == 1 else 's'}: {value}" for value, count in found.items())
