"""From "start rollout" to verified on every pgpool, beside a plain script that writes, reloads and reads back."""

import re
import statistics
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from deploy.bench.subject import CannotMeasure, Subject, seconds_until
from deploy.lab.pgpools import Pgpools
from deploy.lab.plan import Pgpool

BY_LIFEGUARD, BY_SCRIPT, AFTERWARDS = {0: 0, 1: 600, 2: 400}, {0: 0, 1: 300, 2: 700}, {0: 0, 1: 500, 2: 500}
WITHIN_S = 60


def measure(subject: Subject, *, rounds: int) -> None:
    ours: list[float] = []
    theirs: list[float] = []
    try:
        for number in range(rounds):
            # The one that goes first changes, so that neither has the quieter machine.
            for measured in (ours, theirs) if number % 2 else (theirs, ours):
                is_ours = measured is ours
                measured.append(rollout(subject, BY_LIFEGUARD) if is_ours else script(subject, BY_SCRIPT))
    finally:
        rollout(subject, AFTERWARDS)
    mine, other = statistics.median(ours), statistics.median(theirs)
    allowed = 2 * other + 1
    print(f"  Lifeguard, REST to verified: median {mine:.2f} s, worst {max(ours):.2f} s")
    print(f"  plain script, same pgpools:  median {other:.2f} s, worst {max(theirs):.2f} s")
    print(
        f"  ratio of the medians {mine / other:.2f}; allowed are 2x + 1 s = {allowed:.2f} s: {verdict(mine <= allowed)}"
    )


def verdict(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def rollout(subject: Subject, weights: Mapping[int, int]) -> float:
    body = {"weights": {str(node): weight for node, weight in weights.items()}, "base": "live", "note": "make bench"}
    begun = time.monotonic()
    asked = subject.ask_cluster("weights/", body=body, method="PUT")
    state = asked["state"]
    while state in ("pending", "running", "paused"):
        if time.monotonic() - begun > WITHIN_S:
            raise CannotMeasure(f"rollout {asked['id']} is still {state} after {WITHIN_S} s")
        time.sleep(0.1)
        state = subject.ask(f"rollouts/{asked['id']}/")["state"]
    if state != "verified":
        raise CannotMeasure(f"rollout {asked['id']} ended {state}")
    return time.monotonic() - begun


def script(subject: Subject, weights: Mapping[int, int]) -> float:
    """What an operator's script does: one pgpool after the other."""
    begun = time.monotonic()
    pgpools = subject.lab.pgpools
    for pgpool in pgpools.plan.pgpools:
        path = Path(pgpool.conf)
        subject.lab.account.file(path, with_weights(path.read_text(encoding="utf-8"), weights))
        pgpools.reload(pgpool)
        seconds_until(partial(runs, pgpools, pgpool, weights), f"{pgpool.name} reloaded", within_s=30)
    return time.monotonic() - begun


def with_weights(text: str, weights: Mapping[int, int]) -> str:
    for node_id, weight in weights.items():
        text = re.sub(rf"(?m)^(backend_weight{node_id}\s*=\s*)\S+", rf"\g<1>{weight}", text)
    return text


def runs(pgpools: Pgpools, pgpool: Pgpool, weights: Mapping[int, int]) -> bool:
    total = sum(weights.values())
    shown = {int(row["node_id"]): float(row["lb_weight"]) for row in pgpools.nodes(pgpool)}
    return all(abs(shown[node_id] - weight / total) < 1e-5 for node_id, weight in weights.items())
