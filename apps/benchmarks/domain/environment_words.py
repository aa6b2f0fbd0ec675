"""What a run was measured under, for people: from the environment that is stored with it, of any age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.benchmarks.domain import endpoints, replication_words
from apps.benchmarks.domain.run_findings import RunFinding

Environment = Mapping[str, Any]
# A note of runs whose load would prepare its statements elsewhere.
NOT_PREPARED = "statements are not prepared, since a pooler shares its server connections"
UNPREPARED_AS_ASKED = "statements are not prepared, as was asked for"


@dataclass(frozen=True)
class Machine:
    """One address and what runs there."""

    address: str
    names: tuple[str, ...]

    @property
    def is_shared(self) -> bool:
        return len(self.names) > 1


@dataclass(frozen=True)
class Reads:
    """SELECTs that the pgpools sent to one backend between the polls around the run."""

    node_id: int
    name: str
    count: int
    share: float


def facts(environment: Environment) -> list[tuple[str, str]]:
    """(what, its value), those that are known."""
    client: Mapping[str, Any] = environment.get("client", {})
    host = ", ".join(
        part for part in (client.get("host") or "", _cpus(client.get("cpus")), client.get("machine") or "") if part
    )
    rows = [
        ("PostgreSQL", str(environment.get("postgresql") or "")),
        ("Endpoint", _endpoint(environment.get("topology", {}))),
        *replication_words.rows(environment),
        *((f"Pgpool-II at {one.get('name')}", _pgpool(one)) for one in environment.get("pgpools", ())),
        ("Load comes from", host),
        ("By", str(client.get("program") or "")),
        ("Load of that machine", _load(client)),
        ("Lag at its end", _lag(environment.get("counters_after", {}).get("replay_lag_s", {}))),
        *(("Note", str(note)) for note in environment.get("notes", ())),
    ]
    return [(what, value) for what, value in rows if value]


def machines(environment: Environment) -> list[Machine]:
    placement: Mapping[str, Sequence[str]] = environment.get("placement", {})
    return [Machine(address, tuple(names)) for address, names in sorted(placement.items())]


def reads(environment: Environment, names: Mapping[int, str]) -> list[Reads]:
    """By node_id; none where a pgpool restarted meanwhile or sent none. names: of the backends, by node_id.

    Nor through an endpoint with no pgpool behind it: those are reads of others.
    """
    if goes_past_pgpools(environment):
        return []
    counted: Mapping[str, int] = environment.get("reads") or {}
    total = sum(counted.values())
    if not total:
        return []
    by_node = sorted((int(node), count) for node, count in counted.items())
    return [Reads(node, names.get(node, f"node {node}"), count, count / total) for node, count in by_node]


def goes_past_pgpools(environment: Environment) -> bool:
    """Through an endpoint with none behind it."""
    topology: Mapping[str, Any] = environment.get("topology", {})
    return endpoints.is_endpoint(str(topology.get("key", ""))) and not topology.get("is_through_pgpool")


def of_preparing(environments: Sequence[Environment]) -> list[RunFinding]:
    """Of runs side by side: that of one workload some prepared their statements, and others could not.

    Those that were asked not to are neither.
    """
    bare = [each for each in environments if NOT_PREPARED in each.get("notes", ())]
    workloads = {each.get("workload") for each in bare}
    whole = sum(
        each.get("workload") in workloads and UNPREPARED_AS_ASKED not in each.get("notes", ()) for each in environments
    )
    if not bare or len(bare) == whole:
        return []
    sentence = (
        f"Of {whole} runs {len(bare)} did not prepare their statements, since a pooler shares its server connections; "
        "the others did: that is a difference, too."
    )
    return [{"check": "preparing_differs", "ok": False, "sentence": sentence}]


def written_bytes(environment: Environment) -> int | None:
    """WAL that the primary wrote between the two polls around the run; None where it is not known."""
    before: Mapping[str, int | None] = environment.get("counters_before", {}).get("lsn_bytes", {})
    after: Mapping[str, int | None] = environment.get("counters_after", {}).get("lsn_bytes", {})
    moved = [
        later - earlier
        for name, later in after.items()
        if later is not None and (earlier := before.get(name)) is not None and later >= earlier
    ]
    return max(moved, default=None)


def hit_ratio(environment: Environment) -> float | None:
    """Of the query caches of all pgpools between those polls; None where none was asked, or one restarted."""
    if goes_past_pgpools(environment):
        return None
    before: Mapping[str, Sequence[int | None]] = environment.get("counters_before", {}).get("cache", {})
    hits = misses = 0
    for name, later in environment.get("counters_after", {}).get("cache", {}).items():
        earlier = before.get(name)
        if earlier is None or None in earlier or None in later:
            return None
        hits, misses = hits + later[0] - earlier[0], misses + later[1] - earlier[1]
    return hits / (hits + misses) if hits >= 0 and misses >= 0 and hits + misses > 0 else None


def _cpus(count: object) -> str:
    return f"{count} CPU{'' if count == 1 else 's'}" if count else ""


def _pgpool(one: Mapping[str, Any]) -> str:
    """4.6.1, file 3f9a21c0"""
    file = f"file {str(one['sha256'])[:8]}" if one.get("sha256") else ""
    return ", ".join(part for part in (str(one.get("version") or ""), file) if part)


def _endpoint(topology: Mapping[str, Any]) -> str:
    return str(topology.get("label", "")) if endpoints.is_endpoint(str(topology.get("key", ""))) else ""


def _load(client: Mapping[str, Any]) -> str:
    """Of the last minute before and after it: 0.42 before, 1.87 after"""
    before, after = client.get("load_before"), client.get("load_after")
    parts = [f"{load[0]:.2f} {when}" for load, when in ((before, "before"), (after, "after")) if load]
    return ", ".join(parts)


def _lag(lags: Mapping[str, float | None]) -> str:
    known = {name: lag for name, lag in lags.items() if lag is not None}
    return ", ".join(f"{name} {lag:.1f}\u00a0s" for name, lag in sorted(known.items()))
