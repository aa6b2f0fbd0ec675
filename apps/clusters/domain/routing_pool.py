"""The reads of several pgpools as one mixture: wanted shares, observed shares, and how far chance spreads them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

WORTH_PRINTING = 0.01


@dataclass(frozen=True, slots=True)
class Condition:
    """What else is known about a backend while it is judged."""

    is_up: bool = True
    is_lagging: bool = False  # its replay lag is over delay_threshold
    lag_text: str | None = None
    lagged_until: datetime | None = None  # it was so in the window, and latest then; printed as it is
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class InstanceReading:
    """What one pgpool did during the window.

    sessions: None where they are not counted. draws_per_read: from its latest half hour (domain.draws), if that tells.
    """

    name: str
    weights: Mapping[int, float]
    select_counts: Mapping[int, int]
    sessions: float | None
    draws_per_read: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What all pgpools of one verdict share."""

    statement_level: bool
    names: Mapping[int, str]
    conditions: Mapping[int, Condition]
    window_s: float | None
    off_since: datetime | None
    is_after_change: bool = False  # the window begins with a change of weights or status

    def condition(self, node_id: int) -> Condition:
        return self.conditions.get(node_id, Condition())

    def name(self, node_id: int) -> str:
        return self.names.get(node_id, f"backend {node_id}")

    def away(self, node_ids: Iterable[int]) -> list[str]:
        return [self.name(node_id) for node_id in node_ids if not self.condition(node_id).is_up]

    def draws(self, reading: InstanceReading) -> float | None:
        """How many independent choices of a backend stand behind the reads; None where nothing tells.

        At most one per read: a session that sent none left no trace of its draw. Fewer than the sessions where some
        of them send most of the reads.
        """
        reads = float(reads_of(reading))
        if self.statement_level:
            return reads
        spread = None if reading.draws_per_read is None else reading.draws_per_read * reads
        known = [draws for draws in (reading.sessions, spread) if draws is not None]
        return min(*known, reads) if known else None


class Pool:
    """Several pgpools as one mixture: each weighs as much as the reads it sent to backends that are up.

    Judging only among the backends that are up keeps a window fair in which one of them went down: the others share
    the reads in the ratio of their weights before and after.
    """

    def __init__(self, readings: Sequence[InstanceReading], scene: Scene) -> None:
        self.readings, self.scene = readings, scene
        self.node_ids = sorted({node_id for one in readings for node_id in (*one.weights, *one.select_counts)})
        self.up = [node_id for node_id in self.node_ids if scene.condition(node_id).is_up]
        self.reads = sum(map(reads_of, readings))
        self.reads_up = sum(self._reads_up(reading) for reading in readings)
        self.draws = math.fsum(scene.draws(reading) or 0 for reading in readings)
        sessions = [reading.sessions for reading in readings if reading.sessions is not None]
        self.sessions = math.fsum(sessions) if len(sessions) == len(readings) else None

    def weight_share(self, node_id: int) -> float:
        return self._mixed(node_id, self.node_ids)

    def effective_share(self, node_id: int) -> float:
        return self._mixed(node_id, self.up)

    def observed_share(self, node_id: int) -> float | None:
        return self._count(node_id) / self.reads if self.reads else None

    def observed_among_up(self, node_id: int) -> float:
        return self._count(node_id) / self.reads_up if self.reads_up else 0.0

    def deviation(self, node_id: int) -> float:
        return self.observed_among_up(node_id) - self.effective_share(node_id)

    def standard_error(self, node_id: int) -> float:
        variance = 0.0
        for reading in self.readings:
            draws, part = self.scene.draws(reading) or 0.0, self._reads_up(reading)
            if draws and part:
                share = _share(reading.weights, node_id, self.up)
                variance += (part / self.reads_up) ** 2 * share * (1 - share) / (draws * part / reads_of(reading))
        return math.sqrt(variance)

    def has_weight(self) -> bool:
        return any(self.weight_share(node_id) > 0 for node_id in self.node_ids)

    def has_weight_up(self) -> bool:
        return any(self.effective_share(node_id) > 0 for node_id in self.up)

    def figures(self) -> tuple[list[float], list[float]]:
        """Observed and wanted shares of the backends worth printing."""
        shown = [
            node_id
            for node_id in self.up
            if self.effective_share(node_id) > 0 or self.observed_among_up(node_id) > WORTH_PRINTING
        ]
        return [self.observed_among_up(one) for one in shown], [self.effective_share(one) for one in shown]

    def _mixed(self, node_id: int, among: Sequence[int]) -> float:
        total = self.reads_up or len(self.readings)
        return math.fsum(
            (self._reads_up(reading) if self.reads_up else 1) / total * _share(reading.weights, node_id, among)
            for reading in self.readings
        )

    def _reads_up(self, reading: InstanceReading) -> int:
        return sum(reading.select_counts.get(node_id, 0) for node_id in self.up)

    def _count(self, node_id: int) -> int:
        return sum(reading.select_counts.get(node_id, 0) for reading in self.readings)


def reads_of(reading: InstanceReading) -> int:
    return sum(reading.select_counts.values())


def _share(weights: Mapping[int, float], node_id: int, among: Sequence[int]) -> float:
    """0 where no weight among these backends is above 0."""
    total = math.fsum(weights.get(one, 0) for one in among)
    return weights.get(node_id, 0) / total if total > 0 and node_id in among else 0.0
