"""The weights that pgpools spread reads by while runs went through them: a condition like any other, and an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.benchmarks.domain import told_apart
from apps.benchmarks.domain.run_findings import RunFinding

NOT_KNOWN = "weights that are not known"


def of_run(environment: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    """pgpool -> node_id -> weight, of those that the load went through; those that told none are left out."""
    topology = environment.get("topology", {})
    if not topology.get("is_through_pgpool"):
        return {}
    told = {one["name"]: one.get("weights") or {} for one in environment.get("pgpools") or ()}
    named = {one["name"] for one in topology.get("servers") or ()} & told.keys()
    return {name: weights for name, weights in told.items() if weights and name in (named or told)}


def words(environment: Mapping[str, Any]) -> str:
    """As "weights 0/1/3", in the order of the backends; of pgpools that differ, each with its name; "" of none."""
    told = {
        name: "/".join(str(weights[node]) for node in _nodes(weights)) for name, weights in of_run(environment).items()
    }
    if len(set(told.values())) > 1:
        return "weights " + ", ".join(f"{name} {each}" for name, each in sorted(told.items()))
    return f"weights {next(iter(told.values()))}" if told else ""


def conditions(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str | None]:
    """As told_apart.conditions."""
    return told_apart.conditions(runs, words, unknown=NOT_KNOWN)


def of_arm(label: str, environments: Iterable[Mapping[str, Any]]) -> list[RunFinding]:
    """Of the runs of one arm: whether reads were spread by the same weights. Those that do not tell are left."""
    told = told_apart.counted(words(environment) for environment in environments)
    if not told:
        return []
    sentence = f"The runs of {label} were measured under different weights ({told}): that is a difference, too."
    return [{"check": "weights_differ", "ok": False, "sentence": sentence}]


def percent(pgpools: Iterable[Mapping[str, int]], node_id: int) -> float | None:
    """What share of all weights that backend has; None where pgpools differ in it, or none tells."""
    shares = {_share(weights, node_id) for weights in pgpools if sum(weights.values()) > 0}
    return shares.pop() if len(shares) == 1 else None


def _share(weights: Mapping[str, int], node_id: int) -> float:
    return round(100 * weights.get(str(node_id), 0) / sum(weights.values()), 2)


def _nodes(weights: Mapping[str, int]) -> list[str]:
    return sorted(weights, key=int)
