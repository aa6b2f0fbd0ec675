"""Drift: how a pgpool's file and the values that it runs differ from the file that was verified there latest."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.clusters.domain import conf_secrets, pgpool_conf
from apps.clusters.domain.conf_secrets import MASK
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.parameters.parameter import Context, number, same_value
from apps.clusters.domain.pgpool_conf import ConfigSyntaxError, IncludeUnsupported

# Stands for the parameter where a file cannot be read at all.
WHOLE_FILE = "pgpool.conf"
# Between the values of children that disagree.
APART = " / "
_WEIGHT = re.compile(r"backend_weight\d+")


class DriftKind(StrEnum):
    EDITED_LIVE = "edited_live"  # the file was edited, and pgpool uses it
    NOT_RELOADED = "not_reloaded"  # the file was edited, and pgpool still uses the verified value
    EDITED = "edited"  # the file was edited; what pgpool uses is neither value, or is not shown
    MIXED = "mixed"  # sessions of this pgpool show different values: its children disagree
    MISSING = "missing"  # the line is gone from the file
    NOT_IN_FORCE = "not_in_force"  # the file is as verified, and pgpool uses another value
    PENDING_RESTART = "pending_restart"  # the same, and only a restart brings it in: no drift
    UNREADABLE = "unreadable"  # pgpool would refuse the file as a whole


@dataclass(frozen=True, slots=True)
class Difference:
    """A parameter that is not everywhere as verified; a secret is masked. None: it is not named, or not shown."""

    parameter: str
    verified: str | None
    file: str | None
    running: str | None
    kind: DriftKind

    @property
    def is_drift(self) -> bool:
        return self.kind is not DriftKind.PENDING_RESTART


def compare(
    *,
    verified: str,
    file: str,
    running: Mapping[str, str],
    catalogue: Catalogue,
    shown: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Difference, ...]:
    """By name. verified, file: texts of pgpool.conf; running: PGPOOL SHOW ALL, empty while that is not known.

    shown: what several sessions showed of some names, which goes before running. catalogue: of the pgpool's version.
    Comments, spacing, order and another spelling of a value are no difference.
    """
    try:
        values = pgpool_conf.parse(file).values()
    except (ConfigSyntaxError, IncludeUnsupported) as error:
        return (Difference(WHOLE_FILE, None, str(error), None, DriftKind.UNREADABLE),)
    alike = {name: each[0] for name, each in (shown or {}).items() if len(set(each)) == 1}
    apart = {name: APART.join(each) for name, each in (shown or {}).items() if len(set(each)) > 1}
    return tuple(_differences(_values(verified), values, {**running, **alike}, apart, catalogue))


def is_readable(text: str) -> bool:
    """Whether pgpool could read this file, so that others can be compared with it."""
    return bool(_values(text))


def unusable_weights(texts: Mapping[int, str]) -> str:
    """Why pgpool would not balance by these backend_weights, "" if it would. texts: node_id -> as the file has them.

    pgpool takes a weight that is text for 0, and all weights 0 for node 0, without a word.
    """
    total = 0.0
    for node_id, text in texts.items():
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            return f"backend_weight{node_id} = {text!r} is no weight"
        total += weight
    return "" if total > 0 else "all weights are 0: pgpool would send every read to node 0"


def _values(text: str) -> dict[str, str]:
    try:
        return pgpool_conf.parse(text).values()
    except (ConfigSyntaxError, IncludeUnsupported):
        return {}


def _differences(
    verified: Mapping[str, str],
    file: Mapping[str, str],
    running: Mapping[str, str],
    apart: Mapping[str, str],
    catalogue: Catalogue,
) -> Iterator[Difference]:
    for name in sorted(verified.keys() | file.keys(), key=_in_order):
        wanted, found = verified.get(name), file.get(name)
        shown = apart.get(name, running.get(name))
        is_secret = _is_secret(name, catalogue)
        compared = None if is_secret or shown is None or MASK in shown else shown
        kind: DriftKind | None
        if name in apart and found is not None:
            kind = DriftKind.MIXED
        elif wanted is not None and found is not None and is_same_in_file(name, wanted, found, catalogue):
            kind = _unchanged(name, found, compared, catalogue)
        else:
            kind = _changed(name, wanted, found, compared, catalogue)
        if kind is not None:
            yield _difference(name, wanted, found, shown, kind, is_secret=is_secret)


def is_same_in_file(name: str, one: str, other: str, catalogue: Catalogue) -> bool:
    """Whether two texts of a parameter mean the same to pgpool."""
    parameter = catalogue.find(name)
    return one == other or (parameter is not None and same_value(parameter, one, other))


def _is_in_force(name: str, found: str, shown: str, catalogue: Catalogue) -> bool:
    parameter = catalogue.find(name)
    if parameter is not None and _WEIGHT.fullmatch(name):  # PGPOOL SHOW cuts weights to integers
        weight = number(parameter, found)
        return weight is not None and number(parameter, shown) == int(weight)
    return is_same_in_file(name, found, shown, catalogue)


def _unchanged(name: str, found: str, shown: str | None, catalogue: Catalogue) -> DriftKind | None:
    if shown is None or _is_in_force(name, found, shown, catalogue):
        return None
    parameter = catalogue.find(name)
    needs_restart = parameter is not None and parameter.context is Context.RESTART
    return DriftKind.PENDING_RESTART if needs_restart else DriftKind.NOT_IN_FORCE


def _changed(name: str, wanted: str | None, found: str | None, shown: str | None, catalogue: Catalogue) -> DriftKind:
    if found is None:
        return DriftKind.MISSING
    if shown is None:
        return DriftKind.EDITED
    if _is_in_force(name, found, shown, catalogue):
        return DriftKind.EDITED_LIVE
    if wanted is not None and _is_in_force(name, wanted, shown, catalogue):
        return DriftKind.NOT_RELOADED
    return DriftKind.EDITED


def _is_secret(name: str, catalogue: Catalogue) -> bool:
    parameter = catalogue.find(name)
    return conf_secrets.is_secret(name) or (parameter is not None and parameter.is_secret)


def _difference(
    name: str, wanted: str | None, found: str | None, shown: str | None, kind: DriftKind, *, is_secret: bool
) -> Difference:
    hidden = [
        None if value is None else MASK if is_secret else conf_secrets.mask_value(name, value)
        for value in (wanted, found, shown)
    ]
    return Difference(name, hidden[0], hidden[1], hidden[2], kind)


def _in_order(name: str) -> tuple[str, int, str]:
    """backend_weight2 before backend_weight10."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    stem, digits = (match[1], match[2]) if match else (name, "")
    return stem, int(digits[:9] or -1), name
