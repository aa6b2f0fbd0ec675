"""One parameter of pgpool.conf: what it may hold, and when two ways of writing it mean the same."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

LARGEST = 2**63
# Nobody's figure is longer; int() itself refuses texts of more than 4300 digits.
LONGEST_NUMBER = 40

TRUE_WORDS = frozenset({"on", "true", "yes", "1"})
FALSE_WORDS = frozenset({"off", "false", "no", "0"})
_QUANTITY = re.compile(
    r"(?P<sign>[-+]?)(?P<number>0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[ \t]*(?P<unit>[A-Za-z]*)"
)
_FLOAT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# How many of the base unit one of a unit is. pgpool tells kB from KB, and ms from MS.
_BYTES = {"B": 1.0, "kB": 1024.0, "MB": 1024.0**2, "GB": 1024.0**3, "TB": 1024.0**4}
_SECONDS = {"us": 0.000001, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SCALES = {
    "bytes": (_BYTES, 1.0),
    "kB": (_BYTES, 1024.0),
    "ms": (_SECONDS, 0.001),
    "s": (_SECONDS, 1.0),
    "min": (_SECONDS, 60.0),
}


class Kind(StrEnum):
    BOOL = "bool"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"
    ENUM = "enum"
    LIST = "list"


class Context(StrEnum):
    RESTART = "restart"  # read when pgpool starts; a reload overlooks it without a word
    RELOAD = "reload"
    SESSION = "session"  # by reload, and by PGPOOL SET for one session


@dataclass(frozen=True, slots=True)
class Parameter:
    """One name as one version knows it; node_id where the name ends in a number (a backend's, or a pgpool's)."""

    name: str
    kind: Kind
    group: str
    context: Context
    meaning: str
    default: str | None  # None: depends on how pgpool was packaged
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str | None = None  # ms, s, min, bytes, kB
    takes_units: bool = True  # whether a value may be written with a unit; before 4.2, none
    separator: str = ","  # of a list
    takes_spaces: bool = False  # around the choices of a list
    has_patterns: bool = False  # a list of regular expressions
    is_octal: bool = False  # an access mode
    is_secret: bool = False
    numbered: str | None = None  # backend, watchdog, heartbeat: the name takes a number
    is_bare: bool = False  # the name may also stand without its number, as the default of all
    node_id: int | None = None
    renamed_from: tuple[str, ...] = ()

    def of(self, node_id: int) -> "Parameter":
        """This numbered parameter, of one backend or pgpool."""
        return replace(self, name=f"{self.name}{node_id}", node_id=node_id)

    def of_all(self) -> "Parameter":
        """This numbered parameter without a number; 4.3.5 refuses 7min there, and takes it in numbered ones."""
        return replace(self, takes_units=False)


def normal(parameter: Parameter, text: str) -> str:
    """The one way to write this value: on and off, figures in the parameter's own unit, enums in small letters.

    A value that the parameter cannot hold is given back as it is.
    """
    if parameter.kind is Kind.BOOL:
        word = text.strip().lower()
        return "on" if word in TRUE_WORDS else "off" if word in FALSE_WORDS else text
    if parameter.kind is Kind.ENUM:
        return next((choice for choice in parameter.choices if choice.lower() == text.strip().lower()), text)
    if parameter.kind is Kind.LIST:
        return parameter.separator.join(item.strip() for item in text.split(parameter.separator))
    if parameter.kind is Kind.STRING:
        return text
    amount = number(parameter, text)
    if amount is None:
        return text
    if parameter.is_octal and amount == int(amount):
        return f"0{int(amount):o}"
    return str(int(amount)) if amount == int(amount) else repr(amount)


def same_value(parameter: Parameter, one: str | None, other: str | None) -> bool:
    """Whether two texts mean the same value: 1min is 60, yes is on, 1001B is 1001."""
    if one is None or other is None:
        return one is other
    return one == other or normal(parameter, one) == normal(parameter, other)


def number(parameter: Parameter, text: str) -> float | None:
    """The figure in the parameter's own unit; None if pgpool could not read it, or nobody could mean it.

    As pgpool reads it: 0x20 is hexadecimal, 010 is octal (so 8), 1min of a parameter in seconds is 60.
    """
    text = text.strip()
    if not text or len(text) > LONGEST_NUMBER or not text.isascii():
        return None
    if parameter.kind is Kind.FLOAT:
        return _finite(float(text)) if _FLOAT.fullmatch(text) else None
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    scale = _scale(parameter.unit, match["unit"])
    figure = _figure(match["number"])
    if scale is None or figure is None:
        return None
    return _finite(-figure * scale if match["sign"] == "-" else figure * scale)


def units(parameter: Parameter) -> tuple[str, ...]:
    """The units that a value of this parameter may be written with."""
    return tuple(_SCALES[parameter.unit][0]) if parameter.unit and parameter.takes_units else ()


def _scale(own_unit: str | None, written_unit: str) -> float | None:
    if not written_unit:
        return 1.0
    if own_unit is None:
        return None
    known, own = _SCALES[own_unit]
    return known[written_unit] / own if written_unit in known else None


def _figure(text: str) -> float | None:
    try:
        if text[:2].lower() == "0x":
            return float(int(text, 16))
        if text.isdigit():
            return float(int(text, 8 if text.startswith("0") else 10))
        return float(text)
    except ValueError:  # 089 is no octal figure
        return None


def _finite(amount: float) -> float | None:
    # Beyond this neither pgpool's integers nor anybody's weights go.
    return amount if abs(amount) <= LARGEST else None
