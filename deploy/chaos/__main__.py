"""`make chaos`, or `python -m deploy.chaos [--rollouts 300]`: kills programs of the running demo amid rollouts."""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.bench.subject import CannotMeasure, running_demo
from deploy.chaos import record
from deploy.chaos.campaign import Round, campaign
from deploy.chaos.victims import VICTIMS
from deploy.demo.place import DEFAULT_ROOT, Place


def table(rounds: Sequence[Round]) -> str:
    """Per victim: rollouts, how they ended, seconds, faults."""
    lines = [f"{'killed':10} {'rollouts':>8} {'verified':>8} {'undone':>6} {'median s':>8} {'worst s':>8} {'wrong':>5}"]
    for victim in VICTIMS:
        own = [each for each in rounds if each.victim == victim]
        if not own:
            continue
        seconds = [each.seconds for each in own]
        verified = sum(each.state == "verified" for each in own)
        undone = sum(each.state in {"rolled_back", "cancelled"} for each in own)
        lines.append(
            f"{victim:10} {len(own):8} {verified:8} {undone:6} {statistics.median(seconds):8.1f} {max(seconds):8.1f} "
            f"{sum(bool(each.faults) for each in own):5}"
        )
    wrong = sum(bool(each.faults) for each in rounds)
    return "\n".join([*lines, f"{'all':10} {len(rounds):8}; wrong afterwards: {wrong}"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.chaos", description=__doc__)
    parser.add_argument("--rollouts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="the same dice again")
    parser.add_argument(
        "--record", type=Path, help="a file that keeps every rollout; those in it count, and are not done again"
    )
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT, help="the demo's directory")
    asked = parser.parse_args()
    try:
        subject = running_demo(Place(asked.root.absolute()))
        rounds = record.read(asked.record)
        left = asked.rollouts - len(rounds)

        def tell(done: Round) -> None:
            print(done.line, flush=True)
            record.add(asked.record, done)

        if left > 0:
            # Other dice than those that were thrown already.
            seed = asked.seed + len(rounds)
            rounds += campaign(subject, rollouts=left, seed=seed, tell=tell, done=len(rounds))
    except CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\n{table(rounds)}")
    return 1 if any(each.faults for each in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
