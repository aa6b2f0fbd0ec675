"""Figures for people: a value, a space that does not break, its unit; an en dash where it is not known.

The argument of a filter is the reason that the dash shows as its title: {{ lag_s|lag:"pg3 does not answer" }}.
frontend/src/values.ts says the same figures in the same way.
"""

import math
from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

SPACE = "\u00a0"
UNKNOWN = "not known"
NODE_COLOURS = 8
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def missing(reason: object = UNKNOWN) -> SafeString:
    return format_html('<span class="q" title="{}">–</span>', reason or UNKNOWN)


def _number_of(value: object) -> float | None:
    """A finite number, or None for whatever is not known."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        found = float(value)  # type: ignore[arg-type]  # templates pass anything
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _plain(value: float, digits: int) -> str:
    # -0.04 rounds to -0.0: no figure has a sign without a value.
    text = f"{value:,.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text.replace("-", "−")


@register.filter
def known(value: object, reason: str = UNKNOWN) -> object:
    """A text as it is, or the dash."""
    return missing(reason) if value is None or value == "" else value


@register.filter
def number(value: object, reason: str = UNKNOWN) -> str:
    """142076 -> 142,076"""
    found = _number_of(value)
    if found is None:
        return missing(reason)
    return _plain(found, 0 if found.is_integer() else 1)


@register.filter
def share(value: object, reason: str = UNKNOWN) -> str:
    """0.3342 -> 33.4 %"""
    found = _number_of(value)
    return missing(reason) if found is None else f"{_plain(found * 100, 1)}{SPACE}%"


@register.filter
def whole_share(value: object, reason: str = UNKNOWN) -> str:
    """0.3342 -> 33 %"""
    found = _number_of(value)
    return missing(reason) if found is None else f"{_plain(found * 100, 0)}{SPACE}%"


@register.filter
def points(value: object, reason: str = UNKNOWN) -> str:
    """A difference of shares, signed: -0.118 -> −11.8 pp"""
    found = _number_of(value)
    if found is None:
        return missing(reason)
    text = _plain(found * 100, 1)
    return f"{'' if text.startswith('−') else '+'}{text}{SPACE}pp"


@register.filter
def data_size(value: object, reason: str = UNKNOWN) -> str:
    """98304 bytes -> 96 KiB"""
    found = _number_of(value)
    if found is None:
        return missing(reason)
    unit = 0
    while abs(found) >= 1024 and unit < len(_BYTE_UNITS) - 1:
        found /= 1024
        unit += 1
    return f"{_plain(found, 0 if unit < 2 else 1)}{SPACE}{_BYTE_UNITS[unit]}"


@register.filter
def lag(value: object, reason: str = UNKNOWN) -> str:
    """Seconds behind: 0.21 -> 0.2 s; 214.3 -> 214 s"""
    found = _number_of(value)
    return missing(reason) if found is None else f"{_plain(found, 1 if abs(found) < 100 else 0)}{SPACE}s"


@register.filter
def rate(value: object, reason: str = UNKNOWN) -> str:
    """Events per second, the unit stands beside: 8.634 -> 8.63; 86.34 -> 86; 4120.4 -> 4,120"""
    found = _number_of(value)
    return missing(reason) if found is None else _plain(found, 2 if abs(found) < 9.995 else 0)


@register.filter
def reads_per_s(value: object, reason: str = UNKNOWN) -> str:
    """86.34 -> 86 reads/s"""
    return missing(reason) if _number_of(value) is None else f"{rate(value)}{SPACE}reads/s"


@register.filter
def moment(value: datetime | None, reason: str = UNKNOWN) -> SafeString:
    """An instant: "7 min ago" or "in 5 min" in a browser, its UTC text without one."""
    if not isinstance(value, datetime):
        return missing(reason)
    return format_html('<relative-time datetime="{}">{}</relative-time>', _machine(value), _instant(value))


@register.filter
def clock(value: datetime | None, reason: str = UNKNOWN) -> SafeString:
    """The time of day: 14:25:02 UTC, with the day in its title."""
    return _time(value, "%H:%M:%S\u00a0UTC", reason)


@register.filter
def day(value: datetime | None, reason: str = UNKNOWN) -> SafeString:
    """The day in UTC, for what is still to come: 17 Mar 2026, with the instant in its title."""
    return _time(value, "%-d\u00a0%b\u00a0%Y", reason)


def _time(value: datetime | None, layout: str, reason: str) -> SafeString:
    if not isinstance(value, datetime):
        return missing(reason)
    shown = value.astimezone(UTC).strftime(layout)
    return format_html('<time datetime="{}" title="{}">{}</time>', _machine(value), _instant(value), shown)


def _machine(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@register.filter
def node_colour(node_id: object) -> str:
    """The value of style="…" that gives --c the colour of a backend: by its node_id, for ever."""
    found = _number_of(node_id)
    return f"--c:var(--node-{int(found or 0) % NODE_COLOURS})"


@register.filter
def full_stop(value: str) -> str:
    """A reason as a sentence among others: with a full stop, unless it ends in one."""
    text = value.rstrip()
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


@register.filter
def css_share(value: object) -> str:
    """0..1 as a length for style="…": 0.3342 -> 33.42%; what is not known takes no room."""
    found = _number_of(value)
    return f"{min(max(found or 0.0, 0.0), 1.0) * 100:.2f}%"
