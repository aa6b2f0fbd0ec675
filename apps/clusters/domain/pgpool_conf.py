"""pgpool.conf: read it as pgpool's own scanner does, set parameters, keep everything else as it stands.

The grammar was measured on 4.3.5 (values that its dry run echoes): keys are case-sensitive, '=' is optional, the last
of several settings wins, a quoted value ends at the first quote that no backslash precedes and is taken literally.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from apps.clusters.domain.conf_secrets import MASK, is_secret, mask_known, secret_name_in
from apps.clusters.domain.conf_secrets import mask_text as mask_secrets

__all__ = [
    "MASK",
    "ConfigSyntaxError",
    "DiffLine",
    "IncludeUnsupported",
    "ParameterChange",
    "PgpoolConf",
    "Setting",
    "UnwritableValue",
    "is_secret",
    "line_diff",
    "mask_secrets",
    "parse",
    "semantic_diff",
]

CONTEXT_LINES = 3

_LETTER = r"[A-Za-z_\u0080-\U0010FFFF]"
_WORD = r"[A-Za-z_0-9\u0080-\U0010FFFF]"
_TOKEN = re.compile(
    rf"""(?P<blank>[ \t\r]+)
    |(?P<comment>\#[^\n]*(?=\n))    # one that ends the file without a line end is a syntax error to pgpool
    |(?P<line_end>\n)
    |(?P<string>'(?:\\.|[^'\n])*')
    |(?P<word>{_LETTER}(?:{_WORD}|[-._:/])*)
    |(?P<number>[-+]?(?:0x[0-9a-fA-F]+|[0-9]*\.[0-9]*(?:[Ee][-+]?[0-9]+)?|[0-9]+)[A-Za-z]*)
    |(?P<equals>=)
    |(?P<other>.)""",
    re.VERBOSE,
)
_KEY = re.compile(rf"{_LETTER}{_WORD}*")
_PLAIN_VALUE = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?|on|off")
_BACKEND_HOSTNAME = re.compile(r"backend_hostname(0|[1-9][0-9]{0,2})")


def _without_secrets(line: str) -> str:
    """A line that cannot be read has no name and no value: where a secret's name stands in it, all behind it goes."""
    masked = mask_secrets(line)
    if masked == line and (found := secret_name_in(line)) is not None:
        return f"{line[: found.end()]} {MASK}"
    return masked


class ConfigSyntaxError(ValueError):
    """pgpool.conf could not be read."""

    def __init__(self, line_number: int, line: str, *, cure: str = "") -> None:
        super().__init__(f"line {line_number}: cannot read {_without_secrets(line.strip())!r}{cure}")
        self.line_number = line_number
        self.line = line


class IncludeUnsupported(ValueError):
    """This pgpool.conf includes another file, and Lifeguard changes single files only so far."""

    def __init__(self, line_number: int) -> None:
        super().__init__(
            f"line {line_number}: this pgpool.conf includes another file. Lifeguard cannot change a pgpool.conf that is"
            " made of several files yet: put all settings into one file and remove the include line."
        )
        self.line_number = line_number


