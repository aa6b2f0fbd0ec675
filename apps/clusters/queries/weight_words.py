"""Weights in words: plain shares of new sessions by the names of the backends; the integers are said beside them."""

from collections.abc import Mapping, Sequence

from apps.clusters.domain.weights import WeightError, shares
from apps.clusters.models import Cluster

# instance name -> node_id -> backend_weight
Weights = Mapping[str, Mapping[str, float]]
Names = Mapping[int, str]

_LEAST_SHOWN = 0.0005
MOST_NAMED = 4


def backend_names(*, cluster: Cluster) -> dict[int, str]:
    """node_id -> name, in the order of the backends. What was prefetched is not asked for again."""
    backends = sorted(cluster.backends.all(), key=lambda backend: backend.node_id)
    return {backend.node_id: backend.shown_name for backend in backends}


def shares_text(weights: Weights, names: Names) -> str:
    """pg1 0 %, pg2 25 %, pg3 75 %; per pgpool where they differ. names: node_id -> name."""
    return _said_once({instance: _named_shares(by_node, names) for instance, by_node in weights.items()})


def change_text(before: Weights, after: Weights, names: Names) -> str:
    """pg1 0 %, pg2 50 %, pg3 50 % → 0 %, 25 %, 75 %; per pgpool where they differ."""
    return _said_once(
        {instance: _change(before.get(instance, {}), by_node, names) for instance, by_node in after.items()}
    )


def names_text(names: Sequence[str]) -> str:
    """Parameters in a line: max_pool, port and 3 more."""
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown


def integers_text(weights: Weights) -> str:
    """As they stand in pgpool.conf: 0 / 1 / 3, or per pgpool where they differ."""
    return _said_once({instance: _integers(by_node) for instance, by_node in weights.items()})


def _said_once(texts: Mapping[str, str]) -> str:
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{instance}: {text}" for instance, text in texts.items())


def _change(before: Mapping[str, float], after: Mapping[str, float], names: Names) -> str:
    old, new = _named_shares(before, names), _named_shares(after, names)
    if not old:
        return new
    if old == new:
        return f"{new}, as before"
    percents = _percents(after)
    is_short = before.keys() == after.keys() and percents is not None
    return f"{old} → {', '.join(percents.values()) if is_short and percents else new}"


def _named_shares(by_node: Mapping[str, float], names: Names) -> str:
    percents = _percents(by_node)
    if percents is None:
        return "all weights 0" if by_node else ""
    return ", ".join(f"{names.get(node_id, f'backend {node_id}')} {percent}" for node_id, percent in percents.items())


def _percents(by_node: Mapping[str, float]) -> dict[int, str] | None:
    """In the order of the backends; None where no share is defined."""
    try:
        found = shares({int(node_id): weight for node_id, weight in by_node.items()})
    except WeightError:
        return None
    return {node_id: _percent(found[node_id]) for node_id in sorted(found)}


def _percent(share: float) -> str:
    if 0 < share < _LEAST_SHOWN:
        return "<0.1 %"
    return f"{f'{share * 100:.1f}'.removesuffix('.0')} %"


def _integers(by_node: Mapping[str, float]) -> str:
    return " / ".join(
        f"{by_node[node_id]:g}" if by_node[node_id] < 1e6 else str(by_node[node_id])
        for node_id in sorted(by_node, key=int)
    )
