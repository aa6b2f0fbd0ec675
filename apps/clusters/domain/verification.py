"""What a pgpool uses, as it says on several connections, held against what pgpool.conf says.

Every connection is answered by one child process, and children re-read the file one by one: that all of several
children agree is the only proof there is. A reload command's own "successful" proves nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.parameters.parameter import Context, Parameter, same_value
from apps.clusters.domain.pgpool_conf import MASK
from apps.clusters.domain.weights import shares

# SHOW POOL_NODES prints lb_weight with six decimals.
_SHARE_PRECISION = 0.000001
_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?)([A-Za-z]*)")
_BYTES = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_BOOLEANS = {"on": "on", "true": "on", "yes": "on", "off": "off", "false": "off", "no": "off"}
# Their plain numbers are not in bytes or seconds, but PGPOOL SHOW prints them with the same units.
_KILOBYTE_NAMES = {"log_rotation_size"}
_MINUTE_NAMES = {"log_rotation_age"}


class TruthState(StrEnum):
    LIVE = "live"
    PENDING_RESTART = "pending_restart"  # only a restart brings it in
    REJECTED = "rejected"  # pgpool keeps another value
    IGNORED = "ignored"  # this version does not know the name
    MIXED = "mixed"  # its children do not agree yet
    HIDDEN = "hidden"  # a password, which pgpool never shows


@dataclass(frozen=True, slots=True)
class ParameterTruth:
    """One parameter: wanted, the distinct values seen, and what that means."""

    name: str
    wanted: str
    seen: tuple[str, ...]
    state: TruthState

    @property
    def is_live(self) -> bool:
        return self.state in {TruthState.LIVE, TruthState.HIDDEN}

    @property
    def is_accepted(self) -> bool:
        """Whether pgpool took it as far as a reload can."""
        return self.is_live or self.state is TruthState.PENDING_RESTART


def verify(
    wanted: Mapping[str, str], readings: Sequence[Mapping[str, str]], *, catalogue: Catalogue
) -> tuple[ParameterTruth, ...]:
    """Compare wanted values with PGPOOL SHOW of at least one connection each.

    wanted: name -> value as in pgpool.conf. readings: one mapping per connection, name -> value as PGPOOL SHOW prints
    it. catalogue: of this pgpool's version. Raises ValueError without a reading: silence proves nothing.
    """
    if not readings:
        raise ValueError("no reading to verify with")
    return tuple(_truth(name, value, readings, catalogue.find(name)) for name, value in wanted.items())


def shares_are_live(wanted: Mapping[int, float], lb_weights: Mapping[int, float | None]) -> bool:
    """Whether SHOW POOL_NODES prints the shares of these weights; they live in shared memory, so one look is enough."""
    expected = shares(wanted)
    return expected.keys() == lb_weights.keys() and all(
        (seen := lb_weights[node_id]) is not None and abs(seen - share) <= _SHARE_PRECISION
        for node_id, share in expected.items()
    )


def is_same_value(name: str, wanted: str, shown: str) -> bool:
    """Whether PGPOOL SHOW's value is the one of pgpool.conf: 1001B is 1001, 1min is 60, 1 is on."""
    if wanted == shown:
        return True
    if shown in {"on", "off"}:
        # pgpool takes 1 and 0 for booleans too, and any word it does not know for "on".
        return _BOOLEANS.get(wanted.lower(), {"1": "on", "0": "off"}.get(wanted)) == shown
    wanted_amount, shown_amount = _amount(name, wanted), _amount(name, shown)
    if re.fullmatch(r"backend_weight\d+", name) and wanted_amount is not None:
        wanted_amount = float(int(wanted_amount))  # PGPOOL SHOW cuts weights to integers
    return wanted_amount is not None and wanted_amount == shown_amount


def _truth(
    name: str, wanted: str, readings: Sequence[Mapping[str, str]], parameter: Parameter | None
) -> ParameterTruth:
    found = [reading.get(name) for reading in readings]
    seen = tuple(dict.fromkeys(value for value in found if value is not None))
    return ParameterTruth(name, wanted, seen, _state(name, wanted, seen, None in found, parameter))


def _state(name: str, wanted: str, seen: Sequence[str], is_missing: bool, parameter: Parameter | None) -> TruthState:
    if not seen:
        return TruthState.IGNORED
    if seen == (MASK,):
        return TruthState.HIDDEN
    if is_missing or len(seen) > 1:
        return TruthState.MIXED
    if is_same_value(name, wanted, seen[0]) or (parameter is not None and same_value(parameter, wanted, seen[0])):
        return TruthState.LIVE
    needs_restart = parameter is not None and parameter.context is Context.RESTART
    return TruthState.PENDING_RESTART if needs_restart else TruthState.REJECTED


def _amount(name: str, text: str) -> float | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if unit:
        scale = _BYTES.get(unit) or _SECONDS.get(unit)
        return None if scale is None else number * scale
    if name in _KILOBYTE_NAMES:
        return number * 1024
    return number * 60 if name in _MINUTE_NAMES else number
