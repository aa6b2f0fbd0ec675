"""Threads that act on several pgpools at the same time. What they need is loaded before; they ask no database.

All rows are written by the worker's own thread: it alone knows whether its lease still holds.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self

from django.db import connection, connections

from apps.clusters.control import rollout_steps, writes
from apps.clusters.control.rollout_steps import Outcome, Try
from apps.clusters.models import Cluster

SIZE = 64
FEW = 4
GATHER_S = 0.1


class DatabaseAsked(RuntimeError):
    """An action of a rollout asked the database."""

    def __init__(self) -> None:
        super().__init__(
            "an action of a rollout runs in a thread and asks no database: load what it needs in rollout_rows.loaded"
        )


class Crew:
    """Actions under way, at most one for each instance. Leaving it waits for those that are not done."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=SIZE, thread_name_prefix="rollout")
        self._under_way: dict[Future[Outcome], Try] = {}
        self._gate = ExitStack()
        self._is_in = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._leave()

    @property
    def step_ids(self) -> set[int]:
        return {one.step.pk for one in self._under_way.values()}

    @property
    def room(self) -> int:
        return SIZE - len(self._under_way)

    def pass_gate(self, cluster: Cluster) -> None:
        """Before anything is sent that writes. Stays passed while anything is under way. Raises NotAllowed."""
        if self._is_in:
            writes.refuse_unless_allowed(cluster)
        else:
            self._gate.enter_context(writes.under_way(cluster))
            self._is_in = True

    def _leave(self) -> None:
        self._is_in = False
        self._gate.close()

    def send(self, one: Try, *, held_until: float) -> None:
        if rollout_steps.asks_database(one):
            outcome = rollout_steps.carry_out(one, held_until)
            self._under_way[self._threads.submit(_without_database, one, lambda: outcome)] = one
        else:
            carry_out = partial(rollout_steps.carry_out, one, held_until)
            self._under_way[self._threads.submit(_without_database, one, carry_out)] = one

    def wait(self, *, timeout_s: float) -> list[tuple[Try, Outcome]]:
        """What has come to an end; nothing if nothing did within the time."""
        done, _ = wait_for(self._under_way, timeout=timeout_s, return_when=FIRST_COMPLETED)
        if done and len(self._under_way) > FEW:
            # Many end at almost the same time: what they came to is stored together.
            done, _ = wait_for(self._under_way, timeout=GATHER_S)
        # In the order in which they were sent: a log reads better so.
        ended = [future for future in self._under_way if future in done]
        outcomes = [(self._under_way.pop(future), future.result()) for future in ended]
        if not self._under_way:
            self._leave()
        return outcomes


def _without_database(one: Try, carry_out: Callable[[], Outcome]) -> Outcome:
    try:
        with connection.execute_wrapper(_refuse):
            return rollout_steps.heard(one, carry_out())
    finally:
        connections.close_all()


def _refuse(execute: Callable[..., Any], *arguments: Any) -> Any:
    raise DatabaseAsked
