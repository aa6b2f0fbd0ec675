"""`make bench`, or `python -m deploy.bench [--quick]`: measures the running demo and prints what it found."""

import argparse
import sys
from pathlib import Path

from deploy.bench import deaths, driver, edits, overhead, pubsub, rollouts
from deploy.bench.subject import CannotMeasure, running_demo
from deploy.bench.turns import stopped
from deploy.demo.place import DEFAULT_ROOT, Place


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT, help="the demo's directory")
    asked = parser.parse_args()
    try:
        subject = running_demo(Place(asked.root))
        print("Rollout: from start to verified on every pgpool, by turns with a script", flush=True)
        rollouts.measure(subject, rounds=3 if asked.quick else 11)
        print("Death: from the kill to its showing in the cluster's data", flush=True)
        deaths.measure(subject, rounds=1 if asked.quick else 3)
        print("Edit by hand: from the new file to its showing as drift", flush=True)
        edits.measure(subject, rounds=1 if asked.quick else 7)
        print("Watching: the cluster with and without, by turns", flush=True)
        overhead.measure(subject, pairs=2 if asked.quick else 10)
        print("Benchmark: started by Lifeguard and from a shell, by turns", flush=True)
        driver.measure(subject, pairs=2 if asked.quick else 10, seconds=3 if asked.quick else 10)
        print("Messaging: a rate held, the most by turns with pgbench, and what backing off saves", flush=True)
        with stopped(subject.program("deploy.lab.load")):
            pubsub.measure(subject.lab, pairs=2 if asked.quick else 10, seconds=3 if asked.quick else 10)
    except CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
