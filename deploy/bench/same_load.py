"""`python -m deploy.bench.same_load`: are comparisons right on a real server? pgbench runs whose truth is known.

The same script against itself, by turns on the primary of a lab of its own: what is called different there is wrong.
And against scripts of a few statements more, slower by exactly that: how often they are found is held against
what the printed smallest detectable differences claim (`statistics` does the same on simulated runs).

Where few cores are shared by all, a load that keeps them busy varies far more than 10 % from run to run; one that
waits does not, and shows what comparisons do with differences that are about as large as they can see.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apps.benchmarks.domain.comparison import Comparison, compare
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.verdicts import Verdict
from deploy.bench.ended import end_tidily
from deploy.bench.rollouts import verdict
from deploy.bench.statistics import chance
from deploy.bench.subject import CannotMeasure
from deploy.lab import Lab

SLOWED = (1.03, 1.05, 1.11)
MOST_CALLED_PERCENT = 5
DIFFERENT = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True)
class Load:
    """One statement, so often in a transaction."""

    statement: str
    times: int
    clients: int
    told: str


LOADS = {
    "busy": Load("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", 100, 2, "SELECTs by key"),
    "waiting": Load("SELECT pg_sleep(0.001);", 33, 4, "waits of 1 ms"),
}


@dataclass
class Tally:
    """compared: of comparisons whose truth is one. claimed: how many of them should have been found."""

    slower: float
    compared: list[Comparison] = field(default_factory=list)
    claimed: float = 0.0

    def add(self, found: Comparison, *, pairs: int) -> None:
        self.compared.append(found)
        self.claimed += chance(self.slower, found.smallest_detectable_percent, df=pairs - 1) if self.slower else 0.0

    def called(self, *verdicts: Verdict) -> int:
        return sum(one.verdict in verdicts for one in self.compared)

    @property
    def detectable_percent(self) -> float:
        """Typical."""
        return sorted(one.smallest_detectable_percent for one in self.compared)[len(self.compared) // 2]


class Pgbench:
    """Runs of a script of so many statements, each a round trip, against the lab's primary."""

    def __init__(self, lab: Lab, folder: Path, load: Load, *, seconds: int) -> None:
        backend, app = lab.addresses["backends"][0], lab.addresses["app"]
        self._folder, self._load, self._seconds = folder, load, seconds
        self._environment = {**os.environ, "PGPASSWORD": app["password"], "LC_ALL": "C.UTF-8"}
        where = ["--host", backend["host"], "--port", str(backend["port"]), "--username", app["username"]]
        self._begin, self._database = [str(lab.binaries.postgres_bin / "pgbench"), *where], app["database"]
        self._said("--initialize", "--quiet")

    def tps(self, statements: int) -> float:
        script = self._folder / f"{statements}.sql"
        lines = ["\\set aid random(1, 100000)", *[self._load.statement] * statements]
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        clients = ["--client", str(self._load.clients), "--time", str(self._seconds)]
        found = parse_result(self._said("--no-vacuum", *clients, "--file", str(script))).tps
        if found is None:
            raise CannotMeasure("pgbench printed no rate")
        return found

    def _said(self, *words: str) -> str:
        command = [*self._begin, *words, self._database]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"pgbench: {done.stderr}")
        return done.stdout


def blocks_of(pgbench: Pgbench, arms: Sequence[int], *, pairs: int) -> list[list[float]]:
    """Rates of each arm. The order is drawn anew in each block, and the first block does not count."""
    found: list[list[float]] = [[] for _ in arms]
    for block in range(pairs + 1):
        for position in random.sample(range(len(arms)), k=len(arms)):
            rate = pgbench.tps(arms[position])
            if block:
                found[position].append(rate)
    return found


def measure(pgbench: Pgbench, *, statements: int, comparisons: int, slowed: int, pairs: int) -> list[Tally]:
    """The first one: the script against itself. slowed: in how many of the comparisons the longer ones take part."""
    longer = [round(statements * times) for times in SLOWED]
    tallies = [Tally(0.0), *(Tally(1 - statements / more) for more in longer)]
    for number in range(comparisons):
        has_slowed = number * slowed // comparisons < (number + 1) * slowed // comparisons
        arms = (statements, statements, *(longer if has_slowed else ()))
        baseline, *others = blocks_of(pgbench, arms, pairs=pairs)
        for tally, candidate in zip(tallies, others, strict=False):
            tally.add(compare(baseline=baseline, candidate=candidate, paired=True), pairs=pairs)
        if number % 10 == 9:
            print(f"  {number + 1} of {comparisons}: {tallies[0].called(*DIFFERENT)} called different", flush=True)
    return tallies


def lines(tallies: Sequence[Tally]) -> Iterator[str]:
    same, *slower = tallies
    wrong, count = same.called(*DIFFERENT), len(same.compared)
    is_met = verdict(100 * wrong <= MOST_CALLED_PERCENT * count)
    yield (
        f"  the same against itself: {wrong} of {count} called different, "
        f"at most {MOST_CALLED_PERCENT} in 100: {is_met}; "
        f"smallest detectable difference {same.detectable_percent:.1f} %, typically"
    )
    for tally in slower:
        if tally.compared:
            found, faster = tally.called(Verdict.SLOWER), tally.called(Verdict.FASTER)
            yield (
                f"  slower by {100 * tally.slower:.1f} %: found {found} of {len(tally.compared)}, "
                f"{tally.claimed:.1f} claimed; called faster {faster}; "
                f"smallest detectable difference {tally.detectable_percent:.1f} %, typically"
            )


def main() -> int:
    end_tidily()
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.same_load", description=__doc__)
    parser.add_argument("--load", choices=LOADS, default="busy")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--slowed", type=int, default=40, help="of them, those that the longer scripts take part in")
    parser.add_argument("--pairs", type=int, default=6, help="of runs in each; one more is measured first")
    parser.add_argument("--seconds", type=int, default=1, help="of each run")
    asked = parser.parse_args()
    load = LOADS[asked.load]
    with tempfile.TemporaryDirectory(prefix="lifeguard-same-") as name:
        lab = Lab(Path(name) / "lab", pgpool_count=1)
        lab.belongs_to(os.getpid())
        try:
            lab.up()
            pgbench = Pgbench(lab, Path(name), load, seconds=asked.seconds)
            what = f"{asked.pairs} pairs of {asked.seconds} s, {load.clients} clients, {load.times} {load.told} each"
            print(f"Comparisons on a real primary: {what}, load {os.getloadavg()[0]:.1f}", flush=True)
            times = {"comparisons": asked.comparisons, "slowed": asked.slowed, "pairs": asked.pairs}
            found = measure(pgbench, statements=load.times, **times)
            print("\n".join(lines(found)), f"  load after {os.getloadavg()[0]:.1f}", sep="\n", flush=True)
        except CannotMeasure as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            lab.forget()
    return 0


if __name__ == "__main__":
    sys.exit(main())
