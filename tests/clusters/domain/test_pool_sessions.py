"""Who holds a session to a backend, from captured rows of SHOW POOL_POOLS."""

from pathlib import Path

import pytest

from apps.clusters.domain.pool_sessions import HeldSession, sessions_on, still_there
from apps.clusters.domain.show_rows import ShowRowError

CAPTURED = Path(__file__).parents[2] / "captured" / "pgpool-4.3.5" / "show_pool_pools.txt"
LATER = {"pool_pid": "7", "pool_id": "0", "backend_id": "2", "client_connection_time": "noon", "pool_counter": "1"}


def captured_rows() -> list[dict[str, str | None]]:
    lines = [line for line in CAPTURED.read_text().splitlines() if "|" in line]
    names, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("node_id", [0, 1, 2])
def test_a_connected_client_is_one_session_at_each_backend(node_id: int) -> None:
    rows = captured_rows()  # 32 children, one of which serves a client: who asked; others keep pooled connections

    found = sessions_on(rows, node_id)

    assert [(one.username, one.database, one.reads_here) for one in found] == [("postgres", "bench", None)]


@pytest.mark.parametrize(("told", "reads_here"), [("1", True), ("t", True), ("0", False)])
def test_pgpool_4_5_tells_where_a_session_reads(told: str, reads_here: bool) -> None:
    found = sessions_on([{**LATER, "pool_connected": "1", "load_balance_node": told}], 2)

    assert [one.reads_here for one in found] == [reads_here]


def test_a_row_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(ShowRowError, match="pool_connected"):
        sessions_on([LATER], 2)


def test_only_sessions_of_before_are_waited_for() -> None:
    def held(key: str, *, reads_here: bool | None = None) -> HeldSession:
        return HeldSession(key, "app", "shop", reads_here)

    now = (held("a"), held("b", reads_here=True), held("c", reads_here=False), held("began later"))

    assert still_there(["a", "b", "c", "ended"], now) == 2  # a and b: c reads elsewhere
