"""Addresses that runs were measured at: runs that were asked to be the same may have found different servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.benchmarks.domain import told_apart
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.topologies import place_of

NOT_KNOWN = "an address that is not known"


def of_run(environment: Mapping[str, Any]) -> str:
    """As 10.0.0.1:9999, 10.0.0.2:9999, whatever their order; "" of a run that does not tell."""
    servers: Sequence[Mapping[str, Any]] = environment.get("topology", {}).get("servers") or ()
    return ", ".join(sorted(place_of(one["host"], one["port"]) for one in servers))


def conditions(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str | None]:
    """Where each was measured, as told_apart.conditions."""
    return told_apart.conditions(runs, of_run, unknown=NOT_KNOWN)


def of_arm(label: str, environments: Iterable[Mapping[str, Any]]) -> list[RunFinding]:
    """Of the runs of one arm: whether they were measured at the same address. Those that do not tell are left."""
    told = told_apart.counted(of_run(environment) for environment in environments)
    if not told:
        return []
    sentence = f"The runs of {label} were measured at different addresses ({told}): that is a difference, too."
    return [{"check": "address_differs", "ok": False, "sentence": sentence}]
