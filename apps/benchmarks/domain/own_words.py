"""Figures that only one kind of load has, for people: whatever a driver tells, by the unit that its name ends in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.benchmarks.domain.run_words import SPACE, ms_words

# What each ends a name with -> what stands behind the figure.
_UNITS = {"_mib_per_s": "MiB/s", "_bytes_per_s": "B/s", "_per_s": "per s", "_bytes": "B", "_ms": "ms", "_s": "s"}
_SHARE = "_share"
# Of one thing, whatever the name around it says.
_COUNTS = {"count"}
Row = tuple[str, str]


def rows(figures: Mapping[str, object]) -> list[Row]:
    """(what, its value), in the order of the driver; what is not known is left out."""
    found: list[Row] = []
    for name, value in figures.items():
        found += _rows(name, value, "")
    return found


def _rows(name: str, value: object, unit_around: str) -> list[Row]:
    label, unit = _label(name, unit_around)
    if isinstance(value, Mapping):
        inner = [row for key, each in value.items() for row in _rows(str(key), each, unit)]
        return [(f"{label}: {what}", said) for what, said in inner]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        numbered = enumerate(value, start=1)
        return [row for position, each in numbered for row in _rows(f"{label} {position}", each, unit)]
    said = _said(value, unit)
    return [(label, said)] if said else []


def _label(name: str, unit_around: str) -> tuple[str, str]:
    """drained_s -> drained, s; p95 inside publish_ms -> p95, ms"""
    for end, unit in [*_UNITS.items(), (_SHARE, _SHARE)]:
        if name.endswith(end) and name != end:
            return _words(name.removesuffix(end)), unit
    return _words(name), "" if name in _COUNTS else unit_around


def _words(name: str) -> str:
    return name.removeprefix("is_").replace("_", " ")


def _said(value: object, unit: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if unit == "ms":
        return ms_words(value)
    if unit == _SHARE:
        return f"{value * 100:.1f}{SPACE}%"
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.{2 if abs(value) < 99.995 else 0}f}"
    return f"{number}{SPACE}{unit}" if unit else number
