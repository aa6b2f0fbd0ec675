"""`python -m deploy.bench.statistics [--quick]`: are comparisons right? Simulated runs whose truth is known.

No cluster is needed. Every run of a session has a true figure, noise, and what sessions really suffer: drift, runs that
something slowed down, neighbours that resemble one another. Prints tables for docs/measurements.md.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.benchmarks.domain.comparison import Comparison, compare
from apps.benchmarks.domain.intervals import t_quantile
from apps.benchmarks.domain.verdicts import Verdict

SEED = 20260101
USUAL_TPS = 1000.0
PAIRS = (2, 3, 4, 5, 6, 8, 10, 14, 20)
UNEQUAL = ((2, 3), (3, 5), (4, 7), (6, 9), (10, 20))
ROUNDED_NOISE = (0.15, 0.5, 1.0, 2.0)
INJECTED = (0.03, 0.05, 0.10)


@dataclass(frozen=True, slots=True)
class Session:
    """noise: standard deviation of one run; drift: from the first run to the last; slowed: share of runs that lose 10
    to 40 %; likeness: correlation of neighbouring runs. order: of the two within a pair.
    """

    name: str
    order: str = "drawn"
    noise: float = 0.02
    drift: float = 0.0
    slowed: float = 0.0
    likeness: float = 0.0

    def runs(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Logarithms of a session of so many runs, one after the other, all of the same truth."""
        noise = rng.normal(size=count)
        for position in range(1, count):
            noise[position] *= math.sqrt(1 - self.likeness**2)
            noise[position] += self.likeness * noise[position - 1]
        drift = np.log1p(self.drift * np.arange(count) / (count - 1))
        lost = np.where(rng.random(count) < self.slowed, rng.uniform(0.1, 0.4, count), 0.0)
        found: np.ndarray = math.log(USUAL_TPS) + self.noise * noise + drift + np.log1p(-lost)
        return found

    def pairs(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        found = self.runs(2 * count, rng).reshape(count, 2)
        turned = rng.random(count) < 0.5 if self.order == "drawn" else np.arange(count) % 2 == 1
        found[turned] = found[turned, ::-1]
        return found[:, 0], found[:, 1]

    def samples(self, first: int, second: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """In an order drawn over the whole session."""
        found = rng.permutation(self.runs(first + second, rng))
        return found[:first], found[first:]


SESSIONS = (
    Session("noise of 2 % alone"),
    Session("and drift of −10 %", drift=-0.1),
    Session("and 5 % of runs slowed by 10 to 40 %", slowed=0.05),
    Session("and neighbours alike (0.2)", likeness=0.2),
    Session("all three", drift=-0.1, slowed=0.05, likeness=0.2),
    Session("all three, order ABBA", order="ABBA", drift=-0.1, slowed=0.05, likeness=0.2),
    Session("neighbours alike (0.2), order ABBA", order="ABBA", likeness=0.2),
)


def compared(first: np.ndarray, second: np.ndarray, *, truth: float = 0.0) -> Comparison:
    """truth: how much faster the candidate is, as a share, added to what was drawn."""
    return compare(baseline=np.exp(first).tolist(), candidate=((1 + truth) * np.exp(second)).tolist())


def coverage(session: Session, pairs: int | tuple[int, int], *, times: int, rng: np.random.Generator) -> float:
    """The share of 95 % intervals that hold the truth; it is no difference, which scaling makes any other."""
    held = 0
    for _ in range(times):
        drawn = session.pairs(pairs, rng) if isinstance(pairs, int) else session.samples(*pairs, rng)
        found = compared(*drawn)
        held += found.low <= 0 <= found.high
    return held / times


def coverage_of_rounded(
    noise_digits: float, count: int, *, paired: bool, times: int, rng: np.random.Generator
) -> float:
    """The same of whole numbers around 100 whose noise is so many of their last digit; each has a truth of its own."""
    held = 0
    for _ in range(times):
        base, ratio = 100 + rng.random(), math.exp(rng.uniform(-0.03, 0.03))
        first, second = (np.round(of + noise_digits * rng.normal(size=count)) for of in (base, base * ratio))
        found = compare(baseline=first.tolist(), candidate=second.tolist(), paired=paired)
        held += found.low <= 100 * (ratio - 1) <= found.high
    return held / times


def found_at_its_own(session: Session, pairs: int, *, times: int, rng: np.random.Generator) -> tuple[float, float]:
    """(share found, median of the printed smallest detectable difference), where each comparison gets the difference
    that it calls its smallest detectable one."""
    found, printed = 0, []
    for _ in range(times):
        drawn = session.pairs(pairs, rng)
        own = compared(*drawn).smallest_detectable_percent
        printed.append(own)
        found += compared(*drawn, truth=own / 100).verdict is Verdict.FASTER
    return found / times, float(np.median(printed))


def found_and_claimed(
    session: Session, pairs: int, slower: float, *, times: int, rng: np.random.Generator
) -> tuple[float, float]:
    """(share of injected slow-downs called slower, the share that the printed smallest detectable ones claim)."""
    found, claimed = 0, 0.0
    for _ in range(times):
        each = compared(*session.pairs(pairs, rng), truth=-slower)
        found += each.verdict is Verdict.SLOWER
        claimed += chance(slower, each.smallest_detectable_percent, df=pairs - 1)
    return found / times, claimed / times


def chance(slower: float, detectable_percent: float, *, df: int) -> float:
    """Of being found, for one that is so much slower, where detectable_percent is found in 4 of 5 cases."""
    from scipy import special

    bar, spare = t_quantile(0.975, df), t_quantile(0.8, df)
    shift = -math.log1p(-slower) / math.log1p(detectable_percent / 100) * (bar + spare)
    return float(special.stdtr(df, shift - bar))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in (heads, ["---"] * len(heads), *rows):
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def measure(*, times: int) -> None:
    rng = np.random.default_rng(SEED)
    print(f"Share of 95 % intervals that hold the truth, in percent, {times:,} comparisons each, by pairs of runs\n")
    rows = [[s.name, *(percent(coverage(s, pairs, times=times, rng=rng)) for pairs in PAIRS)] for s in SESSIONS]
    table(["session", *map(str, PAIRS)], rows)
    print("The same without pairs, by runs of baseline and candidate, in an order drawn over the session\n")
    drawn = [session for session in SESSIONS if session.order == "drawn"]
    rows = [[s.name, *(percent(coverage(s, sides, times=times, rng=rng)) for sides in UNEQUAL)] for s in drawn]
    table(["session", *(f"{first} and {second}" for first, second in UNEQUAL)], rows)
    print("Without pairs, of whole numbers around 100, by runs of each side\n")
    rows = [
        [f"noise of {n:g}", *(percent(coverage_of_rounded(n, c, paired=False, times=times, rng=rng)) for c in PAIRS)]
        for n in ROUNDED_NOISE
    ]
    table(["", *map(str, PAIRS)], rows)
    print(
        "A difference as large as the printed smallest detectable one (its median): found in percent; 80 is claimed\n"
    )
    rows = []
    for session in SESSIONS:
        cells = [found_at_its_own(session, pairs, times=times, rng=rng) for pairs in PAIRS]
        rows.append([session.name, *(f"{percent(found)} ({printed:.1f} %)" for found, printed in cells)])
    table(["session", *map(str, PAIRS)], rows)
    print("Injected slow-downs: found, and as the printed smallest detectable differences claim, in percent\n")
    rows = []
    for session in SESSIONS:
        for slower in INJECTED:
            cells = [found_and_claimed(session, pairs, slower, times=times, rng=rng) for pairs in PAIRS[2:]]
            rows.append([session.name, f"{100 * slower:g} %", *(f"{percent(f)} / {percent(c)}" for f, c in cells)])
    table(["session", "slower by", *map(str, PAIRS[2:])], rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.statistics", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 comparisons each, not 2,000")
    measure(times=200 if parser.parse_args().quick else 2000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
