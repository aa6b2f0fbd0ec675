"""Measured and imported results as the figures that the sanity checks take, with the digits that were printed."""

from __future__ import annotations

from decimal import Decimal

from apps.benchmarks.domain.imported import Figure, ImportedDocument, ImportedResult, Role
from apps.benchmarks.domain.pasted import Measured
from apps.benchmarks.domain.pgbench_result import TpsMeaning
from apps.benchmarks.domain.run_figures import FigureError, RunFigures, run_figures

# How many decimals each tool prints.
_DECIMALS = {"pgbench": {"tps": 6, "ms": 3}, "sysbench": {"tps": 2, "ms": 2}}


def figures_of_measured(measured: Measured) -> RunFigures | None:
    """None where nothing of the run can be checked.

    A latency that pgbench divided is held against the rate that it was divided by. Where clients waited for something
    that is not in the latency (a throttle of unknown rate, connecting anew), their number is left out.
    """
    elsewhere = measured.throttled or measured.tps_meaning == TpsMeaning.INCLUDING_RECONNECTIONS
    waits = elsewhere and not measured.latency_is_derived and measured.throttle_per_s is None
    decimals = _DECIMALS[measured.tool]
    tps = measured.tps_behind_latency if measured.latency_is_derived else measured.tps
    return _known(
        {
            "clients": None if waits else measured.clients,
            "tps": _digits(tps, decimals["tps"]),
            "latency_ms": _digits(measured.latency_ms, decimals["ms"]),
            "latency_is_derived": measured.latency_is_derived,
            "statements_ms": [_digits(one.latency_ms, decimals["ms"]) for one in measured.statements] or None,
            "throttle_per_s": measured.throttle_per_s,
            "duration_s": _digits(measured.duration_s, decimals["ms"]),
        }
    )


def figures_of_imported(document: ImportedDocument, result: ImportedResult) -> RunFigures | None:
    """None where nothing of the result can be checked. What is no number is left out."""
    derived = bool(result.latency_is_derived)
    rate = document.figure(result, Role.TPS)
    if derived:
        rate = document.figure(result, Role.TPS_INCLUDING_CONNECTIONS) or rate
    statements = [_printed(statement.latency_ms) for statement in result.statements]
    return _known(
        {
            "clients": result.clients,
            "tps": _printed(rate),
            "latency_ms": _printed(document.figure(result, Role.LATENCY_MEAN)),
            "latency_is_derived": derived,
            "statements_ms": None if None in statements else statements or None,
            "throttle_per_s": _text(result.throttle_per_s),
            "batch": result.batch if result.throttle_per_s is not None else None,
            "duration_s": _text(result.duration_s),
        }
    )


def _known(given: dict[str, object]) -> RunFigures | None:
    """What can be no figure of a run, such as a rate of 0, is left out."""
    known = {name: value for name, value in given.items() if _possible(name, value)}
    if not known.keys() - {"latency_is_derived", "batch"}:
        return None
    return run_figures(known)


def _possible(name: str, value: object) -> bool:
    if value is None:
        return False
    try:
        run_figures({"clients": 1, name: value})
    except FigureError:
        return False
    return True


def _digits(value: float | None, decimals: int) -> str | None:
    return None if value is None else f"{value:.{decimals}f}"


def _printed(figure: Figure | None) -> str | None:
    return figure.printed if figure is not None and figure.number is not None else None


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")
