"""`python -m deploy.bench.many [--pgpools 100]`: a rollout to many pgpools at once, and the way back past a frozen one.

Every pgpool is a real process of its own with six children, on one machine, in front of the same three backends; its
checks are made rarer, since a hundred would keep two cores busy with nothing else. The floor is a script that writes,
reloads by PCP and reads back with as many threads as a worker has.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.bench import crowd
from deploy.bench.crowd import Crowd
from deploy.bench.ended import end_tidily
from deploy.bench.subject import CannotMeasure, Subject, running_demo
from deploy.demo import place
from deploy.demo.programs import CLONE
from deploy.demo.stack import PGPOOLS_WANTED


def demo(root: Path, command: str, count: int) -> None:
    environment = {**os.environ, PGPOOLS_WANTED: str(count)}
    arguments = [sys.executable, "-m", "deploy.demo", "--root", str(root), command]
    done = subprocess.run(arguments, cwd=CLONE, env=environment, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise CannotMeasure(f"the demo with {count} pgpools did not come {command}:\n{done.stdout}")


@contextmanager
def demo_with(count: int) -> Iterator[Subject]:
    root = Path(tempfile.mkdtemp(prefix="lifeguard-many-"))
    try:
        demo(root, "up", count)
        yield running_demo(place.Place(root))
    finally:
        demo(root, "reset", count)
        shutil.rmtree(root, ignore_errors=True)


def to_verified(count: int, *, rounds: int) -> float:
    with demo_with(count) as subject:
        measured = Crowd(subject, subject.lab.plan.pgpools, freeze=subject.lab.freeze, thaw=subject.lab.resume)
        seconds = crowd.to_all(measured, rounds=rounds)
        if count > 1:
            crowd.back_past_one(measured, rounds=rounds)
        return seconds


def main() -> int:
    end_tidily()
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.many", description="Rollouts to many pgpools.")
    parser.add_argument("--pgpools", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    try:
        one, _few, many = (to_verified(count, rounds=asked.rounds) for count in (1, crowd.FEW, asked.pgpools))
    except CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    crowd.told_ratio(asked.pgpools, many_s=many, one_s=one)
    return 0


if __name__ == "__main__":
    sys.exit(main())
