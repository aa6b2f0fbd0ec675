"""`python -m deploy.bench.durability`: what commits that wait cost in p50 and p99, in a demo of its own.

Replication modes are set on the lab's primary by turns (no standby, asynchronous, one synchronous and one potential);
under each of them every level of synchronous_commit is measured: TPC-B by pgbench through Lifeguard, in blocks whose
order is drawn anew, the first one set apart. The lab's servers write to their disk for it, which they do not else.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from apps.benchmarks.domain.arms import spread
from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.comparison_words import signed
from apps.benchmarks.domain.replication import ASYNCHRONOUS, NO_STANDBY
from apps.benchmarks.domain.topologies import COMMIT, COMMIT_LEVELS
from deploy.bench import runs
from deploy.bench.ended import end_tidily
from deploy.bench.many import demo_with
from deploy.bench.subject import CannotMeasure, Subject
from deploy.lab import Lab, synchronous
from deploy.lab.plan import Backend

SYNCHRONOUS = "1 synchronous, 1 potential"
MODES = (NO_STANDBY, ASYNCHRONOUS, SYNCHRONOUS)
PERCENTILES = ("p50", "p99")
# What others are held against, within a mode: it waits for the primary's own disk alone.
BASE = "local"
CLIENTS, SCALE, PGPOOLS = 4, 10, 3
DURABLE = ("fsync", "full_page_writes")
PREPARES_S = 1.0
# (mode, level) -> percentile -> milliseconds, a value for each block
Figures = dict[tuple[str, str], dict[str, list[float]]]


def measure(subject: Subject, *, blocks: int, seconds: int) -> Figures:
    found: Figures = {(mode, level): {name: [] for name in PERCENTILES} for mode in MODES for level in COMMIT_LEVELS}
    runs.allow(subject)
    with durable(subject.lab):
        for block in range(blocks + 1):
            for mode in shuffled(MODES):
                with replicated(subject.lab, mode):
                    for level in shuffled(COMMIT_LEVELS):
                        latency = latencies(subject, mode, level, seconds=seconds)
                        for name in PERCENTILES if block else ():
                            found[mode, level][name].append(latency[name])
            print(f"  block {block} of {blocks} is measured", flush=True)
    return found


def shuffled(names: Sequence[str]) -> list[str]:
    return random.sample(list(names), k=len(names))


@contextmanager
def replicated(lab: Lab, mode: str) -> Iterator[None]:
    """As the lab made it afterwards."""
    backends = lab.backends
    try:
        if mode == NO_STANDBY:
            synchronous.cut_off(backends)
        elif mode == SYNCHRONOUS:
            synchronous.set_names(backends, synchronous.first_of(backends))
        yield
    finally:
        synchronous.put_back(backends)


@contextmanager
def durable(lab: Lab) -> Iterator[None]:
    """Every server waits for its disk, as servers do that are not thrown away."""
    try:
        for backend in lab.plan.backends:
            _tell(lab, backend, "SET {} = on")
        yield
    finally:
        for backend in lab.plan.backends:
            _tell(lab, backend, "RESET {}")


def _tell(lab: Lab, backend: Backend, change: str) -> None:
    with lab.backends.connect(backend) as session:
        for name in DURABLE:
            session.execute(f"ALTER SYSTEM {change.format(name)}".encode())
        session.execute("SELECT pg_reload_conf()")


def latencies(subject: Subject, mode: str, level: str, *, seconds: int) -> Mapping[str, float]:
    wish = {
        "workload": "pgbench-tpcb-like", "topology": f"{COMMIT}:{level}", "clients": CLIENTS, "duration_s": seconds,
        "parameters": {"scale": SCALE},
    }  # fmt: skip
    run = runs.carried_out(subject, wish, prepares_s=PREPARES_S)
    known = run["environment"]["replication"]
    if (known["mode"], known["synchronous_commit"], known["fsync"]) != (mode, level, True):
        raise CannotMeasure(f"run {run['id']} was to be measured under {mode} at {level}, and tells {known}")
    found: Mapping[str, float] = run["latency_ms"]
    return found


def lines(found: Figures) -> Iterator[str]:
    """A table: each level under each mode, what it costs against local there, and what modes cost at the level on."""
    for mode in MODES:
        yield f"  {mode}"
        for level in COMMIT_LEVELS:
            cells = [f"{name} {_spread(found[mode, level][name])}" for name in PERCENTILES]
            against = [
                f"{name} {_difference(found[mode, BASE][name], found[mode, level][name])}" for name in PERCENTILES
            ]
            yield f"    {level:<12} {'; '.join(cells)}" + (
                f"; against {BASE}: {', '.join(against)}" if level != BASE else ""
            )
    for mode in (NO_STANDBY, SYNCHRONOUS):
        against = [
            f"{name} {_difference(found[ASYNCHRONOUS, 'on'][name], found[mode, 'on'][name])}" for name in PERCENTILES
        ]
        yield f"  {mode} against {ASYNCHRONOUS}, both at on: {', '.join(against)}"


def _spread(values: Sequence[float]) -> str:
    """Typical run and its 95 % interval: 2.41 ms (2.30 to 2.52)"""
    known = spread(values)
    ends = "" if known.low is None or known.high is None else f" ({known.low:.2f} to {known.high:.2f})"
    return f"{known.middle:.2f} ms{ends}"


def _difference(before: Sequence[float], after: Sequence[float]) -> str:
    known = compare(baseline=before, candidate=after, higher_is_better=False, paired=True, unit="ms")
    size = f"{'−' if known.difference < 0 else '+'}{abs(known.difference):.2f} ms"
    return f"{size} ({signed(known.difference_percent)}; {signed(known.low)} to {signed(known.high)})"


def main() -> int:
    end_tidily()
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.durability", description="What durability costs.")
    parser.add_argument("--blocks", type=int, default=10, help="that count; one more is measured first")
    parser.add_argument("--seconds", type=int, default=5, help="of each run")
    asked = parser.parse_args()
    try:
        with demo_with(PGPOOLS) as subject:
            print(
                f"Durability: {asked.blocks} blocks of {len(MODES) * len(COMMIT_LEVELS)} runs of {asked.seconds} s, "
                f"TPC-B of scale {SCALE} by {CLIENTS} clients, all on one machine; 95 % intervals", flush=True,
            )  # fmt: skip
            for line in lines(measure(subject, blocks=asked.blocks, seconds=asked.seconds)):
                print(line, flush=True)
    except (CannotMeasure, synchronous.NotReplicated) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
