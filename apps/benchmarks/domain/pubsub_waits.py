"""How long a reader waits before it asks again, and what waiting longer has saved."""

from __future__ import annotations

from dataclasses import dataclass

from apps.benchmarks.domain.pubsub_plan import Plan


@dataclass
class Waits:
    """Of one reader. polls_saved: those that plain polling would have made in the time that was waited."""

    plan: Plan
    empty_in_a_row: int = 0
    polls_saved: float = 0.0

    def after(self, received: int) -> float:
        """Seconds until the next poll, now that one brought so many messages. A full batch: more may be there."""
        if received >= self.plan.read_batch:
            self.empty_in_a_row = 0
            return 0.0
        self.empty_in_a_row = 0 if received else self.empty_in_a_row + 1
        waits_ms = self._wait_ms()
        self.polls_saved += waits_ms / self.plan.poll_interval_ms - 1
        return waits_ms / 1000

    def _wait_ms(self) -> int:
        plain = self.plan.poll_interval_ms
        if not self.plan.back_off or not self.empty_in_a_row:
            return plain
        # Beyond 30 doublings any cap is reached; the number itself would grow for ever.
        return min(plain << min(self.empty_in_a_row - 1, 30), self.plan.back_off_cap_ms)
