"""Whether a parameter can hold a value: what pgpool would refuse, and what it would take for something else."""

from apps.clusters.domain.conf_secrets import MASK
from apps.clusters.domain.findings import Finding, error, shown, warning
from apps.clusters.domain.parameters.parameter import (
    FALSE_WORDS,
    TRUE_WORDS,
    Kind,
    Parameter,
    number,
    units,
)
from apps.clusters.domain.posix_patterns import items_of, pattern_trouble, redirect_trouble

LONGEST_VALUE = 8000


def check_value(parameter: Parameter, value: str, *, line: int | None = None) -> list[Finding]:
    """What is wrong with the value, without its quotes, or only looks wrong."""
    unwritable = _unwritable(parameter.name, value, line)
    if unwritable is not None:
        return [unwritable]
    match parameter.kind:
        case Kind.BOOL:
            return _bool(parameter, value, line)
        case Kind.INTEGER | Kind.FLOAT:
            return _figure(parameter, value, line)
        case Kind.ENUM:
            return _enum(parameter, value, line)
        case Kind.LIST:
            return _list(parameter, value, line)
        case Kind.STRING:
            return []


def _unwritable(name: str, value: str, line: int | None) -> Finding | None:
    if value == MASK:
        return error(name, f"{name}: {MASK} hides a secret and is none itself", "the real value", line)
    if len(value) > LONGEST_VALUE:
        return error(name, f"{name} has {len(value)} characters", f"at most {LONGEST_VALUE} characters", line)
    strange = strange_sign(value)
    if strange is not None:
        message = f"{name} holds the sign {strange!a}, which no pgpool.conf can hold"
        return error(name, message, "the value without it", line)
    return None


def strange_sign(text: str) -> str | None:
    """The first sign that no line of a pgpool.conf can hold: a control character, or half of a character."""
    return next((sign for sign in text if (sign < " " and sign != "\t") or "\ud800" <= sign <= "\udfff"), None)


def _bool(parameter: Parameter, value: str, line: int | None) -> list[Finding]:
    if value.strip().lower() in TRUE_WORDS | FALSE_WORDS:
        return []
    message = f"{parameter.name}: {shown(parameter.name, value)} is neither on nor off; pgpool may take it for on"
    return [error(parameter.name, message, "on or off", line)]


def _figure(parameter: Parameter, value: str, line: int | None) -> list[Finding]:
    name, amount, bounds = parameter.name, number(parameter, value), _bounds(parameter)
    has_unit = value.strip()[-1:].isalpha() and not value.strip().lower().startswith("0x")
    if amount is None or (has_unit and not parameter.takes_units):
        taken = "; pgpool would take it for 0 or for its first digits" if parameter.kind is Kind.FLOAT else ""
        return [error(name, f"{name}: {shown(name, value)} is no figure it can hold{taken}", bounds, line)]
    least, most = parameter.minimum, parameter.maximum
    if (least is not None and amount < least) or (most is not None and amount > most):
        return [error(name, f"{name}: {shown(name, value)} is out of range", bounds, line)]
    digits = value.strip().lstrip("+-")
    is_octal = len(digits) > 1 and digits[:2].isdigit() and digits.startswith("0")
    if is_octal and parameter.kind is Kind.INTEGER and not parameter.is_octal:
        message = f"{name}: pgpool reads {shown(name, value)} as octal, so as {int(amount)}"
        return [warning(name, message, str(int(amount)), line)]
    return []


def _bounds(parameter: Parameter) -> str:
    whole = "a whole number" if parameter.kind is Kind.INTEGER else "a number"
    least, most = int(parameter.minimum or 0), parameter.maximum
    text = f"{whole} from {least}" + (f" to {int(most)}" if most is not None and most < 2**62 else "")
    if parameter.is_octal:
        return "an access mode in octal, such as 0600"
    if parameter.unit:
        text += f" in {parameter.unit}"
    known = units(parameter)
    return f"{text}, or with one of the units {', '.join(known)}" if known else text


def _enum(parameter: Parameter, value: str, line: int | None) -> list[Finding]:
    if value.lower() in {choice.lower() for choice in parameter.choices}:
        return []
    message = f"{parameter.name}: {shown(parameter.name, value)} is none of its values"
    return [error(parameter.name, message, f"one of {', '.join(parameter.choices)}", line)]


def _list(parameter: Parameter, value: str, line: int | None) -> list[Finding]:
    if parameter.choices:
        return _flags(parameter, value, line)
    is_redirect = parameter.name.endswith("_redirect_preference_list")
    if not value.strip() or not (parameter.has_patterns or is_redirect):
        return []
    for item in items_of(value, parameter.separator):
        trouble = redirect_trouble(item) if is_redirect else pattern_trouble(item) if item else "an item is empty"
        if trouble is not None:
            message = f"{parameter.name}: pgpool would throw {shown(parameter.name, item)} away: {trouble}"
            return [
                error(parameter.name, message, f"items that are patterns, with {parameter.separator} between", line)
            ]
    return []


def _flags(parameter: Parameter, value: str, line: int | None) -> list[Finding]:
    name = parameter.name
    spaces = "" if parameter.takes_spaces else " and no spaces"
    expected = f"one or more of {', '.join(parameter.choices)}, with {parameter.separator} between{spaces}"
    items = value.split(parameter.separator) if value or name == "log_destination" else []
    if parameter.takes_spaces:
        items = [item.strip() for item in items]
    for item in items:
        if item not in parameter.choices:
            return [error(name, f"{name}: {shown(name, item)} is none of its values", expected, line)]
    if {"ALLOW_TO_FAILOVER", "DISALLOW_TO_FAILOVER"} <= set(items):
        return [error(name, f"{name} allows and forbids the failover at once", "one of the two", line)]
    return []
