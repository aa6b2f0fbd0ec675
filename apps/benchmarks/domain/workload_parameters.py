"""What a workload lets one choose: of which kind each value is, and what is refused of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypedDict


class ParameterRefused(ValueError):
    """A value that cannot be taken. path: the parameter, or a place inside it, as scripts.0.sql."""

    def __init__(self, path: str, value: object, expected: str) -> None:
        super().__init__(f"{path}: {str(value)[:80]!r} {expected}")
        self.path = path
        self.value = value
        self.expected = expected


class ParameterDescribed(TypedDict):
    """kind: whole_number, yes_no, choice, scripts or sql. least, most: of numbers, or of how many scripts there may be.

    choices: of a choice. default: null where there is none; such a value may be left out, or be null.
    """

    name: str
    kind: str
    label: str
    unit: str
    least: int | None
    most: int | None
    choices: list[str] | None
    default: int | bool | str | None


class Parameter(Protocol):
    """default: taken where a run does not name it."""

    @property
    def name(self) -> str: ...

    @property
    def default(self) -> Any: ...

    def read(self, value: object) -> Any:
        """The value as the run keeps it. Raises ParameterRefused."""

    def described(self) -> ParameterDescribed: ...


@dataclass(frozen=True)
class WholeNumber:
    """unit: "" for a plain number. default None: it may be left out, or be null."""

    name: str
    label: str
    least: int
    most: int
    default: int | None = None
    unit: str = ""

    def read(self, value: object) -> int | None:
        if value is None and self.default is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            expected = f"must be a whole number from {self.least} to {self.most} {self.unit}".strip()
            raise ParameterRefused(self.name, value, expected + (", or null" if self.default is None else ""))
        return value

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "whole_number", "label": self.label, "unit": self.unit, "least": self.least,
            "most": self.most, "choices": None, "default": self.default,
        }  # fmt: skip


@dataclass(frozen=True)
class YesNo:
    """default None: it may be left out, or be null, and what is usual then depends on more than the workload."""

    name: str
    label: str
    default: bool | None = False

    def read(self, value: object) -> bool | None:
        if value is None and self.default is None:
            return None
        if not isinstance(value, bool):
            raise ParameterRefused(
                self.name, value, "must be true or false" + (", or null" if self.default is None else "")
            )
        return value

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "yes_no", "label": self.label, "unit": "", "least": None, "most": None,
            "choices": None, "default": self.default,
        }  # fmt: skip


@dataclass(frozen=True)
class Choice:
    name: str
    label: str
    choices: tuple[str, ...]
    default: str

    def read(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ParameterRefused(self.name, value, f"must be one of {', '.join(self.choices)}")
        return value

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "choice", "label": self.label, "unit": "", "least": None, "most": None,
            "choices": list(self.choices), "default": self.default,
        }  # fmt: skip
