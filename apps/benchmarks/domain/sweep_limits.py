"""Where on a sweep something else than the servers is the limit: the clients, by Little's law, or the throttle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.benchmarks.domain.comparison_plan import CLIENTS, axis_name

BY_CLIENTS, BY_THROTTLE = "clients", "throttle"
# Of what so many clients get out of servers that answer as fast as at the fastest place; what is off by less is noise.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Load:
    """Of one place. mean_ms: of its typical run; None where it is not told.

    is_closed_loop: whether each client begins anew as soon as it is done. is_at_throttle: whether its runs found that
    the throttle was measured.
    """

    clients: int
    mean_ms: float | None
    is_closed_loop: bool
    is_at_throttle: bool


def limits(loads: Sequence[Load], rates: Sequence[float], *, over: str) -> list[str]:
    """What limits the rate of each place: BY_CLIENTS, BY_THROTTLE, or "" for the servers and where nobody can tell.

    loads: in the order of their places. Only a sweep over clients tells where they are: N clients get no more than N /
    latency, and as long as latency is that of the fastest place, each client more brings as much as the ones before.
    The fastest place fits that by itself, so the next one must have brought more; the last one has none that could.
    Where so many are the limit, fewer are it as well, whatever a slow start or a noisy run makes of their latency.
    """
    most = _most_bound(loads, rates) if over == CLIENTS else 0
    return [_limit(load, most) for load in loads]


def _most_bound(loads: Sequence[Load], rates: Sequence[float]) -> int:
    """The largest number of clients that is the limit itself; 0 for none."""
    known = [load.mean_ms for load in loads if load.is_closed_loop and load.mean_ms]
    if not known:
        return 0
    ceiling_each = 1000 / min(known)
    pairs = zip(loads, rates, strict=True)
    fast = max((each.clients for each, rate in pairs if rate >= NEARLY_ALL * each.clients * ceiling_each), default=0)
    nexts = zip(loads, rates, rates[1:], strict=False)
    grown = [each.clients for each, rate, more in nexts if rate < NEARLY_ALL * more]
    return max((clients for clients in grown if clients <= fast), default=0)


def _limit(load: Load, most_bound: int) -> str:
    if load.is_at_throttle:
        return BY_THROTTLE
    return BY_CLIENTS if load.is_closed_loop and load.clients <= most_bound else ""


def sentence(places: Sequence[float], found: Sequence[str], *, over: str) -> str:
    """places: in order. "" where the servers are the limit everywhere."""
    name = axis_name(over)
    said = []
    if throttled := [place for place, limit in zip(places, found, strict=True) if limit == BY_THROTTLE]:
        where = "Everywhere" if len(throttled) == len(places) else f"At {name} = {_listed(throttled)}"
        said.append(f"{where} the throttle was measured, and not what the servers can do.")
    if bound := [place for place, limit in zip(places, found, strict=True) if limit == BY_CLIENTS]:
        more = f" Whether more than {places[-1]:g} bring more was not measured." if bound[-1] == places[-2] else ""
        said.append(
            f"Up to {name} = {bound[-1]:g} the clients are the limit: the rate is clients / latency at the lowest "
            f"latency measured (Little's law).{more}"
        )
    return " ".join(said)


def _listed(places: Sequence[float]) -> str:
    return ", ".join(f"{place:g}" for place in places)
