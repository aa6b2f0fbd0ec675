"""Everything of a cluster that is asked over the network before it is stored; of several clusters side by side.

None of this asks Lifeguard's own database, so that it can be done in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from apps.accounts.models import Organisation
from apps.clusters.registry.cluster_wanted import BackendWanted
from apps.clusters.registry.connection_survey import PGPOOLS_AT_ONCE, Question, Survey, ask_all, why_forbidden
from apps.clusters.registry.ssh_claims import SshHosts, SshLook, hosts_of, look_at_all


@dataclass(frozen=True)
class WholeQuestion:
    """hosts: where files are looked at by SSH."""

    question: Question
    hosts: SshHosts


@dataclass(frozen=True)
class Heard:
    """looks: field of a pgpool -> what was found on its host. forbidden: field of a backend -> why it is not asked."""

    survey: Survey
    looks: Mapping[str, SshLook]
    forbidden: Mapping[str, str]


Ask = Callable[[WholeQuestion], Heard]


def whole_question(question: Question, *, organisation: Organisation) -> WholeQuestion:
    return WholeQuestion(question, hosts_of(question.pgpools, organisation))


def ask(whole: WholeQuestion) -> Heard:
    return Heard(
        survey=ask_all(whole.question),
        looks=look_at_all(whole.hosts),
        forbidden=forbidden_hosts(whole.question.backends),
    )


def ask_side_by_side(wholes: Sequence[WholeQuestion]) -> list[Heard]:
    """The answers in the order of the questions. One that hangs takes its own time and none of the others'."""
    if not wholes:
        return []
    room = _Room(PGPOOLS_AT_ONCE)

    def ask_in_turn(whole: WholeQuestion) -> Heard:
        with room.taken(len(whole.question.pgpools)):
            return ask(whole)

    with ThreadPoolExecutor(max_workers=min(PGPOOLS_AT_ONCE, len(wholes))) as threads:
        return list(threads.map(ask_in_turn, wholes))


class _Room:
    """How many pgpools are asked at once, of all clusters together; a cluster of more than that has it alone."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._is_changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, count: int) -> Iterator[None]:
        wanted = min(count, self._most)
        with self._is_changed:
            self._is_changed.wait_for(lambda: self._left >= wanted)
            self._left -= wanted
        try:
            yield
        finally:
            with self._is_changed:
                self._left += wanted
                self._is_changed.notify_all()


def forbidden_hosts(backends: Sequence[BackendWanted]) -> dict[str, str]:
    """Field of the input -> why this host of a backend is never contacted."""

    given = {f"backends.{position}.host": each.host for position, each in enumerate(backends) if each.host}

    async def reasons() -> list[str | None]:
        return await asyncio.gather(*map(why_forbidden, given.values()))

    found = zip(given, asyncio.run(reasons()), strict=True)
    return {field: reason for field, reason in found if reason is not None}