class UnwritableValue(ValueError):
    """A value that pgpool.conf has no way to express."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: pgpool.conf cannot hold a quote, a line break or a backslash at the end of a value")
        self.name = name


@dataclass(frozen=True, slots=True)
class Setting:
    """One assignment in the file; start and end enclose its value as written, quotes included."""

    name: str
    value: str
    line_number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line_number: int
    start: int


@dataclass(frozen=True, slots=True)
class PgpoolConf:
    """A parsed pgpool.conf; text is the file, character for character."""

    text: str
    settings: tuple[Setting, ...]

    def get(self, name: str) -> str | None:
        """The value pgpool uses, without quotes; None if the file does not name it."""
        setting = self._latest(name)
        return None if setting is None else setting.value

    def values(self) -> dict[str, str]:
        return {setting.name: setting.value for setting in self.settings}

    def backend_node_ids(self) -> tuple[int, ...]:
        """The node_ids of backends with a host name, ascending."""
        names = (_BACKEND_HOSTNAME.fullmatch(name) for name, value in self.values().items() if value)
        return tuple(sorted(int(match[1]) for match in names if match))

    def with_values(self, values: Mapping[str, str | int]) -> "PgpoolConf":
        """The file with these parameters set: the assignment that counts is edited, a missing one appended.

        Raises UnwritableValue for text that pgpool.conf cannot express.
        """
        changed = self
        for name, value in values.items():
            changed = changed._with_value(name, str(value))
        return changed

    def _with_value(self, name: str, value: str) -> "PgpoolConf":
        setting = self._latest(name)
        if setting is not None and setting.value == value:
            return self
        written = _written(name, value, was_quoted=setting is not None and self.text[setting.start] == "'")
        if setting is None:
            return parse(self._with_line(f"{name} = {written}"))
        if setting.start == setting.end:  # "name" or "name =" without a value
            has_equals = self.text[: setting.start].rstrip().endswith("=")
            written = f" {written}" if has_equals else f" = {written}"
        return parse(self.text[: setting.start] + written + self.text[setting.end :])

    def _with_line(self, line: str) -> str:
        line_end = "\r\n" if "\r\n" in self.text else "\n"
        separator = "" if not self.text or self.text.endswith("\n") else line_end
        return f"{self.text}{separator}{line}{line_end}"

    def _latest(self, name: str) -> Setting | None:
        return next((setting for setting in reversed(self.settings) if setting.name == name), None)


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """A parameter with two values; None where the file does not name it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; a line number is None in the file that lacks the line.

    is_after_gap: lines that do not change, and are not shown, stand before it.
    """

    sign: Literal[" ", "+", "-"]
    old_no: int | None
    new_no: int | None
    text: str
    is_after_gap: bool = False


def parse(text: str) -> PgpoolConf:
    """Raises ConfigSyntaxError where pgpool would reject the file, IncludeUnsupported for an include."""
    tokens = _tokens(text)
    settings = tuple(_setting(token, tokens, text) for token in tokens if token.kind != "line_end")
    return PgpoolConf(text, settings)


def is_readable(text: str) -> bool:
    """Whether pgpool could read it, and it is one file."""
    try:
        parse(text)
    except (ConfigSyntaxError, IncludeUnsupported):
        return False
    return True


def semantic_diff(before: PgpoolConf, after: PgpoolConf) -> tuple[ParameterChange, ...]:
    """Parameters whose effective value differs, by name; order, comments and duplicates do not count."""
    old, new = before.values(), after.values()
    return tuple(
        ParameterChange(name, mask_known(name, old.get(name)), mask_known(name, new.get(name)))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def changed_names(before: str, after: str) -> set[str]:
    """Parameters whose effective value differs between two texts; all of the new one if the old one cannot be read."""
    new = parse(after).values()
    try:
        old = parse(before).values()
    except (ConfigSyntaxError, IncludeUnsupported):
        return set(new)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def line_diff(before: str, after: str) -> tuple[DiffLine, ...]:
    """Changed lines with a little context. Secrets are masked after comparing, so that their change still shows."""
    old, new = _lines(before), _lines(after)
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        lines = [line for opcode in group for line in _diff_lines(opcode, old, new)]
        found += [replace(lines[0], is_after_gap=bool(found)), *lines[1:]]
    return tuple(found)


def _setting(key: _Token, tokens: Iterator[_Token], text: str) -> Setting:
    if key.kind != "word" or not _KEY.fullmatch(key.text):
        raise ConfigSyntaxError(key.line_number, _line(text, key.start), cure=_cure(key))
    if key.text == "include":
        raise IncludeUnsupported(key.line_number)
    after = key.start + len(key.text)
    value = next(tokens, None)
    if value is not None and value.kind == "equals":
        after = value.start + 1
        value = next(tokens, None)
    if value is None or value.kind == "line_end":
        # pgpool takes an empty value for 0 or an empty text, and says nothing.
        return Setting(key.text, "", key.line_number, after, after)
    if value.kind not in {"string", "word", "number"}:
        raise ConfigSyntaxError(value.line_number, _line(text, value.start), cure=_cure(value))
    content = value.text[1:-1] if value.kind == "string" else value.text
    return Setting(key.text, content, key.line_number, value.start, value.start + len(value.text))


def _cure(token: _Token) -> str:
    # Every other comment is a token of its own.
    if token.text == "#":
        return ". pgpool cannot read a comment that ends the file without a line break either: add one at the end."
    return ""


def _tokens(text: str) -> Iterator[_Token]:
    line_number = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind not in {"blank", "comment"}:
            yield _Token(kind, match.group(), line_number, match.start())
        line_number += kind == "line_end"


def _line(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    return mask_secrets(text[start:].partition("\n")[0])


def _written(name: str, value: str, *, was_quoted: bool) -> str:
    if any(sign in value for sign in "'\n\r\0") or value.endswith("\\"):
        raise UnwritableValue(name)
    if not was_quoted and _PLAIN_VALUE.fullmatch(value):
        return value
    return f"'{value}'"


def _diff_lines(opcode: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    tag, old_start, old_end, new_start, new_end = opcode
    if tag == "equal":
        for offset, text in enumerate(old[old_start:old_end]):
            yield DiffLine(" ", old_start + offset + 1, new_start + offset + 1, mask_secrets(text))
        return
    for number, text in enumerate(old[old_start:old_end], old_start + 1):
        yield DiffLine("-", number, None, mask_secrets(text))
    for number, text in enumerate(new[new_start:new_end], new_start + 1):
        yield DiffLine("+", None, number, mask_secrets(text))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
