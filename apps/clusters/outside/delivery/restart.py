"""Restarts a pgpool of this machine by a command that the installation allows. No user ever writes a command."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

# Of the command itself; `timeout` holds it to that also when the worker that began it is gone.
COMMAND_DEADLINE_S = 120
_KILLED_AFTER_S = 5
# Of the whole, with the way to the host.
LONGEST_S = COMMAND_DEADLINE_S + 2 * _KILLED_AFTER_S
LARGEST_SAID_BYTES = 2000
# What a word of a command may stand for.
PATH_PLACE = "{path}"
_TIMED_OUT = 124


@dataclass(frozen=True)
class CommandEnded:
    """said: the end of what it printed, for operators: it may tell of the host. text: how it ended, for everybody."""

    code: int
    said: str

    @property
    def text(self) -> str:
        return f"no end within {COMMAND_DEADLINE_S} s" if self.code == _TIMED_OUT else f"code {self.code}"


class RestartNotBegun(Exception):
    """The command was not begun: this says why, and what to do."""


def run(argv: Sequence[str], *, path: str) -> CommandEnded:
    """path: of the pgpool.conf, which takes the place of the word {path}. Raises RestartNotBegun."""
    words = [path if word == PATH_PLACE else word for word in argv]
    # A file and not a pipe: a pgpool that the command leaves behind may hold it open for ever, and nothing that is
    # under way breaks when this worker is killed. For the same reason it gets a session of its own.
    with tempfile.TemporaryFile() as said:
        try:
            ended = subprocess.run(
                ["timeout", "-k", str(_KILLED_AFTER_S), str(COMMAND_DEADLINE_S), *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return CommandEnded(_TIMED_OUT, _end_of(said))
        except OSError as error:
            raise RestartNotBegun(f"the restart command could not be begun: {error}") from error
        return CommandEnded(ended.returncode, _end_of(said))


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, 2)
    file.seek(max(size - LARGEST_SAID_BYTES, 0))
    return words_of(file.read())


def words_of(said: bytes) -> str:
    return " ".join(said.replace(b"\0", b"").decode(errors="replace").split())
