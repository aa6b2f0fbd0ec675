"""Weights by role: which share of the reads the primary takes, and the rest even among its standbys."""

import math
from collections.abc import Collection
from fractions import Fraction

MOST_DIGITS = 4


class RoleWeightError(ValueError):
    """A share of the primary cannot be used."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {_shown(value)} is not {expected}")
        self.field = field
        self.value = value
        self.expected = expected


def parse_primary_share(raw: object, *, field: str = "primary_share") -> Fraction:
    """A share in 0..1 with at most four decimals, exactly as it is written: 0.2 is one fifth."""
    expected = "a share from 0 to 1 with at most 4 decimals, as 0.2 for 20 %"
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 1:  # NaN compares false
        raise RoleWeightError(field, raw, expected)
    share = Fraction(repr(raw))
    if (share * 10**MOST_DIGITS).denominator != 1:
        raise RoleWeightError(field, raw, expected)
    return share


def weights_by_role(*, primary: int, standbys: Collection[int], primary_share: Fraction) -> dict[int, int]:
    """The smallest integers of exactly this ratio: 0.2 with two standbys -> 1 : 2 : 2.

    A primary without a standby takes all reads, whatever its share: nobody else could.
    """
    if not standbys:
        return {primary: 1}
    each = (1 - primary_share) / len(standbys)
    wanted = {primary: primary_share} | dict.fromkeys(standbys, each)
    scale = math.lcm(*(share.denominator for share in wanted.values()))
    scaled = {node_id: int(share * scale) for node_id, share in wanted.items()}
    divisor = math.gcd(*scaled.values())
    return {node_id: weight // divisor for node_id, weight in sorted(scaled.items())}


def _shown(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of more than 20 digits"  # Python refuses to write out the longest ones
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
