"""Programs that make load: started so that they end with the worker, read line by line, ended for good."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

# Of a program that was told to end.
ENDS_WITHIN_S = 2.0
# More than any report, less than a log of errors that never ends: of each, the begin and the end.
MOST_KEPT = 1_000_000
LEFT_OUT = "[… what was printed here is left out: there was too much of it …]\n"


class NotStarted(OSError):
    """The program cannot be run at all."""


@dataclass(frozen=True)
class Command:
    """name: which process of a run. environment: beside what the worker has; secrets stand here, never in words."""

    name: str
    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None


@dataclass(frozen=True)
class Line:
    """One line of what a process printed on either stream, without its end."""

    process: str
    text: str


class Process:
    """One program under way. Its output is handed on line by line, and kept: a long one without its middle."""

    def __init__(self, command: Command, lines: queue.SimpleQueue[Line]) -> None:
        """Raises NotStarted."""
        self.command = command
        self._lines = lines
        self._kept = _Kept()
        if shutil.which(command.words[0]) is None:
            raise NotStarted(f"there is no program {command.words[0]} on this worker's machine")
        try:
            self._popen = subprocess.Popen(
                [*_ends_with_us(), *command.words],
                env={**os.environ, **command.environment},
                cwd=command.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(f"{command.words[0]} could not be started: {error}") from error
        self._reader = threading.Thread(target=self._read, args=(self._popen.stdout,), daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._popen.poll()

    @property
    def output(self) -> str:
        return self._kept.text()

    def wait(self, *, until: float) -> bool:
        """Whether it has ended, and all it said was read, before this moment of time.monotonic()."""
        try:
            self._popen.wait(timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(timeout=ENDS_WITHIN_S)
        return True

    def end(self) -> None:
        """It and all that it started, the hard way where it does not go."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, number)
            if self.wait(until=time.monotonic() + ENDS_WITHIN_S):
                break

    def _read(self, stream: IO[str] | None) -> None:
        for text in stream or ():
            self._kept.add(text)
            self._lines.put(Line(self.command.name, text.rstrip("\n")))


class _Kept:
    """The first and the latest lines, MOST_KEPT characters of each: a report stands at the end."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._latest: deque[str] = deque()
        self._left_of_first = MOST_KEPT
        self._length_of_latest = 0
        self._is_cut = False

    def add(self, line: str) -> None:
        if self._left_of_first > 0:
            self._first.append(line)
            self._left_of_first -= len(line)
            return
        self._latest.append(line)
        self._length_of_latest += len(line)
        while self._length_of_latest > MOST_KEPT:
            self._length_of_latest -= len(self._latest.popleft())
            self._is_cut = True

    def text(self) -> str:
        return "".join([*self._first, *([LEFT_OUT] if self._is_cut else []), *self._latest])


class Processes:
    """Programs that run side by side. Leaving it ends those that still run."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._lines: queue.SimpleQueue[Line] = queue.SimpleQueue()
        self._commands = commands
        self.started: list[Process] = []

    def __enter__(self) -> Self:
        try:
            for command in self._commands:
                self.started.append(Process(command, self._lines))
        except NotStarted:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def are_running(self) -> bool:
        return any(process.exit_code is None for process in self.started)

    def read(self, *, within_s: float) -> list[Line]:
        """What was printed since; waits for the first line as long as anything may print one."""
        found: list[Line] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._lines.get(timeout=within_s))
            while True:
                found.append(self._lines.get_nowait())
        return found

    def end(self) -> None:
        for process in self.started:
            if process.exit_code is None:
                process.end()
            else:
                process.wait(until=time.monotonic() + ENDS_WITHIN_S)


def _ends_with_us() -> list[str]:
    """A worker that is killed cannot end its programs: the kernel does."""
    program = shutil.which("setpriv")
    return [program, "--pdeathsig", "KILL", "--"] if program else []
