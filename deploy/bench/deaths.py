"""How soon the death of a backend or of a pgpool stands in what feeds the cluster's page."""

import statistics
import time
from functools import partial
from typing import Any

from deploy.bench.rollouts import verdict
from deploy.bench.subject import Subject, seconds_until

VICTIMS = ("pg3", "pgpool-2", "pg2", "pgpool-3")
ALLOWED_S = 5.0
WITHIN_S = 60
# Restarted servers get so long until the next one dies: each death meets a cluster at rest.
REST_S = 4.0


def measure(subject: Subject, *, rounds: int) -> None:
    found: dict[str, list[float]] = {"backend": [], "pgpool": []}
    try:
        for victim in VICTIMS * rounds:
            kind = "pgpool" if victim.startswith("pgpool") else "backend"
            found[kind].append(death(subject, victim))
            subject.lab.start(victim)
            seconds_until(partial(is_well, subject, victim), f"{victim} is back", within_s=WITHIN_S)
            time.sleep(REST_S)
    finally:
        subject.lab.repair()
    for kind, seconds in found.items():
        worst = max(seconds)
        print(
            f"  {kind}: median {statistics.median(seconds):.1f} s, worst of {len(seconds)} {worst:.1f} s;"
            f" allowed are {ALLOWED_S:.0f} s: {verdict(worst <= ALLOWED_S)}"
        )


def death(subject: Subject, victim: str) -> float:
    begun = time.monotonic()
    subject.lab.kill(victim)
    seconds_until(lambda: not is_well(subject, victim), f"the death of {victim} is shown", within_s=WITHIN_S)
    return time.monotonic() - begun


def is_well(subject: Subject, name: str) -> bool:
    """Whether the answers say nothing bad of this server."""
    if name.startswith("pgpool"):
        pgpools: list[dict[str, Any]] = subject.ask_cluster()["pgpools"]
        return any(one["name"] == name and one["state"] == "answering" for one in pgpools)
    nodes: list[dict[str, Any]] = subject.ask_cluster("nodes/")["nodes"]
    return any(one["name"] == name and one["status"] in ("up", "waiting") and not one["reason"] for one in nodes)
