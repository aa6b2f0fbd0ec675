"""How many draws it takes to say that reads follow the weights, and how many are missing: in sessions, or in reads."""

import math
from dataclasses import dataclass

from apps.clusters.domain import routing_words
from apps.clusters.domain.routing import Verdict

# Draws enough that chance moves no share by more than 10 points, 95 times in 100; and never fewer than 10.
BAND = 0.10
Z_95 = 1.96
FEWEST_DRAWS = 10
# Where one backend takes all there is no chance to measure. 300 reads there, and none elsewhere, say with the same
# confidence that less than 1 in 100 goes elsewhere: the rule of three.
UNSPREAD_DRAWS_PER_READ = FEWEST_DRAWS / 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """draws: how many times chance chose a backend, None where that cannot be counted; needed: how many it takes.

    draws_per_read: None where it is not known. counts_sessions: false where pgpool never does.
    """

    draws: float | None
    needed: int
    reads: int
    draws_per_read: float | None
    statement_level: bool
    counts_sessions: bool

    @property
    def is_in_reads(self) -> bool:
        return self.statement_level or not self.counts_sessions

    @property
    def missing(self) -> int | None:
        """Draws."""
        return None if self.draws is None else max(0, math.ceil(self.needed - self.draws))

    @property
    def missing_sessions(self) -> int | None:
        return self.missing if self.statement_level or self.counts_sessions else None

    @property
    def missing_reads(self) -> int | None:
        if not self.is_in_reads or self.missing is None:
            return None
        if self.statement_level or not self.missing:
            return self.missing
        return None if self.draws_per_read is None else math.ceil(self.missing / self.draws_per_read)

    @property
    def more_needed(self) -> str:
        """A sentence; empty where nothing is missing, or nobody can say what."""
        number = self.missing_reads if self.is_in_reads else self.missing
        if number:
            return routing_words.more_needed(number, in_reads=self.is_in_reads)
        return routing_words.not_measured_yet() if number is None and not self.counts_sessions else ""

    @property
    def text(self) -> str:
        if self.draws is None:
            return "sessions are not counted"
        if self.counts_sessions or self.statement_level:
            said = routing_words.counted(self.draws, statement_level=self.statement_level)
            return f"{said}, needs about {self.missing:,} more" if self.missing else said
        said = routing_words.unequal(None, self.draws) if self.reads else "no reads"
        number = self.missing_reads
        return f"{said}, needs about {number:,} more reads" if number else said


def evidence_of(
    verdict: Verdict, *, statement_level: bool, counts_sessions: bool, draws_per_read: float | None
) -> Evidence:
    """draws_per_read: what is usual, for a time without reads."""
    draws = verdict.draws
    if draws is None and not verdict.reads:
        draws = 0.0
    rate = draws / verdict.reads if draws and verdict.reads else draws_per_read
    return Evidence(draws, needed_draws(verdict), verdict.reads, rate, statement_level, counts_sessions)


def needed_draws(verdict: Verdict) -> int:
    """n of 1.96 * sqrt(p (1 - p) / n) <= 0.10 for the share p with the widest band."""
    spread = max((node.effective_share * (1 - node.effective_share) for node in verdict.nodes), default=0.0)
    return max(FEWEST_DRAWS, math.ceil((Z_95 / BAND) ** 2 * spread - 1e-9))
