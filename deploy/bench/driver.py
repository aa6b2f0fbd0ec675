"""What it costs a benchmark that Lifeguard starts it: the same pgbench from a shell, by turns, in the same minutes."""

import os
import shlex
import subprocess
import tempfile
import time
from typing import Any

from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.pgbench_output import parse_result
from deploy.bench.rollouts import verdict
from deploy.bench.subject import CannotMeasure, Subject, seconds_until

ALLOWED_PERCENT = 1.0
CLIENTS = 4
ENDS_WITHIN_S = 600.0
PREPARES_S = 5.0


def measure(subject: Subject, *, pairs: int, seconds: int) -> None:
    app = subject.lab.addresses["app"]
    subject.ask_cluster("benchmarks/", body={"is_on": True, **app}, method="PUT")
    seconds_until(lambda: _knows_primary(subject), "a pgpool has named the primary", within_s=ENDS_WITHIN_S)
    _by_lifeguard(subject, seconds=3)  # makes the tables
    command = shlex.split(_by_lifeguard(subject, seconds=seconds)["outputs"][-1]["command"])
    ours: list[float] = []
    shell: list[float] = []
    for number in range(pairs):
        for is_ours in (True, False) if number % 2 else (False, True):
            if is_ours:
                ours.append(_by_lifeguard(subject, seconds=seconds)["tps"])
            else:
                shell.append(_by_shell(command, app["password"]))
    found = compare(baseline=shell, candidate=ours, margin_percent=ALLOWED_PERCENT, run_s=seconds)
    print(f"  {pairs} pairs of {seconds} s, {CLIENTS} clients, -S on the primary, order turned each time", flush=True)
    print(f"  started by Lifeguard {found.candidate_median:,.0f} tps, from a shell {found.baseline_median:,.0f} tps")
    interval = f"{found.difference_percent:+.2f} %, 95 % interval {found.low:+.2f} to {found.high:+.2f} %"
    is_met = verdict(found.low >= -ALLOWED_PERCENT and found.high <= ALLOWED_PERCENT)
    print(f"  difference {interval}; allowed are ±{ALLOWED_PERCENT:.0f} %: {is_met}")
    print(f"  smallest difference that these could have shown: {found.smallest_detectable_percent:.2f} %", flush=True)


def _knows_primary(subject: Subject) -> bool:
    return "primary" in {one["key"] for one in subject.ask_cluster("benchmarks/")["topologies"]}


def _by_lifeguard(subject: Subject, *, seconds: int) -> dict[str, Any]:
    wish = {"workload": "pgbench-select-only", "topology": "primary", "clients": CLIENTS, "duration_s": seconds}
    run_id = subject.ask("benchmarks/runs/", body={"cluster": subject.cluster, **wish}, method="POST")["id"]
    time.sleep(seconds + PREPARES_S)  # whoever asks meanwhile takes part of the machine that a shell has to itself

    def has_ended() -> bool:
        return not subject.ask(f"benchmarks/runs/{run_id}/")["is_active"]

    seconds_until(has_ended, f"run {run_id} ends", within_s=ENDS_WITHIN_S, every_s=0.5)
    found: dict[str, Any] = subject.ask(f"benchmarks/runs/{run_id}/")
    if found["state"] != "done":
        raise CannotMeasure(f"run {run_id} ended {found['state']}: {found['error'] or found['stop_reason']}")
    return found


def _by_shell(command: list[str], password: str) -> float:
    """The very command that Lifeguard ran."""
    environment = {**os.environ, "PGPASSWORD": password, "PGSSLMODE": "prefer"}
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    tps = parse_result(said.stdout).tps
    if tps is None:
        raise CannotMeasure(f"pgbench printed no rate: {said.stdout}")
    return tps
