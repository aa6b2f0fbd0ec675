"""`python -m deploy.bench.break_even [--cases 2000]`: how often the interval of a break-even holds the truth.

Pairs of runs of known t_hit, t_miss and t_none, at seven hit ratios in one, three or six blocks, with the noise of a
run and a machine that drifts by 15 % from pair to pair. 93 to 97 of 100 are wanted.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from apps.query_cache.domain.cache_fit import CachePoint, fit

RATIOS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.8, 0.95)
DRIFT = 0.15
# What the counters say of a ratio is off by so much.
RATIO_NOISE = 0.004


class Truth(NamedTuple):
    """Times of a read in microseconds."""

    none: float
    miss: float
    hit: float

    @property
    def crossing(self) -> float:
        return (self.miss - self.none) / (self.miss - self.hit)


TRUTHS = (Truth(1000, 1060, 20), Truth(60, 70, 10), Truth(60, 90, 17), Truth(60, 150, 30))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.break_even", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="simulated calibrations for each line (2000)")
    asked = parser.parse_args()
    random = np.random.default_rng(7)
    print(f"{'truth':>6} {'noise':>6} {'blocks':>6} {'held':>7} {'± half':>7}  unbounded")
    for truth in TRUTHS:
        for noise in (0.02, 0.05, 0.1):
            for blocks in (1, 3, 6):
                print(_line(random, truth, noise, blocks, asked.cases), flush=True)


def _line(random: np.random.Generator, truth: Truth, noise: float, blocks: int, cases: int) -> str:
    held, halves = 0, []
    for _ in range(cases):
        crossing = fit(_pairs(random, truth, noise, blocks)).crossing()
        if crossing is not None:
            held += crossing.low <= truth.crossing <= crossing.high
            halves.append((crossing.high - crossing.low) / 2)
    share = held / len(halves) if halves else float("nan")
    half = float(np.median(halves)) if halves else float("nan")
    return f"{truth.crossing:6.2f} {noise:6.0%} {blocks:6} {share:7.1%} {half:7.3f}  {cases - len(halves)}"


def _pairs(random: np.random.Generator, truth: Truth, noise: float, blocks: int) -> Sequence[CachePoint]:
    found = []
    for wanted in RATIOS * blocks:
        ratio = float(np.clip(wanted + random.normal(0, RATIO_NOISE), 0, 1))
        speed = np.exp(random.normal(0, DRIFT))
        on, off = speed * np.exp(random.normal(0, noise, 2))
        found.append(CachePoint(ratio, on / (ratio * truth.hit + (1 - ratio) * truth.miss), off / truth.none))
    return found


if __name__ == "__main__":
    main()
