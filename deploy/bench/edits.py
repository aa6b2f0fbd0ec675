"""How soon a pgpool.conf that was edited by hand stands as such in what feeds the cluster's pages."""

import random
import re
import statistics
import time
from pathlib import Path

from deploy.bench.rollouts import verdict
from deploy.bench.subject import CannotMeasure, Subject, seconds_until

EDITED = r"(?m)^(sr_check_period\s*=\s*)\S+"
# Two slow intervals: every file is looked at each 30 s.
ALLOWED_S = 60.0
WITHIN_S = 180
LOOKED_AT_EVERY_S = 30.0


def measure(subject: Subject, *, rounds: int) -> None:
    """Each edit comes at another moment between two looks."""
    waits = [edit(subject, pause_s=random.random() * LOOKED_AT_EVERY_S) for _ in range(rounds)]
    worst = max(waits)
    print(
        f"  median {statistics.median(waits):.1f} s, worst of {len(waits)} {worst:.1f} s;"
        f" allowed are {ALLOWED_S:.0f} s: {verdict(worst <= ALLOWED_S)}"
    )


def edit(subject: Subject, *, pause_s: float) -> float:
    """There and back; only the way there is timed."""
    if not is_seen(subject, "in_step"):
        raise CannotMeasure("a pgpool.conf differs from what was verified last: adopt or revert it first")
    path = Path(subject.lab.plan.pgpools[-1].conf)
    before = path.read_text(encoding="utf-8")
    time.sleep(pause_s)
    try:
        subject.lab.account.file(path, re.sub(EDITED, r"\g<1>77", before))
        seconds = seconds_until(lambda: is_seen(subject, "drifted"), "the edit is shown", within_s=WITHIN_S)
    finally:
        subject.lab.account.file(path, before)
    seconds_until(lambda: is_seen(subject, "in_step"), "the edit is gone", within_s=WITHIN_S)
    return seconds


def is_seen(subject: Subject, state: str) -> bool:
    return bool(subject.ask_cluster("drift/")["state"] == state)
