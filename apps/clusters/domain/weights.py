"""Backend weights: from what a person sends to shares, and to the integers that go into pgpool.conf."""

import math
import re
from collections.abc import Collection, Mapping
from fractions import Fraction

LARGEST_WEIGHT = 100_000_000  # pgpool's own limit of backend_weight
LARGEST_WRITTEN_WEIGHT = 1000
_SHARE_TOLERANCE = 0.0001
MOST_ROUNDED_SHARE = 0.0005  # 0.05 points: what rounding to integers may do to a share without a word
_NODE_ID = re.compile(r"0|[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")


class WeightError(ValueError):
    """A weight cannot be used. reason: in words, where the value itself tells nobody anything."""

    def __init__(self, field: str, value: object, expected: str, *, reason: str = "") -> None:
        super().__init__(f"{field}: {reason or f'{_shown(value)} is not {expected}'}")
        self.field = field
        self.value = value
        self.expected = expected
        self.reason = reason

    def of(self, field: str) -> "WeightError":
        """The same of a field that holds this one."""
        return WeightError(field, self.value, self.expected, reason=self.reason)


def shares(weights: Mapping[int, float]) -> dict[int, float]:
    """Scale backend weights so that they sum to 1.

    weights: node_id -> backend_weight, each >= 0.
    Returns node_id -> share in 0..1. SHOW POOL_NODES prints this share as lb_weight, with six decimals.
    Raises WeightError if all weights are 0: no share is defined then.
    Source: Pgpool-II manual, "Backend Settings", backend_weight.
    """
    total = sum(weights.values())
    if total <= 0:
        expected = "a set with at least one weight above 0"
        raise WeightError("weights", dict(weights), expected, reason="all are 0, but at least one backend needs more")
    return {node_id: weight / total for node_id, weight in weights.items()}


def parse_weights(raw: object, known: Collection[int]) -> dict[int, float]:
    """Check weights as JSON delivers them: {"0": 0, "1": 1.5}, one number for every known backend.

    Raises WeightError with the field ("weights" or "weights.<node_id>") and what was expected there.
    """
    if not isinstance(raw, Mapping):
        raise WeightError("weights", raw, "an object of node_id and weight")
    weights: dict[int, float] = {}
    for key, value in raw.items():
        node_id = _node_id(key, known)
        if node_id in weights:
            raise WeightError(f"weights.{node_id}", value, "given once")
        weights[node_id] = _weight(f"weights.{node_id}", value)
    for node_id in sorted(known):
        if node_id not in weights:
            raise WeightError(f"weights.{node_id}", None, "a number of 0 or more")
    shares(weights)
    return dict(sorted(weights.items()))


def parse_weight_texts(raw: Mapping[str, str], known: Collection[int]) -> dict[int, float]:
    """Check weights as a form delivers them, numbers written as text; otherwise like parse_weights."""
    return parse_weights({key: _number(f"weights.{key}", text) for key, text in raw.items()}, known)


def as_integers(weights: Mapping[int, float]) -> dict[int, int]:
    """Weights for pgpool.conf, which PGPOOL SHOW reads back as integers (0.25 would read back as 0).

    Integers stay as given; others become the smallest integers <= 1000 of the same ratio. Ratios that need larger
    ones are rounded, to 0.0001 of a share where 1000 allows it; a weight above 0 never becomes 0.
    Raises WeightError if all weights are 0.
    """
    wanted = shares(weights)
    if all(float(weight).is_integer() for weight in weights.values()):
        return {node_id: int(weight) for node_id, weight in weights.items()}
    return _exact_integers(weights) or _near_integers(wanted)


def as_written(weights: Mapping[int, float]) -> dict[int, int]:
    """as_integers of weights that somebody asks for: a share that rounding would make another one is refused.

    Raises WeightError of the smallest weight whose share would change by more than 0.05 points.
    """
    integers = as_integers(weights)
    wanted, written = shares(weights), shares(integers)
    changed = [node_id for node_id in wanted if abs(written[node_id] - wanted[node_id]) > MOST_ROUNDED_SHARE]
    if changed:
        node_id = min(changed, key=wanted.__getitem__)
        before, after = _per_cent(wanted[node_id]), _per_cent(written[node_id])
        expected = (
            f"a weight that whole numbers up to {LARGEST_WRITTEN_WEIGHT} can express beside the others: "
            f"its share of {before} would become {after}. Give all weights as whole numbers"
        )
        raise WeightError(f"weights.{node_id}", weights[node_id], expected)
    return integers


def _per_cent(share: float) -> str:
    return f"{share * 100:.8f}".rstrip("0").rstrip(".") + " %"


def as_node_id(key: object) -> int | None:
    """A node_id as a number, or as the text that JSON makes of a key: "7", not "07". None for anything else."""
    if isinstance(key, str):
        return int(key) if _NODE_ID.fullmatch(key) else None
    return key if isinstance(key, int) and not isinstance(key, bool) else None


def _exact_integers(weights: Mapping[int, float]) -> dict[int, int] | None:
    # repr() is the shortest decimal of the float, so 0.1 counts as one tenth.
    fractions = {node_id: Fraction(repr(float(weight))) for node_id, weight in weights.items()}
    denominator = math.lcm(*(fraction.denominator for fraction in fractions.values()))
    scaled = {node_id: int(fraction * denominator) for node_id, fraction in fractions.items()}
    divisor = math.gcd(*scaled.values())
    integers = {node_id: weight // divisor for node_id, weight in scaled.items()}
    return integers if max(integers.values()) <= LARGEST_WRITTEN_WEIGHT else None


def _near_integers(wanted: Mapping[int, float]) -> dict[int, int]:
    largest = max(wanted.values())
    for top in range(1, LARGEST_WRITTEN_WEIGHT + 1):
        integers = {
            node_id: max(1, round(share / largest * top)) if share > 0 else 0 for node_id, share in wanted.items()
        }
        total = sum(integers.values())
        if all(abs(integers[node_id] / total - share) <= _SHARE_TOLERANCE for node_id, share in wanted.items()):
            break
    return integers


def _node_id(key: object, known: Collection[int]) -> int:
    node_id = as_node_id(key)
    if node_id is None:
        raise WeightError("weights", key, "a node_id")
    if node_id not in known:
        raise WeightError(f"weights.{node_id}", node_id, f"one of the backends {', '.join(map(str, sorted(known)))}")
    return node_id


def _weight(field: str, value: object) -> float:
    expected = f"a number between 0 and {LARGEST_WEIGHT}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WeightError(field, value, expected)
    if not 0 <= value <= LARGEST_WEIGHT:  # NaN compares false, so it ends here too
        raise WeightError(field, value, expected)
    return float(value)


def _number(field: str, text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise WeightError(field, text, f"a number between 0 and {LARGEST_WEIGHT}")
    return float(text)


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
