"""How far each standby is behind, from the facts of one tick; and where each backend stands in the WAL."""

from dataclasses import dataclass

from apps.clusters.domain.lag import SaidByStandby, SeenByPrimary, standby_lag
from apps.clusters.outside.backend_client import BackendFacts, StandbyRow
from apps.clusters.polling.readings import BackendReading
from apps.clusters.polling.registry import WatchedBackend, WatchedCluster


@dataclass(frozen=True)
class KnownLag:
    """is_standby: whether there is a lag to speak of; reason: why a figure is not known."""

    is_standby: bool
    lag_bytes: int | None = None
    lag_s: float | None = None
    reason: str = ""
    replication_state: str = ""
    sync_state: str = ""


def lags_of(
    cluster: WatchedCluster, readings: tuple[BackendReading, ...], *, primary: int | None
) -> dict[int, KnownLag]:
    """backend_id -> lag. primary: the node_id that the pgpools hold for the primary, in case it does not answer."""
    facts = {one.backend_id: one.facts for one in readings}
    at_primary = next((one for one in facts.values() if one is not None and not one.is_in_recovery), None)
    return {
        backend.backend_id: _lag(backend, facts[backend.backend_id], at_primary, is_primary=backend.node_id == primary)
        for backend in cluster.backends
        if backend.backend_id in facts
    }


def _lag(
    backend: WatchedBackend, said: BackendFacts | None, at_primary: BackendFacts | None, *, is_primary: bool
) -> KnownLag:
    if (said is not None and not said.is_in_recovery) or (said is None and is_primary):
        return KnownLag(is_standby=False)
    row = _row_of(backend, at_primary)
    lag = standby_lag(
        primary_answered=at_primary is not None,
        at_primary=None if row is None else SeenByPrimary(row.state, row.lag_bytes, row.replay_lag_s),
        at_standby=None if said is None else SaidByStandby(said.receiver_status, said.replay_lag_s),
    )
    return KnownLag(
        is_standby=True,
        lag_bytes=None if lag.lag_bytes is None else max(lag.lag_bytes, 0),
        lag_s=lag.lag_s,
        reason=lag.reason or "",
        replication_state=(row.state if row else None) or "",
        sync_state=(row.sync_state if row else None) or "",
    )


def _row_of(backend: WatchedBackend, at_primary: BackendFacts | None) -> StandbyRow | None:
    """The standby's row of pg_stat_replication: by application_name as pgpool matches it, else by its address."""
    if at_primary is None:
        return None
    by_name = [one for one in at_primary.replication if one.application_name == backend.application_name]
    if backend.application_name and by_name:
        return by_name[0]
    by_address = [one for one in at_primary.replication if one.client_addr == backend.address.host]
    return by_address[0] if not backend.application_name and len(by_address) == 1 else None


def wal_position(facts: BackendFacts) -> int | None:
    """Bytes of WAL written (primary) or replayed (standby)."""
    return lsn_bytes(facts.replay_lsn if facts.is_in_recovery else facts.current_lsn)


def lsn_bytes(text: str | None) -> int | None:
    """ "16/B374D848" -> bytes since the beginning of the WAL."""
    if not text:
        return None
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)
