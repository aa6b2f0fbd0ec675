"""`python -m deploy.bench.many [--pgpools 100]`: a rollout to many pgpools at once, and the way back past a frozen one.

Every pgpool is a real process of its own with six children, on one machine, in front of the same three backends; its
checks are made rarer, since a hundred would keep two cores busy with nothing else. The floor is a script that writes,
reloads by PCP and reads back with as many threads as a worker has.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from deploy.bench.rollouts import runs, verdict, with_weights
from deploy.bench.subject import CannotMeasure, Subject, running_demo, seconds_until
from deploy.demo import place
from deploy.demo.programs import CLONE
from deploy.demo.stack import PGPOOLS_WANTED
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


def to_verified(subject: Subject, weights: Weights) -> float:
    """Seconds from the request to verified everywhere."""
    begun = time.monotonic()
    rollout_id = request(subject, weights)
    state = ended(subject, rollout_id)
    if state != "verified":
        raise CannotMeasure(f"rollout {rollout_id} ended {state}")
    return time.monotonic() - begun


def request(subject: Subject, weights: Weights) -> int:
    body = {
        "weights": {str(node): weight for node, weight in weights.items()},
        "base": "live",
        "plan": {"strategy": "all_at_once"},
    }
    return int(subject.ask_cluster("weights/", body=body, method="PUT")["id"])


def ended(subject: Subject, rollout_id: int) -> str:
    def look() -> str:
        return str(subject.ask(f"rollouts/{rollout_id}/")["state"])

    # A look at a hundred steps takes the web process long enough to be seen in what it measures.
    pause_s = 0.1 if len(subject.lab.plan.pgpools) <= FEW else 0.5
    seconds_until(
        lambda: look() not in ("pending", "running", "paused"),
        f"rollout {rollout_id} ends", within_s=ENDS_WITHIN_S, every_s=pause_s,
    )  # fmt: skip
    return look()


def back_past_a_frozen_one(subject: Subject, weights: Weights) -> float:
    """Seconds from the request of a roll-back until every healthy pgpool is verified on its old file."""
    rollout_id = request(subject, weights)
    if ended(subject, rollout_id) != "verified":
        raise CannotMeasure(f"rollout {rollout_id} was not verified")
    subject.lab.freeze(FROZEN)
    try:
        begun = time.monotonic()
        back = int(subject.ask(f"rollouts/{rollout_id}/rollback/", body={}, method="POST")["id"])

        def healthy_are_back() -> bool:
            steps: list[dict[str, Any]] = subject.ask(f"rollouts/{back}/")["steps"]
            return all(step["state"] == "verified" for step in steps if step["instance"] != FROZEN)

        seconds_until(healthy_are_back, "the healthy pgpools are back", within_s=ENDS_WITHIN_S, every_s=0.1)
        return time.monotonic() - begun
    finally:
        subject.lab.resume(FROZEN)
        ended(subject, back)


def by_script(subject: Subject, weights: Weights, *, without: Sequence[str] = ()) -> float:
    """The floor: the same files written, reloaded and read back, with nothing remembered."""
    begun = time.monotonic()
    wanted = [pgpool for pgpool in subject.lab.plan.pgpools if pgpool.name not in without]
    with ThreadPoolExecutor(max_workers=CONCURRENCY) as threads:
        list(threads.map(partial(_one_by_script, subject, weights), wanted))
    return time.monotonic() - begun


def _one_by_script(subject: Subject, weights: Weights, pgpool: Pgpool) -> None:
    path, pgpools = Path(pgpool.conf), subject.lab.pgpools
    subject.lab.account.file(path, with_weights(path.read_text(encoding="utf-8"), weights))
    pgpools.reload(pgpool)
    seconds_until(partial(runs, pgpools, pgpool, weights), f"{pgpool.name} reloaded", within_s=60)


def turns(rounds: int, *measured: Callable[[Weights], float]) -> list[float]:
    """The medians, measured by turns."""
    seconds: list[list[float]] = [[] for _ in measured]
    for _ in range(rounds):
        for own, measure in zip(seconds, measured, strict=True):
            own.append(measure(next(_WISHES)))
    return [statistics.median(own) for own in seconds]


def measure(subject: Subject, *, rounds: int) -> tuple[float, float]:
    """Seconds to verified by Lifeguard and by the script; prints them, and the way back past a frozen pgpool."""
    count = len(subject.lab.plan.pgpools)
    print(
        f"  {count:3} pgpools; load average of this machine, with what else it does: {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    ours, floor = turns(rounds, partial(to_verified, subject), partial(by_script, subject))
    print(
        f"  {count:3} pgpools to verified: Lifeguard {ours:.2f} s, script {floor:.2f} s, {ours / floor:.2f}x",
        flush=True,
    )
    if count > 1:
        back = statistics.median(back_past_a_frozen_one(subject, next(_WISHES)) for _ in range(rounds))
        allowed = ALLOWED_BACK_S.get(count)
        goal = "" if allowed is None else f"; allowed are {allowed:.0f} s: {verdict(back <= allowed)}"
        bare = statistics.median(by_script(subject, next(_WISHES), without=[FROZEN]) for _ in range(rounds))
        print(f"  {count - 1:3} healthy ones back, one frozen: {back:.2f} s, script {bare:.2f} s{goal}", flush=True)
    return ours, floor


def demo(root: Path, command: str, count: int) -> None:
    environment = {**os.environ, PGPOOLS_WANTED: str(count)}
    arguments = [sys.executable, "-m", "deploy.demo", "--root", str(root), command]
    done = subprocess.run(arguments, cwd=CLONE, env=environment, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise CannotMeasure(f"the demo with {count} pgpools did not come {command}:\n{done.stdout}")


def of_a_demo_with(count: int, *, rounds: int) -> tuple[float, float]:
    root = Path(tempfile.mkdtemp(prefix="lifeguard-many-"))
    try:
        demo(root, "up", count)
        return measure(running_demo(place.Place(root)), rounds=rounds)
    finally:
        demo(root, "reset", count)
        shutil.rmtree(root, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.many", description="Rollouts to many pgpools.")
    parser.add_argument("--pgpools", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    try:
        one, _ = of_a_demo_with(1, rounds=asked.rounds)
        of_a_demo_with(4, rounds=asked.rounds)
        many, _ = of_a_demo_with(asked.pgpools, rounds=asked.rounds)
    except CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    ratio = many / one
    is_met = verdict(ratio <= ALLOWED_RATIO)
    print(f"  {asked.pgpools} at once against one: {ratio:.1f}x; allowed are {ALLOWED_RATIO:.0f}x: {is_met}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
