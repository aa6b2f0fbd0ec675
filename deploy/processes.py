"""Knows a process by its number and the moment it started, and ends it without ever hitting a stranger's."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LOADING_PATIENCE = 5  # looks, 10 ms apart


@dataclass(frozen=True)
class Process:
    """A process, told apart from a later one with the same number by its start time (clock ticks since boot)."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        return start_time(self.pid) == self.started


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third (state) on; empty when there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    return text.rpartition(")")[2].split()


def start_time(pid: int) -> int | None:
    """None for a process that is gone; a zombie counts as gone."""
    fields = _stat_fields(pid)
    return None if not fields or fields[0] == "Z" else int(fields[19])


def process(pid: int) -> Process | None:
    started = start_time(pid)
    return None if started is None else Process(pid, started)


def by_environment(name: str) -> dict[str, list[Process]]:
    """Living processes that were started with this environment variable, by its value; children inherit it."""
    found: dict[str, list[Process]] = {}
    wanted = f"{name}=".encode()
    for pid in pids():
        values = [each.removeprefix(wanted) for each in _environment(pid) if each.startswith(wanted)]
        living = process(pid) if values and shares_our_view(pid) else None
        if living is not None:
            found.setdefault(os.fsdecode(values[0]), []).append(living)
    return found


def pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """Empty for one that is gone meanwhile or somebody else's."""
    for _ in range(LOADING_PATIENCE):
        try:
            text = (PROC / str(pid) / "environ").read_bytes()
            if text:
                return text.split(b"\0")
            # Empty for the kernel's own, which have no program, and for a program while it is being loaded.
            (PROC / str(pid) / "exe").readlink()
        except OSError:
            return []
        time.sleep(0.01)
    return []


def shares_our_view(pid: int) -> bool:
    """Whether its paths and process numbers mean what they mean to us: not so in a container or a chroot."""
    theirs, ours = PROC / str(pid), PROC / "self"
    try:
        has_our_numbers = (theirs / "ns" / "pid").readlink() == (ours / "ns" / "pid").readlink()
        return has_our_numbers and (theirs / "root").samefile("/")
    except OSError:
        return False


def descendants(pid: int) -> list[Process]:
    """Children, their children and so on; parents come first."""
    children: dict[int, list[int]] = {}
    for each in pids():
        fields = _stat_fields(each)
        if fields:
            children.setdefault(int(fields[1]), []).append(each)
    found, waiting = [], [pid]
    while waiting:
        for child in children.get(waiting.pop(0), []):
            living = process(child)
            if living is not None:
                found.append(living)
                waiting.append(child)
    return found


def send(target: Process, signal_number: signal.Signals) -> None:
    if target.is_alive:
        try:
            os.kill(target.pid, signal_number)
        except ProcessLookupError:
            return


def wait_until_gone(targets: Sequence[Process], *, deadline_s: float) -> list[Process]:
    """Returns those still alive when the deadline passed."""
    ends_at = time.monotonic() + deadline_s
    while True:
        alive = [target for target in targets if target.is_alive]
        if not alive or time.monotonic() > ends_at:
            return alive
        time.sleep(0.02)


def end(targets: Sequence[Process], *, with_signal: signal.Signals = signal.SIGTERM, grace_s: float = 10.0) -> None:
    """Ask, wait, then kill what has not gone."""
    for target in targets:
        send(target, with_signal)
        # One that was frozen would not hear the request.
        send(target, signal.SIGCONT)
    for target in wait_until_gone(targets, deadline_s=grace_s):
        send(target, signal.SIGKILL)
    wait_until_gone(targets, deadline_s=5.0)
