"""What watching costs: transactions per second through a pgpool with and without Lifeguard, by turns."""

import math
import os
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scipy import stats

from deploy.bench.subject import CannotMeasure, Subject
from deploy.processes import Process, send

# A text that never comes again passes the query cache by.
SCRIPT = (
    "\\set account random(1, 10000)\n\\set once random(1, 1000000000)\n"
    "SELECT balance FROM accounts WHERE id = :account AND :once = :once;\n"
)
SETTLE_S = 6.0
TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)


def measure(subject: Subject, *, pairs: int, seconds: int) -> None:
    watchers = subject.program("worker", "--queues=poll")
    ratios: list[float] = []
    with stopped(subject.program("deploy.lab.load")):
        pgbench(subject, seconds=3)
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            found = {watched: run(subject, watchers, is_watched=watched, seconds=seconds) for watched in order}
            ratios.append(found[True] / found[False])
            print(f"  pair {number + 1}: {found[True]:.0f} tps watched, {found[False]:.0f} not", flush=True)
    middle, margin = interval(ratios)
    lost, noise = (1 - middle) * 100, margin * 100
    print(f"  watching costs {lost:.2f} % of the tps, give or take {noise:.2f} (95 % interval of {pairs} pairs)")
    print(f"  allowed are 0.5 %: {judgement(lost, noise)}")


def judgement(lost: float, noise: float) -> str:
    if lost + noise <= 0.5:
        return "met"
    if lost - noise > 0.5:
        return "NOT MET"
    return f"not to be told apart: this machine's noise is {noise:.2f} %"


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of its 95 % interval, by Student's t."""
    if len(ratios) < 2:
        return statistics.fmean(ratios), math.inf
    width = float(stats.t.ppf(0.975, len(ratios) - 1))
    return statistics.fmean(ratios), width * statistics.stdev(ratios) / math.sqrt(len(ratios))


def run(subject: Subject, watchers: Sequence[Process], *, is_watched: bool, seconds: int) -> float:
    if is_watched:
        time.sleep(SETTLE_S)  # until the workers watch again
        return pgbench(subject, seconds=seconds)
    with stopped(watchers):
        time.sleep(SETTLE_S)  # as long as the other, so that both start alike
        return pgbench(subject, seconds=seconds)


@contextmanager
def stopped(known: Sequence[Process]) -> Iterator[None]:
    try:
        for process in known:
            send(process, signal.SIGSTOP)
        yield
    finally:
        for process in known:
            send(process, signal.SIGCONT)


def pgbench(subject: Subject, *, seconds: int) -> float:
    pgpool, app = subject.lab.plan.pgpools[0], subject.lab.addresses["app"]
    script = subject.place.directory / "bench.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [
        subject.lab.binaries.postgres("pgbench"), "--no-vacuum", "--protocol=simple", "--client=2", "--jobs=1",
        f"--time={seconds}", f"--file={script}", "--host", pgpool.host, "--port", str(pgpool.port),
        "--username", app["username"], app["database"],
    ]  # fmt: skip
    env = {"PATH": os.defpath, "PGPASSWORD": app["password"], "PGSSLMODE": "disable", "LC_ALL": "C.UTF-8"}
    # A pgbench whose server hangs never ends by itself.
    done = subprocess.run(
        command, env=env, cwd=Path("/"), text=True, capture_output=True, timeout=seconds + 60, check=False
    )
    match = TPS.search(done.stdout)
    if done.returncode or match is None:
        raise CannotMeasure(f"pgbench: {done.stderr.strip()[-500:]}")
    return float(match[1])
