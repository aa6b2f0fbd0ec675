"""Who holds a session through pgpool to a backend, from the rows of SHOW POOL_POOLS."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.clusters.domain.show_rows import Row, ShowRowError

# Texts that pgpool writes for yes in its columns of SHOW POOL_POOLS.
_YES = {"1", "t", "true"}


@dataclass(frozen=True, slots=True)
class HeldSession:
    """A client's session and its connection to the backend.

    key: names this session and no later one of the same child. reads_here: whether its load balance node is the
    backend; None before Pgpool-II 4.5, which does not tell.
    """

    key: str
    username: str
    database: str
    reads_here: bool | None

    def may_read_here(self) -> bool:
        return self.reads_here is not False


def sessions_on(rows: Sequence[Row], node_id: int) -> tuple[HeldSession, ...]:
    """The sessions that are connected now, each with a connection to this backend. Raises ShowRowError.

    pgpool connects a session to every backend that is up; only load_balance_node (4.5) tells where it reads.
    """
    return tuple(
        _session(row)
        for row in rows
        if _text(row, "backend_id") == str(node_id) and _text(row, "pool_connected") in _YES
    )


def still_there(before: Sequence[str], now: Sequence[HeldSession]) -> int:
    """How many sessions of then are connected still and may read here: those that began later cannot."""
    return sum(one.key in set(before) and one.may_read_here() for one in now)


def _session(row: Row) -> HeldSession:
    began = row.get("client_connection_time") or row.get("create_time") or ""  # the latter up to 4.2
    parts = (_text(row, "pool_pid"), _text(row, "pool_id"), began, _text(row, "pool_counter"))
    told = row.get("load_balance_node")
    return HeldSession(
        key=" ".join(parts),
        username=row.get("username") or "",
        database=row.get("database") or "",
        reads_here=None if told is None else told in _YES,
    )


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    if value is None:
        raise ShowRowError(column, None)
    return value
