"""How often each of several scripts ran, against how often it should have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class Shares(TypedDict):
    """0..1, of all transactions. wanted: by the weights. None where it is not known."""

    share: float | None
    wanted_share: float | None


def shares(scripts: Sequence[Mapping[str, Any]]) -> list[Shares]:
    """scripts: as ScriptFigure, one for each."""
    counts = [one["transactions"] for one in scripts]
    weights = [one["weight"] for one in scripts]
    return [{"share": share, "wanted_share": wanted} for share, wanted in zip(_of(counts), _of(weights), strict=True)]


def _of(values: Sequence[int | None]) -> list[float | None]:
    known = [value for value in values if value is not None]
    total = sum(known)
    if len(known) < len(values) or not total:
        return [None] * len(values)
    return [value / total for value in known]
