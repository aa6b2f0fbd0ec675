"""What writers and readers have counted, as it is handed on once a second and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from apps.benchmarks.domain.latency_histogram import LatencyHistogram

# Counters by name, in the order of their story. "measured": within the window of the measurement alone.
COUNTS = (
    "published",  # messages whose commit a writer was told of, warm-up included
    "consumed",  # likewise of readers, of all groups
    "measured_published",
    "measured_batches",
    "unsent",  # messages that were due within the window, and that no writer had come to by its end
    "polls",  # of readers, within the window, as the three below
    "empty_polls",
    "rolled_back",  # transactions of readers that brought fewer messages than were claimed
    "writer_errors",
    "reader_errors",
    "sessions_lost",
    "shared_statements",  # of the errors: what a session had prepared was gone, or another's was there
)


@dataclass
class Tally:
    """e2e: by group, from when a message was due until a reader had it. consumed_by: within the window.

    cpu_s: of this process. empty_poll_cpu_s: what one empty poll took of it, where that was tried.
    """

    counts: Counter[str] = field(default_factory=Counter)
    polls_saved: float = 0.0
    cpu_s: float = 0.0
    empty_poll_cpu_s: float | None = None
    publish: LatencyHistogram = field(default_factory=LatencyHistogram)
    publish_service: LatencyHistogram = field(default_factory=LatencyHistogram)
    e2e: dict[int, LatencyHistogram] = field(default_factory=dict)
    consumed_by: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def e2e_of(self, group: int) -> LatencyHistogram:
        return self.e2e.setdefault(group, LatencyHistogram())

    @property
    def e2e_of_all(self) -> LatencyHistogram:
        together = LatencyHistogram()
        for one in self.e2e.values():
            together.add(one)
        return together

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.consumed_by.update(other.consumed_by)
        self.errors.update(other.errors)
        self.polls_saved += other.polls_saved
        self.cpu_s += other.cpu_s
        if other.empty_poll_cpu_s is not None:
            self.empty_poll_cpu_s = max(self.empty_poll_cpu_s or 0.0, other.empty_poll_cpu_s)
        self.publish.add(other.publish)
        self.publish_service.add(other.publish_service)
        for group, latencies in other.e2e.items():
            self.e2e_of(group).add(latencies)

    def as_json(self) -> dict[str, Any]:
        return {
            "counts": dict(self.counts),
            "polls_saved": self.polls_saved,
            "cpu_s": self.cpu_s,
            "empty_poll_cpu_s": self.empty_poll_cpu_s,
            "publish": self.publish.as_json(),
            "publish_service": self.publish_service.as_json(),
            "e2e": {str(group): latencies.as_json() for group, latencies in self.e2e.items()},
            "consumed_by": {str(group): count for group, count in self.consumed_by.items()},
            "errors": dict(self.errors),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(
            counts=Counter(content["counts"]),
            polls_saved=content["polls_saved"],
            cpu_s=content["cpu_s"],
            empty_poll_cpu_s=content["empty_poll_cpu_s"],
            publish=LatencyHistogram.from_json(content["publish"]),
            publish_service=LatencyHistogram.from_json(content["publish_service"]),
            e2e={int(group): LatencyHistogram.from_json(one) for group, one in content["e2e"].items()},
            consumed_by=Counter({int(group): count for group, count in content["consumed_by"].items()}),
            errors=Counter(content["errors"]),
        )
