"""Benchmark runs of the demo, asked for and waited for by REST."""

import time
from collections.abc import Mapping
from typing import Any

from deploy.bench.subject import CannotMeasure, Subject, seconds_until

ENDS_WITHIN_S = 600.0
PREPARES_S = 5.0


def allow(subject: Subject) -> None:
    """Load on its cluster, once a pgpool has named the primary."""
    subject.ask_cluster("benchmarks/", body={"is_on": True, **subject.lab.addresses["app"]}, method="PUT")
    seconds_until(lambda: _knows_primary(subject), "a pgpool has named the primary", within_s=ENDS_WITHIN_S)


def carried_out(subject: Subject, wish: Mapping[str, Any], *, prepares_s: float = PREPARES_S) -> dict[str, Any]:
    """One run, done. prepares_s: how long it is left alone before its load."""
    run_id = subject.ask("benchmarks/runs/", body={"cluster": subject.cluster, **wish}, method="POST")["id"]
    # Whoever asks meanwhile takes part of the machine that a shell has to itself.
    time.sleep(wish["duration_s"] + prepares_s)

    def has_ended() -> bool:
        return not subject.ask(f"benchmarks/runs/{run_id}/")["is_active"]

    seconds_until(has_ended, f"run {run_id} ends", within_s=ENDS_WITHIN_S, every_s=0.5)
    found: dict[str, Any] = subject.ask(f"benchmarks/runs/{run_id}/")
    if found["state"] != "done":
        raise CannotMeasure(f"run {run_id} ended {found['state']}: {found['error'] or found['stop_reason']}")
    return found


def _knows_primary(subject: Subject) -> bool:
    return "primary" in {one["key"] for one in subject.ask_cluster("benchmarks/")["topologies"]}
