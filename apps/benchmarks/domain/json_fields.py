"""A JSON document taken field by field: whatever is not as expected is named with its path and its value."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

EXCERPT_CHARACTERS = 80
NAME_CHARACTERS = 200
TEXT_CHARACTERS = 2000

# Short enough that arithmetic on it stays exact.
_DECIMAL = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?", re.ASCII)


class ImportedDataError(ValueError):
    """The imported document is not as described.

    path: of the field, such as results[2].figures.tps; "" for the whole document.
    value: an excerpt of what stands there, as JSON; "" where nothing does.
    """

    def __init__(self, path: str, value: str, expected: str) -> None:
        self.path = _shown(path)
        self.value = _shown(value if len(value) <= EXCERPT_CHARACTERS else value[:EXCERPT_CHARACTERS] + "…")
        self.expected = expected
        found = f"cannot take {self.value}" if value else "is missing"
        super().__init__(f"{self.path or 'the document'}: {found}; expected {expected}")


@dataclass(frozen=True)
class Field:
    """A value of the document and where it stands."""

    path: str
    value: object

    def refuse(self, expected: str) -> ImportedDataError:
        return ImportedDataError(self.path, _excerpt(self.value), expected)

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Field]:
        """Of an object that holds these fields and no others."""
        found = self.members()
        known = [*required, *optional]
        for name, field in found.items():
            if name not in known:
                raise field.refuse(f"no field of that name; there may be {', '.join(known) or 'none'}")
        for name in required:
            if name not in found:
                raise ImportedDataError(_under(self.path, name), "", "this field in every document of the format")
        return found

    def members(self) -> dict[str, Field]:
        if not isinstance(self.value, dict):
            raise self.refuse("an object: {…}")
        return {name: Field(_under(self.path, name), value) for name, value in self.value.items()}

    def items(self, *, at_most: int) -> Iterator[Field]:
        if not isinstance(self.value, list):
            raise self.refuse("a list: […]")
        if len(self.value) > at_most:
            raise ImportedDataError(self.path, f"{len(self.value)} entries", f"at most {at_most}")
        return (Field(f"{self.path}[{at}]", value) for at, value in enumerate(self.value))

    def text(self, *, at_most: int = TEXT_CHARACTERS) -> str:
        if not isinstance(self.value, str) or not self.value.strip() or len(self.value) > at_most:
            raise self.refuse(f"a text of 1 to {at_most} characters")
        if any(not character.isprintable() for character in self.value):
            raise self.refuse("a text without control characters")
        return self.value

    def name(self) -> str:
        return self.text(at_most=NAME_CHARACTERS)

    def identifier(self) -> str:
        if not isinstance(self.value, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", self.value):
            raise self.refuse("a name of lower-case letters, digits and _, such as latency_ms")
        return self.value

    def choice(self, choices: Sequence[str]) -> str:
        if not isinstance(self.value, str) or self.value not in choices:
            raise self.refuse("one of " + ", ".join(choices))
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.refuse("true or false")
        return self.value

    def count(self) -> int:
        """A whole number above 0, short enough to be one of clients, runs or rows."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not 0 < self.value < 10**9:
            raise self.refuse("a whole number above 0, without quotes")
        return self.value

    def decimal_text(self) -> str:
        """The digits as they were printed; `number` makes a Decimal of them."""
        if not isinstance(self.value, str) or number(self.value) is None:
            raise self.refuse(
                'a number as a text, such as "9.54162", so that its digits stay as printed; '
                'what is no number is given as {"as_printed": "…"}'
            )
        return self.value

    def positive(self) -> Decimal:
        value = number(self.decimal_text())
        if value is None or value <= 0:
            raise self.refuse('a number above 0 as a text, such as "600"')
        return value


def number(printed: str) -> Decimal | None:
    return Decimal(printed) if _DECIMAL.fullmatch(printed) else None


def document(text: str) -> Field:
    """Raises ImportedDataError where it is no JSON, or names a field twice."""
    try:
        return Field("", json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant))
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        raise ImportedDataError(
            f"line {error.lineno}, column {error.colno}", _excerpt(line), f"JSON; what is wrong: {error.msg}"
        ) from error
    except RecursionError as error:
        raise ImportedDataError("", "so deep a nesting", "objects and lists as described") from error
    except ImportedDataError:
        raise
    except ValueError as error:  # A number of thousands of digits.
        raise ImportedDataError("", "a number of so many digits", "numbers as texts of at most 18 digits") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ImportedDataError(name[:NAME_CHARACTERS], "a field that is there twice", "each field once")
        found[name] = value
    return found


def _no_constant(name: str) -> object:
    raise ImportedDataError("", name, "numbers; what was not printed is null")


def _under(path: str, name: str) -> str:
    shown = name[:NAME_CHARACTERS]
    return f"{path}.{shown}" if path else shown


def _excerpt(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value[: EXCERPT_CHARACTERS + 1] if isinstance(value, str) else value, ensure_ascii=False)


def _shown(text: str) -> str:
    """Half of a surrogate pair, which JSON may hold, cannot be sent to anybody."""
    return text.encode("utf-8", "backslashreplace").decode()
