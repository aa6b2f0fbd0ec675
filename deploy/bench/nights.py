"""`python -m deploy.bench.nights`: does a campaign tell a regression from a noisy night? Simulated nights.

A night differs from others by what all of its runs share (other tenants, other data on disk); half of that stays when
the night is measured again to confirm it. Prints a table for docs/measurements.md.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from apps.benchmarks.domain.step_change import Change, judge

SEED = 20260102
USUAL_LOG_TPS = math.log(1000.0)
MARGIN_PERCENT = 5.0
BLOCKS = 6
RUN_NOISE = 0.01
SLOWED = 0.02  # share of runs that lose 10 to 40 %
SPREADS = (0.003, 0.006, 0.010, 0.015)
BEFORE = (7, 10, 14)


@dataclass(frozen=True, slots=True)
class Nights:
    """spread: standard deviation of a night. shared: of its variance, what a second look the same night has too."""

    spread: float
    shared: float = 0.5

    def rounds(self, change: float, rng: np.random.Generator) -> Iterator[float]:
        """Rates of one night's rounds, tps: the typical run of each."""
        night = rng.normal(0, self.spread * math.sqrt(self.shared))
        while True:
            own = rng.normal(0, self.spread * math.sqrt(1 - self.shared))
            runs = USUAL_LOG_TPS + math.log1p(change) + night + own + rng.normal(0, RUN_NOISE, BLOCKS)
            lost = np.where(rng.random(BLOCKS) < SLOWED, rng.uniform(0.1, 0.4, BLOCKS), 0.0)
            yield float(np.exp(np.median(runs + np.log1p(-lost))))

    def tells(self, before: list[float], change: float, rng: np.random.Generator) -> bool:
        """Whether somebody is told of this night."""
        rounds = self.rounds(change, rng)
        latest = [next(rounds)]
        if judge(before, latest, margin_percent=MARGIN_PERCENT).change is not Change.SUSPECTED:
            return False
        latest.append(next(rounds))
        return judge(before, latest, margin_percent=MARGIN_PERCENT).change is Change.CONFIRMED

    def before(self, count: int, rng: np.random.Generator) -> list[float]:
        return [next(self.rounds(0.0, rng)) for _ in range(count)]


def false_alarms(nights: Nights, before: int, *, times: int, rng: np.random.Generator) -> float:
    """Share of quiet nights that somebody is told of."""
    return sum(nights.tells(nights.before(before, rng), 0.0, rng) for _ in range(times)) / times


def found_within_two(nights: Nights, before: int, change: float, *, times: int, rng: np.random.Generator) -> float:
    """Share of changes that are told in their first or second night."""
    found = 0
    for _ in range(times):
        quiet = nights.before(before, rng)
        found += nights.tells(quiet, change, rng) or nights.tells(quiet, change, rng)
    return found / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=4000)
    times = parser.parse_args().times
    rng = np.random.default_rng(SEED)
    print("| nights differ by | nights before | quiet nights told of | 5 % slower, told within two nights |")
    print("|---|---|---|---|")
    for spread in SPREADS:
        for before in BEFORE:
            quiet = false_alarms(Nights(spread), before, times=times, rng=rng)
            found = found_within_two(Nights(spread), before, -0.05, times=times, rng=rng)
            print(f"| {100 * spread:.1f} % | {before} | {100 * quiet:.2f} % | {100 * found:.1f} % |")


if __name__ == "__main__":
    main()
