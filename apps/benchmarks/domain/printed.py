"""Labelled lines of a report: the figures in them by name, or the line that cannot be read and what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Lengths are bounded, so that no figure is too long for int() or becomes infinite.
INT = r"\d{1,18}"
# pgbench writes NaN and Infinity, sysbench nan and inf.
NUMBER = r"(?:-?\d{1,18}(?:\.\d{1,12})?|-?(?:nan|NaN|inf|Infinity))"
PERCENT = rf"\(\s*{NUMBER}\s*%\)"

EXCERPT_CHARACTERS = 120


class UnreadableOutputError(ValueError):
    """The output of a load generator could not be read.

    line_number: counted from 1; 0 where something is missing from the whole text.
    expected: what should have stood there.
    """

    def __init__(self, line_number: int, line: str, expected: str) -> None:
        self.line_number = line_number
        self.line = line[:EXCERPT_CHARACTERS]
        self.expected = expected
        where = f"line {line_number}: cannot read {self.line!r}; " if line_number else ""
        super().__init__(f"{where}expected {expected}")


@dataclass
class Figures:
    """Texts as printed, by name."""

    texts: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        return self.texts.get(name)

    def integer(self, name: str) -> int | None:
        printed = self.texts.get(name)
        return None if printed is None else int(printed)

    def number(self, name: str) -> float | None:
        """None too where the tool divided by zero and printed nan or inf."""
        printed = self.texts.get(name)
        return None if printed is None else finite(printed)


def finite(printed: str) -> float | None:
    value = float(printed)
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Labelled:
    """A kind of line: how it begins, what follows with named groups, and an example for whoever has to mend it."""

    label: str
    rest: re.Pattern[str]
    example: str


def labelled(label: str, rest: str, example: str) -> Labelled:
    return Labelled(label, re.compile(rest), example)


def read_labelled(kinds: Sequence[Labelled], line_number: int, line: str) -> Mapping[str, str] | None:
    """The figures of a line by name; None if its label is none of these.

    Raises UnreadableOutputError if the label is known and what follows is not as it should be.
    """
    for kind in kinds:
        if line.startswith(kind.label):
            match = kind.rest.fullmatch(line[len(kind.label) :].strip())
            if match is None:
                raise UnreadableOutputError(line_number, line, f"a line such as {kind.example!r}")
            return {name: text for name, text in match.groupdict().items() if text is not None}
    return None
