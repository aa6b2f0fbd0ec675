"""CPU time that watching takes: of the cluster's servers, and of Lifeguard itself. Steadier than tps by far."""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from deploy import processes
from deploy.bench.intervals import interval
from deploy.bench.subject import Subject
from deploy.bench.turns import COUNTED_S, SETTLE_S, by_turns
from deploy.lab import processes as lab_processes
from deploy.processes import Process

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def measure(subject: Subject, watchers: Sequence[Process], *, pairs: int) -> float:
    """Percent of this machine's CPU time that watching takes of the cluster's servers, which are otherwise at rest."""
    taken: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for is_watched in by_turns(watchers, pairs=pairs):
        time.sleep(SETTLE_S)
        taken[is_watched].append(_taken(subject))
    servers, margin = interval(
        [watched[0] - alone[0] for watched, alone in zip(taken[True], taken[False], strict=True)]
    )
    own = statistics.fmean(own for _, own in taken[True])
    cores = os.cpu_count() or 1
    count = len(subject.lab.plan.servers)
    print(
        f"  CPU time that watching takes of {count} servers at rest: {servers * 1000:.1f} ms/s, give or take"
        f" {margin * 1000:.1f}: {_percent(servers):.2f} % of {cores} cores"
    )
    print(f"  Lifeguard itself, all its processes: {own * 1000:.1f} ms/s: {_percent(own):.2f} % of {cores} cores")
    return _percent(servers)


def _percent(cpu_s_per_s: float) -> float:
    return 100 * cpu_s_per_s / (os.cpu_count() or 1)


def _taken(subject: Subject) -> tuple[float, float]:
    """CPU seconds per second over one turn: of the cluster's servers, and of Lifeguard's processes."""
    begun, before = time.monotonic(), (_servers(subject), _own(subject))
    time.sleep(COUNTED_S)
    passed, after = time.monotonic() - begun, (_servers(subject), _own(subject))
    return (after[0] - before[0]) / passed, (after[1] - before[1]) / passed


def _servers(subject: Subject) -> float:
    lab = subject.lab
    folders = [Path(lab.addresses["data"]) / server.name for server in lab.plan.servers]
    return sum(cpu_s(one.pid) for folder in folders for one in lab_processes.members(folder, lab.account))


def _own(subject: Subject) -> float:
    return sum(cpu_s(one.pid) for one in processes.descendants(subject.keeper.pid))


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process and its ended, waited-for children have had; 0 for one that is gone.

    Over a server's living processes the sum never falls: what a child had passes to its parent when it ends.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS_PER_S
