"""Runs long commands with their output in a log, and tells the person waiting that something still moves."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent.parent
LOG = CLONE / ".lifeguard" / "setup.log"
SAY_EVERY_S = 10.0


class StepFailed(RuntimeError):
    """A command of the set-up failed."""

    def __init__(self, title: str, command: Sequence[str], code: int, tail: str) -> None:
        super().__init__(f"{title} failed ({' '.join(command[:4])} … ended with {code}). Log: {LOG}\n\n{tail}")


def say(text: str) -> None:
    print(text, flush=True)


def tail_of_log(lines: int) -> list[str]:
    with LOG.open("rb") as log:
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - 8192))
        return log.read().decode(errors="replace").replace("\r", "\n").rstrip().splitlines()[-lines:]


def run_step(
    title: str, command: Sequence[str], *, environment: Mapping[str, str] | None = None, directory: Path = CLONE
) -> None:
    """Raises StepFailed with the end of the command's output."""
    say(f"  {title} …")
    begun = time.monotonic()
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("ab") as log:
        log.write(f"\n$ {' '.join(command)}\n".encode())
        log.flush()
        # No terminal on stdin: nothing may stop and ask. sudo asks on the terminal itself.
        running = subprocess.Popen(
            command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        code = wait(running, begun=begun)
    if code != 0:
        raise StepFailed(title, command, code, "\n".join(tail_of_log(25)))
    say(f"  {title}: done in {time.monotonic() - begun:.0f} s")


def wait(running: "subprocess.Popen[bytes]", *, begun: float) -> int:
    try:
        while True:
            try:
                return running.wait(timeout=SAY_EVERY_S)
            except subprocess.TimeoutExpired:
                newest = (tail_of_log(1) or [""])[0].strip()
                say(f"    {time.monotonic() - begun:3.0f} s  {newest[:90]}")
    except KeyboardInterrupt:
        running.terminate()
        running.wait()
        sys.exit(130)
