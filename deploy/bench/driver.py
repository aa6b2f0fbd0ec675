"""What it costs a benchmark that Lifeguard starts it: the same pgbench from a shell, by turns, in the same minutes.

With a load that keeps the cores busy, and with one that waits: where all share a few cores it varies less, and shows
more.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.pgbench_output import parse_result
from deploy.bench import runs
from deploy.bench.rollouts import verdict
from deploy.bench.subject import CannotMeasure, Subject

ALLOWED_PERCENT = 1.0
CLIENTS = 4
WAITS = {"name": "waits", "sql": "SELECT pg_sleep(0.001);\n" * 33}
LOADS: Mapping[str, Mapping[str, Any]] = {
    "-S": {"workload": "pgbench-select-only"},
    "33 waits of 1 ms": {
        "workload": "pgbench-scripts", "parameters": {"scale": 1, "writes": False, "scripts": [WAITS]},
    },
}  # fmt: skip


def measure(subject: Subject, *, pairs: int, seconds: int) -> None:
    runs.allow(subject)
    for told, load in LOADS.items():
        print(
            f"  {pairs} pairs of {seconds} s, {CLIENTS} clients, {told} on the primary, order turned each time",
            flush=True,
        )
        _compare(subject, load, pairs=pairs, seconds=seconds)


def _compare(subject: Subject, load: Mapping[str, Any], *, pairs: int, seconds: int) -> None:
    password = subject.lab.addresses["app"]["password"]
    _by_lifeguard(subject, load, seconds=3)  # makes the tables
    command = shlex.split(_by_lifeguard(subject, load, seconds=seconds)["outputs"][-1]["command"])
    ours: list[float] = []
    shell: list[float] = []
    for number in range(pairs):
        for is_ours in (True, False) if number % 2 else (False, True):
            if is_ours:
                ours.append(_by_lifeguard(subject, load, seconds=seconds)["tps"])
            else:
                shell.append(_by_shell(command, password))
    found = compare(baseline=shell, candidate=ours, margin_percent=ALLOWED_PERCENT, run_s=seconds)
    print(f"  started by Lifeguard {found.candidate_median:,.0f} tps, from a shell {found.baseline_median:,.0f} tps")
    interval = f"{found.difference_percent:+.2f} %, 95 % interval {found.low:+.2f} to {found.high:+.2f} %"
    is_met = verdict(found.low >= -ALLOWED_PERCENT and found.high <= ALLOWED_PERCENT)
    print(f"  difference {interval}; allowed are ±{ALLOWED_PERCENT:.0f} %: {is_met}")
    print(f"  smallest difference that these could have shown: {found.smallest_detectable_percent:.2f} %", flush=True)


def _by_lifeguard(subject: Subject, load: Mapping[str, Any], *, seconds: int) -> dict[str, Any]:
    return runs.carried_out(subject, {**load, "topology": "primary", "clients": CLIENTS, "duration_s": seconds})


def _by_shell(ran: Sequence[str], password: str) -> float:
    """ran: the very command that Lifeguard ran; its script lay in the folder of the run, which is gone."""
    environment = {**os.environ, "PGPASSWORD": password, "PGSSLMODE": "prefer"}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "1.sql")
        script.write_text(WAITS["sql"], encoding="utf-8")
        command = [f"--file={script}" if word.startswith("--file=") else word for word in ran]
        said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    tps = parse_result(said.stdout).tps
    if tps is None:
        raise CannotMeasure(f"pgbench printed no rate: {said.stdout}")
    return tps
