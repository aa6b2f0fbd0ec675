"""What watching costs: transactions per second through a pgpool with and without Lifeguard, by turns, and CPU time."""

import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from deploy.bench import cpu_time
from deploy.bench.intervals import interval
from deploy.bench.subject import CannotMeasure, Subject
from deploy.bench.turns import COUNTED_S, SETTLE_S, by_turns, stopped
from deploy.processes import Process

# A text that never comes again passes the query cache by.
SCRIPT = (
    "\\set account random(1, 10000)\n\\set once random(1, 1000000000)\n"
    "SELECT balance FROM accounts WHERE id = :account AND :once = :once;\n"
)
ALLOWED_PERCENT = 0.5
PROGRESS = re.compile(r"^progress: [\d.]+ s, ([\d.]+) tps")


@dataclass(frozen=True)
class Turn:
    """A stretch of time (time.monotonic) and whether Lifeguard watched in it."""

    is_watched: bool
    begins: float
    ends: float


def measure(subject: Subject, *, pairs: int) -> None:
    """pairs: of pgbench turns, 64 s each; half as many measure CPU time, which is steadier."""
    watchers = subject.program("worker", "--queues=poll")
    with stopped(subject.program("deploy.lab.load")):
        taken = cpu_time.measure(subject, watchers, pairs=max(2, pairs // 2))
        ratios = tps_ratios(subject, watchers, pairs=pairs)
    middle, margin = interval(ratios)
    lost, noise = (1 - middle) * 100, margin * 100
    print(f"  pgbench, watched against not: {lost:.2f} % fewer tps, give or take {noise:.2f} (95 %, {pairs} pairs)")
    print(f"  allowed are {ALLOWED_PERCENT} %: {judgement(lost, noise, taken)}")


def judgement(lost: float, noise: float, taken: float) -> str:
    """All in percent. tps decide where they can tell; otherwise the CPU time taken of the servers does, and says so."""
    if lost + noise <= ALLOWED_PERCENT:
        return "met"
    if lost - noise > ALLOWED_PERCENT:
        return "NOT MET"
    by_cpu = "met" if taken <= ALLOWED_PERCENT else "NOT MET"
    return f"{by_cpu} by CPU time; tps cannot tell, this machine's noise is {noise:.2f} %"


def tps_ratios(subject: Subject, watchers: Sequence[Process], *, pairs: int) -> list[float]:
    """tps watched / tps not, one per pair of neighbouring turns of one pgbench: its sessions keep their backends."""
    turns: list[Turn] = []
    with pgbench(subject, seconds=int(pairs * 2 * (SETTLE_S + COUNTED_S) + 2 * SETTLE_S)) as told:
        time.sleep(SETTLE_S)
        for is_watched in by_turns(watchers, pairs=pairs):
            time.sleep(SETTLE_S)
            begun = time.monotonic()
            time.sleep(COUNTED_S)
            turns.append(Turn(is_watched, begun, time.monotonic()))
    return [ratio(told, first, second) for first, second in zip(turns[::2], turns[1::2], strict=True)]


def ratio(told: Sequence[tuple[float, float]], first: Turn, second: Turn) -> float:
    """told: (time, tps of the second before it)."""
    found = {}
    for turn in (first, second):
        within = [tps for at, tps in told if turn.begins < at <= turn.ends]
        if not within:
            raise CannotMeasure("pgbench told no progress for a whole turn")
        found[turn.is_watched] = statistics.fmean(within)
    return found[True] / found[False]


@contextmanager
def pgbench(subject: Subject, *, seconds: int) -> Iterator[list[tuple[float, float]]]:
    """Runs beside the block; yields what it tells, one (time, tps) a second, complete once the block has ended."""
    pgpool, app = subject.lab.plan.pgpools[0], subject.lab.addresses["app"]
    script = subject.place.directory / "bench.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [
        subject.lab.binaries.postgres("pgbench"), "--no-vacuum", "--protocol=simple", "--client=2", "--jobs=1",
        "--progress=1", f"--time={seconds}", f"--file={script}", "--host", pgpool.host, "--port", str(pgpool.port),
        "--username", app["username"], app["database"],
    ]  # fmt: skip
    env = {"PATH": os.defpath, "PGPASSWORD": app["password"], "PGSSLMODE": "disable", "LC_ALL": "C.UTF-8"}
    told: list[tuple[float, float]] = []
    said: list[str] = []
    running = subprocess.Popen(
        command, env=env, cwd=Path("/"), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )

    def listen() -> None:
        for line in running.stderr or ():
            said.append(line)
            if match := PROGRESS.match(line):
                told.append((time.monotonic(), float(match[1])))

    listener = Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield told
        running.wait(timeout=60)  # one whose server hangs never ends by itself
    except subprocess.TimeoutExpired as error:
        raise CannotMeasure(f"pgbench did not end: {''.join(said[-3:])}") from error
    finally:
        running.kill()
        listener.join(timeout=5)
    if running.returncode:
        raise CannotMeasure(f"pgbench: {''.join(said[-3:])}")
