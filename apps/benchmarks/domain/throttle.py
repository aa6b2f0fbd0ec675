"""What a throttle lets through, and how far chance moves it: whether a rate is the throttle's own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from apps.benchmarks.domain.run_figures import Figure

# From here on a rate is called the one that its bound allows.
NEAR = Decimal("0.97")
_SAME = Decimal("0.99")
# A count of starts drawn at random differs by its square root. So many of those are hardly chance (once in 700), and so
# many surely not.
CHANCE, NO_CHANCE = Decimal(3), Decimal("4.5")
# Fewer do not tell a throttle that was reached from a half reached one: 144 - 3 * 12 = 108 are 72 + 4 * 8.5 = 106.
FEWEST_STARTS = 144
_TOLERANCE = Decimal("0.001")
# Below this a run is told as too short.
USUAL_S = Decimal(60)


@dataclass(frozen=True, slots=True)
class Throttle:
    """per_s: in the unit of the rate. duration_s: None where not known. batch: of that unit in one transaction.

    is_even: starts are not drawn at random, so chance moves nothing.
    """

    per_s: Decimal
    duration_s: Decimal | None
    batch: int
    is_even: bool = False

    @property
    def ceiling(self) -> Decimal:
        """A token bucket that starts full holds the tokens of one second, and at least those of one batch.

        So in T seconds r T + max(r, batch) are let through. Without the duration the bucket is left out.
        """
        if not self.duration_s:
            return self.per_s
        return self.per_s + max(self.per_s, Decimal(self.batch)) / self.duration_s

    def by_chance(self, deviations: Decimal) -> tuple[Decimal, Decimal]:
        """The least and the largest rate that starts drawn at random make of it: so pgbench and sysbench throttle.

        Of r T expected starts r T ± sqrt(r T); roots are compared, as they differ by 1/2 however many there are.
        Without the duration the least is that of a run that is not too short, and the largest what one second may let
        through from a bucket.
        """
        if self.is_even:
            return self.per_s, self.per_s
        duration_s = self.duration_s or USUAL_S
        root = self._starts(duration_s).sqrt()
        each = self.batch / duration_s
        least, largest = max(Decimal(0), root - deviations / 2) ** 2 * each, (root + deviations / 2) ** 2 * each
        return least, largest if self.duration_s else max(largest, self.per_s * 2)

    def is_reached(self, rate: Figure) -> bool | None:
        """Whether the rate is the throttle's. None: chance may have made it of a throttle, or may not."""
        if self.is_near(rate):
            return True
        if rate.high < self.by_chance(NO_CHANCE)[0]:
            return False
        is_told = self.duration_s is not None and self._starts(self.duration_s) >= FEWEST_STARTS
        return True if is_told and rate.high >= self.by_chance(CHANCE)[0] else None

    def is_near(self, rate: Figure) -> bool:
        """Without chance. One without a bucket lets just its rate through, far below the ceiling in a short run."""
        return rate.value >= NEAR * self.ceiling or rate.value >= _SAME * self.per_s

    def is_exceeded(self, rate: Figure) -> bool:
        """By more than a bucket and chance allow."""
        return rate.low > max(self.ceiling * (1 + _TOLERANCE), self.by_chance(NO_CHANCE)[1])

    def _starts(self, duration_s: Decimal) -> Decimal:
        return self.per_s * duration_s / self.batch
