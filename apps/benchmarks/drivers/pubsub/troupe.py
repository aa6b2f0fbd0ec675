"""The processes of a run, as the one that started them sees them: started, told to go, heard, ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.benchmarks.domain.pubsub_tally import Tally
from apps.benchmarks.drivers.pubsub.worker import Part

MODULE = "apps.benchmarks.drivers.pubsub"
STARTS_WITHIN_S = 60.0
# After they were told to end; then they are killed.
ENDS_WITHIN_S = 1.4
_LONGEST_LINE = 2**26


class NotReady(RuntimeError):
    """A process of the load could not begin. The text says why."""


@dataclass
class Member:
    """One process. has_ended: its output was read to the end. is_lost: without its last word."""

    process: asyncio.subprocess.Process
    seconds: int = 0
    has_said_last: bool = False
    ready: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    hearing: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        return self.hearing is not None and self.hearing.done()

    @property
    def is_lost(self) -> bool:
        return self.has_ended and not self.has_said_last


class Troupe:
    """All processes of one run. hear: called with each tally, and the second that it is of."""

    def __init__(self, hear: Callable[[Tally, int], None]) -> None:
        self._hear = hear
        self.members: list[Member] = []

    @property
    def lost(self) -> int:
        return sum(one.is_lost for one in self.members)

    @property
    def seconds(self) -> int:
        """Up to which every process has told, but for those that were lost."""
        return min((one.seconds for one in self.members if not one.is_lost), default=0)

    async def start(self, parts: Sequence[Part]) -> None:
        """Until all sessions are open. Raises NotReady."""
        for part in parts:
            words = [sys.executable, "-m", MODULE, "work"]
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, limit=_LONGEST_LINE)
            member = Member(process)
            self.members.append(member)
            member.hearing = asyncio.create_task(self._listen(member))
            _tell(member, part.as_json())
        readies = [one.ready for one in self.members]
        done, waiting = await asyncio.wait(readies, timeout=STARTS_WITHIN_S, return_when=asyncio.FIRST_EXCEPTION)
        for one in done:
            one.result()
        if waiting:
            raise NotReady(f"not all sessions were open within {STARTS_WITHIN_S:.0f} s")

    def go(self, at_ns: int) -> None:
        for one in self.members:
            _tell(one, {"go": at_ns})

    async def end(self) -> None:
        """Statements that are under way are waited for, for a moment; then everything is over."""
        for one in self.members:
            if one.process.stdin is not None:
                one.process.stdin.close()
        hearing = [one.hearing for one in self.members if one.hearing is not None]
        if hearing:
            await asyncio.wait(hearing, timeout=ENDS_WITHIN_S)
        for one in self.members:
            if one.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    if not one.has_ended:
                        one.process.kill()
            await one.process.wait()

    async def _listen(self, member: Member) -> None:
        output = member.process.stdout
        while output is not None and (text := await output.readline()):
            told: dict[str, Any] = json.loads(text)
            if "failure" in told:
                _settle(member, NotReady(str(told["failure"])))
            elif "ready" in told:
                _settle(member, None)
            else:
                member.has_said_last, member.seconds = told["is_last"], told["second"]
                self._hear(Tally.from_json(told["tally"]), member.seconds)
        _settle(member, NotReady("a process of the load ended before it was ready"))


def _settle(member: Member, error: NotReady | None) -> None:
    if member.ready.done():
        return
    if error is None:
        member.ready.set_result(None)
    else:
        member.ready.set_exception(error)
        member.ready.exception()  # one that nobody waits for any more is no accident


def _tell(member: Member, order: dict[str, Any]) -> None:
    """One that is gone by now is seen as lost where its output ends."""
    if member.process.stdin is not None:
        with contextlib.suppress(ConnectionError):
            member.process.stdin.write(json.dumps(order).encode() + b"\n")
