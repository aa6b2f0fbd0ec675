"""A run in plain words: what it is doing or what came of it, where its load goes, its figures."""

from __future__ import annotations

from dataclasses import dataclass

from apps.benchmarks.domain import topologies

SPACE = "\u00a0"
TPS = "tps"
_WAITS = "waits: "


@dataclass(frozen=True)
class RunFacts:
    """What a sentence about a run is made of. state: as REST names it. topology: its key, or its label where known.

    counts: what its rate is of, as transactions. unit: of that rate.
    tps_so_far, measured_s: of the seconds measured until now, or until its early end; None before the first.
    """

    state: str
    cluster: str
    topology: str
    clients: int
    duration_s: int
    phase: str = ""
    runs_before: int | None = None
    is_stop_requested: bool = False
    is_partial: bool = False
    tps: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    tps_so_far: float | None = None
    measured_s: float | None = None
    counts: str = "transactions"
    unit: str = TPS


def sentence(run: RunFacts) -> str:
    if run.state in {"queued", "preparing", "running"}:
        return _under_way(run)
    return _done(run) if run.state == "done" else _ended_early(run)


def _under_way(run: RunFacts) -> str:
    if run.is_stop_requested:
        return "It is being stopped; what was measured is kept."
    if run.state == "queued":
        return _queued(run)
    if run.state == "preparing":
        return f"Prepares: {run.phase or 'begins'}. Nothing is measured yet."
    if run.tps_so_far is None or run.measured_s is None:
        return f"Measures for {seconds(run.duration_s)}; its first second is not over."
    rate = rate_words(run.tps_so_far, run.unit)
    return f"{rate} so far: {seconds(run.measured_s)} of {seconds(run.duration_s)} are measured."


def _queued(run: RunFacts) -> str:
    if run.phase.startswith(_WAITS):
        return closed(f"Waits: {run.phase.removeprefix(_WAITS)}")
    if run.runs_before:
        return f"Waits behind {run.runs_before} run{'' if run.runs_before == 1 else 's'} of {run.cluster}."
    if run.phase:
        return closed(f"Waits: {run.phase}")
    return "Waits for a worker of its queue: it is next."


def _done(run: RunFacts) -> str:
    if run.topology.startswith(f"{topologies.SCRATCH}:"):
        copied_from = run.topology.partition(":")[2]
        return f"The query cache of {copied_from} was measured on and off, at several hit ratios."
    if run.tps is None:
        return "It ended, and no transaction did: there is no rate."
    clients = f"{run.clients} client{'' if run.clients == 1 else 's'}"
    said = f"{rate_words(run.tps, run.unit)} {topology_words(run.topology)} with {clients}"
    if run.p50_ms is not None and run.p99_ms is not None:
        said += (
            f": half of the {run.counts} took at most {ms_words(run.p50_ms)}, one in 100 at least "
            f"{ms_words(run.p99_ms)}"
        )
    partial = " Some of its clients gave up on the way, so it counts as partial." if run.is_partial else ""
    return f"{said}.{partial}"


def _ended_early(run: RunFacts) -> str:
    what = "failed" if run.state == "failed" else "was stopped"
    if run.tps_so_far is None or run.measured_s is None:
        return f"It {what} before anything was measured."
    rate = f"{rate_words(run.tps_so_far, run.unit)} until then, which is no result of the whole"
    return f"It {what} after {seconds(run.measured_s)} of {seconds(run.duration_s)}: {rate}."


def topology_words(key: str) -> str:
    """primary -> on the primary; pgpool:pgpool-1 -> through pgpool-1. A key that is new here: as it is."""
    kind, _, name = key.partition(":")
    words = {
        "primary": "on the primary",
        "standby": f"on standby {name}",
        "standbys": "on all standbys",
        "pgpool": f"through {name}",
        "pgpools": f"through {name or 'all'} pgpools",
        "commit": f"on the primary with synchronous_commit = {name}",
        "endpoint": f"through {name}",
        "scratch": f"on scratch pgpools with the configuration of {name}",
    }
    return words.get(kind, f"on {key}")


def rate_words(rate: float, unit: str = TPS) -> str:
    """13.2345 -> 13.23 tps; 1234.5 -> 1,234 tps. Two runs of more than 100 differ by more than their decimals."""
    return f"{rate:,.{2 if rate < 99.995 else 0}f}{SPACE}{unit}"


def per_min_words(count: float) -> str:
    """12345.6 -> 12,346 per min"""
    return f"{count:,.0f}{SPACE}per min"


def ms_words(milliseconds: float) -> str:
    """0.8432 -> 0.84 ms; 12.345 -> 12.3 ms; 8364.56 -> 8,365 ms"""
    digits = 2 if milliseconds < 9.995 else 1 if milliseconds < 99.95 else 0
    return f"{milliseconds:,.{digits}f}{SPACE}ms"


def seconds(count: float) -> str:
    """45 -> 45 s; 600 -> 10 min; 630 -> 10 min 30 s; 7200 -> 2 h"""
    whole = round(count)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{value}{SPACE}{unit}" for value, unit in parts if value) or f"0{SPACE}s"


def closed(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
