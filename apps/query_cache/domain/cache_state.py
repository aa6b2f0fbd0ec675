"""What a query cache can be said to be, and how ratios are written. Apart from the fit, which loads scipy."""

from __future__ import annotations

from enum import StrEnum


class CacheState(StrEnum):
    UNKNOWN = "unknown"
    OFF = "off"
    TOO_LITTLE_TRAFFIC = "too_little_traffic"
    NOT_MEASURED = "not_measured"
    NOT_A_FIT = "not_a_fit"
    PAYS = "pays"
    COSTS = "costs"
    CLOSE = "close"


def percent(ratio: float) -> str:
    """As 42 %, or 1.5 % below ten: near an end a point is much."""
    shown = f"{100 * ratio:.1f}" if 0 < ratio < 0.1 else f"{100 * ratio:.0f}"
    return f"{shown} %"
