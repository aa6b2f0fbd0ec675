"""`python -m deploy.bench.simulated [--pgpools 100]`: the same as `deploy.bench.many` with simulated pgpools.

A hundred real ones share two cores with Lifeguard and take most of them: each of its sessions makes them sign in to
three backends. These are one process that speaks PostgreSQL's protocol and PCP, and reads real files that a real pgpool
parses first; the rest is the whole product: REST, workers, database, polling.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from deploy.bench import crowd
from deploy.bench.crowd import Crowd
from deploy.bench.ended import end_tidily
from deploy.bench.many import demo_with
from deploy.bench.subject import CannotMeasure, Subject
from deploy.demo import dashboard
from deploy.demo.programs import CLONE
from deploy.lab.plan import Pgpool


class Simulated:
    """A process of fake pgpools, all of one cluster registered in the subject's demo."""

    def __init__(self, subject: Subject, talk: subprocess.Popen[str], pgpools: Sequence[Pgpool]) -> None:
        self.subject = subject
        self.pgpools = pgpools
        self._talk = talk

    def crowd(self) -> Crowd:
        return Crowd(
            self.subject,
            self.pgpools,
            freeze=lambda name: self._set(name, "hang"),
            thaw=lambda name: self._set(name, "ok"),
        )

    def _set(self, name: str, mode: str) -> None:
        _say(self._talk, f"{name} {mode}")


def _say(talk: subprocess.Popen[str], line: str) -> str:
    if talk.stdin is None or talk.stdout is None:
        raise CannotMeasure("the simulated pgpools have no pipe")
    talk.stdin.write(line + "\n")
    talk.stdin.flush()
    answer = talk.stdout.readline()
    if not answer:
        raise CannotMeasure("the simulated pgpools ended")
    return answer


@contextmanager
def simulated(subject: Subject, count: int) -> Iterator[Simulated]:
    """count pgpools, registered as a cluster named after their number."""
    lab = subject.lab.addresses
    # Within the one directory that the demo delivers to.
    folder = Path(lab["pgpools"][0]["conf"]).parent / f"simulated-{count}"
    command = [sys.executable, "-m", "tests.fake_crowd", str(folder), str(count)]
    with subprocess.Popen(command, cwd=CLONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as talk:
        told = json.loads(_say(talk, json.dumps({key: lab[key] for key in ("backends", "passwords")})))
        pgpools = [Pgpool(**each, az=lab["pgpools"][0]["az"]) for each in told]
        slug = f"simulated-{count}"
        _register(subject, slug, {**lab, "pgpools": [vars(pgpool) for pgpool in pgpools]})
        try:
            yield Simulated(replace(subject, cluster=slug), talk, pgpools)
        finally:
            subject.ask(f"clusters/{slug}/", method="DELETE")
            if talk.stdin is not None:
                talk.stdin.close()


def _register(subject: Subject, slug: str, lab: dict[str, Any]) -> None:
    description = {**dashboard.cluster_description(lab), "name": slug, "slug": slug}
    subject.ask("clusters/", body=description, method="POST")


def main() -> int:
    end_tidily()
    parser = argparse.ArgumentParser(prog="python -m deploy.bench.simulated", description="Rollouts to many pgpools.")
    parser.add_argument("--pgpools", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    seconds = []
    try:
        with demo_with(1) as subject:
            for count in (1, crowd.FEW, asked.pgpools):
                with simulated(subject, count) as those:
                    seconds.append(crowd.to_all(those.crowd(), rounds=asked.rounds))
                    if count > 1:
                        crowd.back_past_one(those.crowd(), rounds=asked.rounds)
    except CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    crowd.told_ratio(asked.pgpools, many_s=seconds[-1], one_s=seconds[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
