"""Rollout after rollout, a kill in the middle of each; then every pgpool must run one of the two files."""

import random
import threading
import time
import urllib.error
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy.bench.subject import CannotMeasure, Subject
from deploy.chaos import aftermath, victims
from deploy.chaos.aftermath import Weights
from deploy.demo import dashboard
from deploy.demo.dashboard import Answer

ACTIVE = ("pending", "running", "paused")
ENDS_WITHIN_S = 300.0  # a busy machine needs two minutes to start a worker
ANSWERS_WITHIN_S = 60.0
# From the moment of the request: a quiet rollout of three pgpools takes about three quarters of a second.
LATEST_KILL_S = 1.2


@dataclass(frozen=True)
class Round:
    """One rollout with a kill in it. seconds: from the request to its end."""

    number: int
    victim: str
    hit: str
    kill_after_s: float
    state: str
    seconds: float
    faults: tuple[str, ...] = field(default=())

    @property
    def line(self) -> str:
        told = "; ".join(self.faults) or "as it should be"
        return (
            f"{self.number:4}  {self.victim:10}  {self.hit:20}  after {self.kill_after_s:4.2f} s  "
            f"{self.state:11}  {self.seconds:6.1f} s  {told}"
        )


def campaign(
    subject: Subject,
    *,
    rollouts: int,
    seed: int,
    tell: Callable[[Round], None],
    only: Sequence[str] = (),
    done: int = 0,
) -> list[Round]:
    """The victims take turns, so that each is hit equally often; moment and extent are diced. done: how many before."""
    dice = random.Random(seed)
    weights = _first_weights(subject)
    rounds = []
    names = list(only or victims.VICTIMS)
    for number in range(done + 1, done + rollouts + 1):
        victim = names[(number - 1) % len(names)]
        wanted = _other_weights(weights, dice)
        each, weights = _round(subject, number, victim, before=weights, wanted=wanted, dice=dice)
        rounds.append(each)
        tell(each)
    return rounds


def _first_weights(subject: Subject) -> Weights:
    """A quiet rollout to begin with."""
    weights = {0: 0, 1: 500, 2: 500}
    asked = _request(subject, weights)
    if (state := _end_of(subject, asked["id"])) != "verified":
        raise CannotMeasure(f"the first rollout, with nothing killed, ended {state}")
    return weights


def _other_weights(weights: Weights, dice: random.Random) -> Weights:
    while True:
        other = {node: dice.randrange(0, 10) * 100 for node in weights}
        # Other shares, too: what pgpool shows must tell the two files apart.
        if sum(other.values()) and _ratio(other) != _ratio(weights):
            return other


def _ratio(weights: Weights) -> tuple[float, ...]:
    total = sum(weights.values())
    return tuple(round(weight / total, 6) for _, weight in sorted(weights.items()))


def _round(
    subject: Subject, number: int, victim: str, *, before: Weights, wanted: Weights, dice: random.Random
) -> tuple[Round, Weights]:
    kill_after_s = dice.uniform(0, LATEST_KILL_S)
    hit: list[str] = []
    killer = threading.Timer(kill_after_s, lambda: hit.append(victims.kill(subject, victim, dice)))
    begun = time.monotonic()
    killer.start()
    try:
        asked = _request(subject, wanted)
        state = _end_of(subject, asked["id"])
    finally:
        killer.join()
    seconds = time.monotonic() - begun
    holds = wanted if state == "verified" else before
    faults = [
        *([] if state in {"verified", "rolled_back", "cancelled"} else [f"the rollout is {state}"]),
        *aftermath.faults_of_nodes(subject, holds),
        *aftermath.faults_of_receipts(subject, asked["id"]),
        *aftermath.faults_of_rows(subject),
    ]
    return Round(number, victim, hit[0], kill_after_s, state, seconds, tuple(faults)), holds


def _request(subject: Subject, weights: Weights) -> Mapping[str, Any]:
    """Sent again until it is answered, as a careful script does.

    A kill may fall between the commit and the answer: the next try is told then that a rollout runs, which is ours if
    it carries our note.
    """
    note = f"make chaos {uuid.uuid4().hex[:12]}"
    body = {"weights": {str(node): weight for node, weight in weights.items()}, "note": note}
    answer = _answer(subject, f"clusters/{subject.cluster}/weights/", body=body, method="PUT")
    if answer.status == 409 and "rollout" in answer.content:
        running: Mapping[str, Any] = _answer(subject, f"rollouts/{answer.content['rollout']}/").content
        if running["note"] == note:
            return running
    if answer.status not in (200, 202):
        raise CannotMeasure(f"PUT weights/ was answered {answer.status}: {answer.content}")
    content: Mapping[str, Any] = answer.content
    return content


def _end_of(subject: Subject, rollout_id: int) -> str:
    """Its state when it ended, or the one that it is stuck in."""
    ends_at = time.monotonic() + ENDS_WITHIN_S
    while True:
        state = str(_answer(subject, f"rollouts/{rollout_id}/").content["state"])
        if state not in ACTIVE or time.monotonic() > ends_at:
            return state
        time.sleep(0.1)


def _answer(subject: Subject, path: str, *, body: Any = None, method: str | None = None) -> Answer:
    ends_at = time.monotonic() + ANSWERS_WITHIN_S
    while True:
        try:
            answer = dashboard.ask(f"{subject.url}/api/v1/{path}", token=subject.token, body=body, method=method)
            if answer.status < 500:
                return answer
            told = f"{answer.status} {answer.content}"
        except (OSError, urllib.error.URLError) as error:
            told = str(error)
        if time.monotonic() > ends_at:
            raise CannotMeasure(f"{path} was not answered within {ANSWERS_WITHIN_S:.0f} s: {told}")
        time.sleep(0.1)
