"""What the programs of a run print, as it is kept: without its password, and the latest lines while it is under way."""

from __future__ import annotations

from collections import deque

HIDDEN = "[password]"
# A shorter one also stands in words that tell nothing of it.
SHORTEST_HIDDEN = 8
MOST_LINES = 40
MOST_CHARACTERS = 8192
# Of one line: the rest is in the whole output.
LONGEST_LINE = 400


def storable(text: str, *, password: str) -> str:
    """Without NUL, which PostgreSQL does not store."""
    text = text.replace("\0", "�")
    return text.replace(password, HIDDEN) if len(password) >= SHORTEST_HIDDEN else text


class LogTail:
    """The latest lines of a run, its steps among them: at most MOST_LINES and MOST_CHARACTERS.

    names_processes: whether lines begin with the process that printed them, as where several run side by side.
    """

    def __init__(self, *, password: str) -> None:
        self._password = password
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._is_new = False
        self.names_processes = False

    def begin(self, step: str) -> None:
        """What is added from now on belongs to this step."""
        self._add(f"— {step}")

    def add(self, process: str, line: str) -> None:
        self._add(f"{process}: {line}" if self.names_processes else line)

    def news(self) -> str | None:
        """The text, where something was added since it was asked for; None where nothing was."""
        if not self._is_new:
            return None
        self._is_new = False
        return self.text()

    def text(self) -> str:
        found: list[str] = []
        left = MOST_CHARACTERS
        for line in reversed(self._lines):
            left -= len(line) + 1
            if left < 0:
                break
            found.append(line)
        return "\n".join(reversed(found))

    def _add(self, line: str) -> None:
        line = storable(line, password=self._password)
        self._lines.append(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…")
        self._is_new = True
