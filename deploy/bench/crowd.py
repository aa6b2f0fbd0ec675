"""Rollouts to many pgpools at once, and the way back past a frozen one, beside a script that does only what it must."""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from deploy.bench.rollouts import runs, verdict, with_weights
from deploy.bench.subject import CannotMeasure, Subject, seconds_until
from deploy.lab.plan import Pgpool

Weights = Mapping[int, int]

# As many as a worker acts on side by side.
CONCURRENCY = 32
ENDS_WITHIN_S = 300.0
ALLOWED_RATIO = 10.0
# Rolling the healthy ones back while one is frozen: few, and a hundred.
ALLOWED_BACK_S = {4: 2.0, 100: 15.0}
FROZEN = "pgpool-2"
FEW = 4
_WISHES = cycle([{0: 0, 1: 600, 2: 400}, {0: 0, 1: 300, 2: 700}, {0: 0, 1: 500, 2: 500}, {0: 100, 1: 500, 2: 400}])


@dataclass(frozen=True)
class Crowd:
    """The pgpools of one registered cluster; freeze and thaw take the name of one."""

    subject: Subject
    pgpools: Sequence[Pgpool]
    freeze: Callable[[str], Any]
    thaw: Callable[[str], Any]

    def to_verified(self, weights: Weights) -> float:
        """Seconds from the request to verified everywhere."""
        begun = time.monotonic()
        rollout_id = self._request(weights)
        state = self._ended(rollout_id)
        if state != "verified":
            raise CannotMeasure(f"rollout {rollout_id} ended {state}")
        return time.monotonic() - begun

    def back_past_a_frozen_one(self, weights: Weights) -> float:
        """Seconds from the request of a roll-back until every healthy pgpool is verified on its old file."""
        rollout_id = self._request(weights)
        if self._ended(rollout_id) != "verified":
            raise CannotMeasure(f"rollout {rollout_id} was not verified")
        self.freeze(FROZEN)
        try:
            begun = time.monotonic()
            back = int(self.subject.ask(f"rollouts/{rollout_id}/rollback/", body={}, method="POST")["id"])

            def healthy_are_back() -> bool:
                steps: list[dict[str, Any]] = self.subject.ask(f"rollouts/{back}/")["steps"]
                return all(step["state"] == "verified" for step in steps if step["instance"] != FROZEN)

            seconds_until(
                healthy_are_back, "the healthy pgpools are back", within_s=ENDS_WITHIN_S, every_s=self._pause_s
            )
            return time.monotonic() - begun
        finally:
            self.thaw(FROZEN)
            self._ended(back)

    def by_script(self, weights: Weights, *, without: Sequence[str] = ()) -> float:
        """The floor: the same files written, reloaded and read back, with nothing remembered."""
        begun = time.monotonic()
        wanted = [pgpool for pgpool in self.pgpools if pgpool.name not in without]
        with ThreadPoolExecutor(max_workers=CONCURRENCY) as threads:
            list(threads.map(partial(self._one_by_script, weights), wanted))
        return time.monotonic() - begun

    def _one_by_script(self, weights: Weights, pgpool: Pgpool) -> None:
        path, pgpools = Path(pgpool.conf), self.subject.lab.pgpools
        self.subject.lab.account.file(path, with_weights(path.read_text(encoding="utf-8"), weights))
        pgpools.reload(pgpool)
        seconds_until(partial(runs, pgpools, pgpool, weights), f"{pgpool.name} reloaded", within_s=60)

    @property
    def _pause_s(self) -> float:
        # A look at a hundred steps takes the web process long enough to be seen in what it measures.
        return 0.1 if len(self.pgpools) <= FEW else 0.5

    def _request(self, weights: Weights) -> int:
        body = {
            "weights": {str(node): weight for node, weight in weights.items()},
            "base": "live",
            "plan": {"strategy": "all_at_once"},
        }
        return int(self.subject.ask_cluster("weights/", body=body, method="PUT")["id"])

    def _ended(self, rollout_id: int) -> str:
        def look() -> str:
            return str(self.subject.ask(f"rollouts/{rollout_id}/")["state"])

        seconds_until(
            lambda: look() not in ("pending", "running", "paused"),
            f"rollout {rollout_id} ends", within_s=ENDS_WITHIN_S, every_s=self._pause_s,
        )  # fmt: skip
        return look()


def turns(rounds: int, *measured: Callable[[Weights], float]) -> list[float]:
    """The medians, measured by turns."""
    seconds: list[list[float]] = [[] for _ in measured]
    for _ in range(rounds):
        for own, measure in zip(seconds, measured, strict=True):
            own.append(measure(next(_WISHES)))
    return [statistics.median(own) for own in seconds]


def to_all(crowd: Crowd, *, rounds: int) -> float:
    """Seconds to verified by Lifeguard; prints them beside the script's."""
    count = len(crowd.pgpools)
    load = f"load average of this machine, with what else it does: {os.getloadavg()[0]:.1f}"
    print(f"  {count:3} pgpools; {load}", flush=True)
    ours, floor = turns(rounds, crowd.to_verified, crowd.by_script)
    said = f"Lifeguard {ours:.2f} s, script {floor:.2f} s, {ours / floor:.2f}x"
    print(f"  {count:3} pgpools to verified: {said}", flush=True)
    return ours


def back_past_one(crowd: Crowd, *, rounds: int) -> None:
    count = len(crowd.pgpools)
    back = statistics.median(crowd.back_past_a_frozen_one(next(_WISHES)) for _ in range(rounds))
    allowed = ALLOWED_BACK_S.get(count)
    goal = "" if allowed is None else f"; allowed are {allowed:.0f} s: {verdict(back <= allowed)}"
    bare = statistics.median(crowd.by_script(next(_WISHES), without=[FROZEN]) for _ in range(rounds))
    print(f"  {count - 1:3} healthy ones back, one frozen: {back:.2f} s, script {bare:.2f} s{goal}", flush=True)


def told_ratio(count: int, *, many_s: float, one_s: float) -> None:
    ratio = many_s / one_s
    is_met = verdict(ratio <= ALLOWED_RATIO)
    print(f"  {count} at once against one: {ratio:.1f}x; allowed are {ALLOWED_RATIO:.0f}x: {is_met}")
