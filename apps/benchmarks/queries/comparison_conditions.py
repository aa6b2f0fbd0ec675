"""What the runs of a comparison were measured under, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from apps.benchmarks.domain import address_words, environment_words, replication_words, weight_words
from apps.benchmarks.domain.comparison_plan import Arm
from apps.benchmarks.domain.replication_words import Waits
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.sweep_limits import Load
from apps.benchmarks.domain.workloads import RECONNECT, THROTTLE, WORKLOADS
from apps.benchmarks.models import BenchmarkRun

if TYPE_CHECKING:  # scipy takes half a second, which no other request should pay for
    from apps.benchmarks.domain.arms import Spread

WORKLOADS_DIFFER = "The arms run different workloads, so their rates are no ranking."


def modes(runs: Sequence[BenchmarkRun]) -> list[str]:
    """Of replication, each once, in the order of the runs; those that are known."""
    return list(dict.fromkeys(mode for run in runs if (mode := replication_words.mode_of(run.environment))))


def waits(runs: Sequence[BenchmarkRun]) -> Waits:
    """What the commits of one arm waited for."""
    found = [run.environment for run in runs]
    return Waits(
        _only([replication_words.mode_of(each) for each in found]),
        _only([replication_words.level_of(each) for each in found]),
        _only([address_words.of_run(each) for each in found]),
    )


def addresses(runs: Sequence[BenchmarkRun]) -> list[str]:
    """That the runs of one arm were measured at, each once, in their order; those that are known."""
    return list(dict.fromkeys(found for run in runs if (found := address_words.of_run(run.environment))))


def load(arm: Arm, runs: Sequence[BenchmarkRun], spreads: Mapping[str, Spread]) -> Load:
    """What a place of a sweep was loaded with."""
    parameters, workload = arm["parameters"], WORKLOADS.get(arm["workload"])
    is_free = not parameters.get(THROTTLE.name) and not parameters.get(RECONNECT.name)
    mean = spreads.get("mean_ms")
    at_throttle = sum(
        any(one["check"] == "throttle_bound" and not one["ok"] for one in run.findings) for run in runs
    )  # fmt: skip
    return Load(
        clients=arm["clients"],
        mean_ms=None if mean is None else mean.middle,
        is_closed_loop=is_free and workload is not None and workload.is_closed_loop,
        is_at_throttle=at_throttle * 2 > len(runs),
    )


def findings(runs: Sequence[BenchmarkRun], *, are_blocks: bool) -> list[RunFinding]:
    """Each thing that is wrong with a run that counts, once, with how many it is true of.

    are_blocks: runs that were picked may differ in how they were replicated: their arms tell it.
    """
    found: dict[str, list[RunFinding]] = {}
    for run in runs:
        for one in run.findings:
            if not one["ok"]:
                found.setdefault(one["check"], []).append(one)
    told: list[RunFinding] = [
        {"check": check, "ok": False, "sentence": f"{len(each)} of {len(runs)} runs: {each[0]['sentence']}"}
        for check, each in found.items()
    ]
    environments = [run.environment for run in runs]
    told += environment_words.of_preparing(environments)
    return [*told, *(replication_words.of_comparison(environments) if are_blocks else [])]


def of_workloads(labels: Sequence[str], arms: Sequence[Arm]) -> list[RunFinding]:
    """Whether what is counted is the same everywhere: a transaction of one workload is none of another."""
    by_workload: dict[str, list[str]] = {}
    for label, arm in zip(labels, arms, strict=True):
        by_workload.setdefault(arm["workload"], []).append(label)
    if len(by_workload) < 2:
        return []
    told = "; ".join(f"{workload}: {', '.join(names)}" for workload, names in by_workload.items())
    sentence = f"{WORKLOADS_DIFFER} What one of them counts is nothing that another counts ({told})."
    return [{"check": "workloads_differ", "ok": False, "sentence": sentence}]


def of_arms(labels: Sequence[str], counted: Sequence[Sequence[BenchmarkRun]]) -> list[RunFinding]:
    """counted: the runs of each arm that count."""
    found = []
    for label, runs in zip(labels, counted, strict=True):
        environments = [run.environment for run in runs]
        found += [*address_words.of_arm(label, environments), *weight_words.of_arm(label, environments)]
    return found


def _only(values: Sequence[str]) -> str | None:
    """The one that all have; None where they differ, or one is not known."""
    return values[0] if values and values[0] and len(set(values)) == 1 else None
