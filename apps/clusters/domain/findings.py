"""What is to be said about a parameter before anything is touched."""

from dataclasses import dataclass
from enum import StrEnum

from apps.clusters.domain.conf_secrets import MASK, is_secret, mask_value

LONGEST_SHOWN = 60


class Severity(StrEnum):
    ERROR = "error"  # not to be rolled out
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """suggestion: what would be right, None where nothing has to change. line: in the file, from 1."""

    parameter: str
    severity: Severity
    message: str
    suggestion: str | None = None
    line: int | None = None


def error(parameter: str, message: str, suggestion: str, line: int | None = None) -> Finding:
    return Finding(parameter, Severity.ERROR, message, suggestion, line)


def warning(parameter: str, message: str, suggestion: str | None = None, line: int | None = None) -> Finding:
    return Finding(parameter, Severity.WARNING, message, suggestion, line)


def note(parameter: str, message: str) -> Finding:
    return Finding(parameter, Severity.NOTE, message)


def in_words(found: Finding) -> str:
    """With its line and what would be right."""
    line = "" if found.line is None or found.message.startswith("line ") else f"line {found.line}: "
    return f"{line}{found.message}" + (f"; expected {found.suggestion}" if found.suggestion else "")


def shown(name: str, value: str) -> str:
    """A value for a sentence: quoted, short, its secrets hidden, signs that cannot be seen written out."""
    if is_secret(name):
        return MASK
    text = mask_value(name, value)
    return ascii(text) if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]!a}…"


def shown_name(name: str) -> str:
    """A name that may be anything at all."""
    return name if name.isascii() and name.isprintable() and len(name) <= LONGEST_SHOWN else shown("", name)
