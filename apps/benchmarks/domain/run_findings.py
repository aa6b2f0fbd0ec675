"""What a reader of a run's figures must know: each finding says what is wrong with which figure, or that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from apps.benchmarks.domain import sanity
from apps.benchmarks.domain.run_figures import run_figures
from apps.benchmarks.domain.run_result import RunResult

# That every client was busy is what a closed loop without a throttle is for: it is no finding of a single run.
_OF_OWN_RUNS = ("littles_law", "statement_sum", "throttle_bound", "too_short")
# Chance leaves open whether it was the throttle: nothing to rely on as a capacity, and nothing a sweep can mark.
THROTTLE_UNSURE = "throttle_unsure"
PERCENTILE = 99


class RunFinding(TypedDict):
    """check: its name. ok: whether the figures pass it."""

    check: str
    ok: bool
    sentence: str


def of_run(
    result: RunResult, *, clients: int, duration_s: int, placement: Mapping[str, Sequence[str]],
    throttle_per_s: float | None = None, reconnects: bool = False, is_closed_loop: bool = True,
) -> list[RunFinding]:  # fmt: skip
    """placement: address -> what runs there, the client among them. throttle_per_s: in the unit of tps.

    reconnects: latencies leave out the time to connect, which each transaction takes: clients / tps is longer then.
    is_closed_loop: as of the workload; where it is not, clients / tps says nothing of latency.
    """
    is_checked = is_closed_loop and not reconnects
    sane = _sane(result, clients, duration_s, throttle_per_s, is_closed_loop=is_closed_loop)
    found = [_co_located(placement), *(one for one in sane if is_checked or one["check"] != "littles_law")]
    found += _told_by_drivers(result)
    if result["failed"]:
        found.append(_failed(result))
    return found


def _sane(
    result: RunResult, clients: int, duration_s: int, throttle_per_s: float | None, *, is_closed_loop: bool
) -> list[RunFinding]:
    mean = result["latency_ms"]["mean"]
    printed = {
        "clients": clients,
        "tps": f"{result['tps']:.6f}" if result["tps"] else None,
        "latency_ms": f"{mean:.3f}" if mean else None,
        "statements_ms": [f"{one['latency_ms']:.3f}" for one in result["statements"]] or None,
        "throttle_per_s": throttle_per_s,
        "duration_s": duration_s,
        "percentile": PERCENTILE,
        "is_throttled_evenly": not is_closed_loop,  # messages are due one after the other
    }
    checked, left = sanity.check_run(run_figures(printed))
    found: list[RunFinding] = [
        {"check": one.check, "ok": one.ok, "sentence": one.sentence} for one in checked if one.check in _OF_OWN_RUNS
    ]
    unsure = [one.sentence for one in left if one.check == "throttle_bound" and not one.missing]
    return found + [{"check": THROTTLE_UNSURE, "ok": False, "sentence": sentence} for sentence in unsure]


def _co_located(placement: Mapping[str, Sequence[str]]) -> RunFinding:
    together = [sorted(names) for names in placement.values() if len(names) > 1]
    sentence = "The client and every server have machines of their own."
    if together:
        said = "; ".join(", ".join(names) for names in together)
        sentence = f"These share one machine: {said}. Such a run measures what each layer costs, not how it scales."
    return {"check": "co_located", "ok": not together, "sentence": sentence}


def of_given_up(server: str, reason: str) -> RunFinding:
    """reason: of clients that gave up, as the driver tells it."""
    sentence = f"{server}: {reason} Its figures are of those that went on."
    return {"check": "clients_gave_up", "ok": False, "sentence": sentence}


def of_shared_statements(server: str, count: int) -> RunFinding:
    """count: as pgbench_failure.shared_statements tells it."""
    sentence = (
        f"{server} hands sessions from one server connection to another: {count:,} of their prepared statements were "
        "there already, of others. What was measured is no fair figure of prepared statements."
    )
    return {"check": "shared_statements", "ok": False, "sentence": sentence}


def _told_by_drivers(result: RunResult) -> list[RunFinding]:
    """What a driver has found itself stands among its own figures."""
    told = [own.get("findings") for own in result["own"].values()]
    return [
        {"check": str(one["check"]), "ok": bool(one["ok"]), "sentence": str(one["sentence"])}
        for each in told
        if isinstance(each, list)
        for one in each
    ]


def _failed(result: RunResult) -> RunFinding:
    tried = result["transactions"] + (result["failed"] or 0)
    return {
        "check": "errors_ignored",
        "ok": False,
        "sentence": f"{result['failed']:,} of {tried:,} transactions failed; they are in no latency and no rate.",
    }
