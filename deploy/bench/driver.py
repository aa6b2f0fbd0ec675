"""What it costs a benchmark that Lifeguard starts it: the same pgbench from a shell, by turns, in the same minutes."""

import os
import shlex
import subprocess
import tempfile
from typing import Any

from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.pgbench_output import parse_result
from deploy.bench import runs
from deploy.bench.rollouts import verdict
from deploy.bench.subject import CannotMeasure, Subject

ALLOWED_PERCENT = 1.0
CLIENTS = 4


def measure(subject: Subject, *, pairs: int, seconds: int) -> None:
    app = subject.lab.addresses["app"]
    runs.allow(subject)
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


def _by_lifeguard(subject: Subject, *, seconds: int) -> dict[str, Any]:
    wish = {"workload": "pgbench-select-only", "topology": "primary", "clients": CLIENTS, "duration_s": seconds}
    return runs.carried_out(subject, wish)


def _by_shell(command: list[str], password: str) -> float:
    """The very command that Lifeguard ran."""
    environment = {**os.environ, "PGPASSWORD": password, "PGSSLMODE": "prefer"}
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    tps = parse_result(said.stdout).tps
    if tps is None:
        raise CannotMeasure(f"pgbench printed no rate: {said.stdout}")
    return tps
