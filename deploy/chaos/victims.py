"""Who is killed: a program of the product, whole, with SIGKILL. The supervisor starts it again."""

import random
import signal
from collections.abc import Mapping, Sequence

from deploy import processes
from deploy.bench.subject import CannotMeasure, Subject

# Words of the command line that only this program has; {directory} is the demo's own.
VICTIMS: Mapping[str, Sequence[str]] = {
    "worker": ("worker", "--queues=rollout"),
    "poller": ("worker", "--queues=poll"),
    "beat": ("beat",),
    "Redis": ("{directory}/redis/redis.conf",),
    "PostgreSQL": ("{directory}/postgres/data",),
    "web": ("controlplane.asgi:application",),
}


def kill(subject: Subject, victim: str, dice: random.Random) -> str:
    """What was hit; PostgreSQL and the workers are hit in one process or in all, as the dice have it."""
    directory = str(subject.place.directory.resolve())
    words = [word.format(directory=directory) for word in VICTIMS[victim]]
    try:
        found = subject.program(*words)
    except CannotMeasure:
        return "nothing: it was down"
    hit = found if dice.random() < 0.5 else [dice.choice(found)]
    for process in hit:
        processes.send(process, signal.SIGKILL)
    return f"{len(hit)} of {len(found)} processes"
