"""Where the reads stand after a rollout, over all pgpools and at each, with its place kept before anything is known."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from apps.clusters.control.convergence import ConvergedNode, Finding
from apps.clusters.domain.weights import WeightError, shares
from apps.clusters.queries.rollout_shapes import RolloutAnswer


class ReadsGroup(TypedDict):
    """One part of the table: the cluster as a whole, or one pgpool. as_of: when it was judged latest."""

    title: str
    evidence: str
    as_of: datetime | None
    nodes: list[ConvergedNode]


def reads_groups(answer: RolloutAnswer, names: Mapping[int, str]) -> list[ReadsGroup]:
    """names: node_id -> name. The cluster first, then its pgpools in the order of the rollout."""
    weights = answer["weights_after"]
    is_same_everywhere = len({tuple(sorted(one.items())) for one in weights.values()}) == 1
    everywhere = next(iter(weights.values())) if is_same_everywhere else {}
    groups = [_group("All pgpools", answer["convergence"], everywhere, names)]
    if len(answer["steps"]) > 1:
        groups += [
            _group(step["instance"], step["convergence"], weights.get(step["instance"], {}), names)
            for step in answer["steps"]
        ]
    return groups


def _group(title: str, finding: Finding | None, weights: Mapping[str, float], names: Mapping[int, str]) -> ReadsGroup:
    if finding is not None:
        as_of = datetime.fromisoformat(finding["end"])
        return {"title": title, "evidence": finding["evidence"], "as_of": as_of, "nodes": finding["nodes"]}
    try:
        wanted = shares({int(node_id): weight for node_id, weight in weights.items()})
    except WeightError:
        wanted = {}
    nodes: list[ConvergedNode] = [
        {
            "node_id": node_id,
            "name": name,
            "weight_share": wanted.get(node_id, 0.0),
            "effective_share": wanted.get(node_id, 0.0),
            "observed_share": None,
            "low": None,
            "high": None,
        }
        for node_id, name in sorted(names.items())
    ]
    return {"title": title, "evidence": "nothing counted yet", "as_of": None, "nodes": nodes}
