"""What a fake pgpool shows: the rows of SHOW POOL_NODES and its like, with pgpool's own column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.fake_protocol import Row

POOL_NODES = [
    "node_id", "hostname", "port", "status", "pg_status", "lb_weight", "role", "pg_role", "select_cnt",
    "load_balance_node", "replication_delay", "replication_state", "replication_sync_state", "last_status_change",
]  # fmt: skip
BACKEND_STATS = [
    "node_id", "hostname", "port", "status", "role", "select_cnt", "insert_cnt", "update_cnt", "delete_cnt", "ddl_cnt",
    "other_cnt", "panic_cnt", "fatal_cnt", "error_cnt",
]  # fmt: skip
POOL_CACHE = [
    "num_cache_hits", "num_selects", "cache_hit_ratio", "num_hash_entries", "used_hash_entries", "num_cache_entries",
    "used_cache_entries_size", "free_cache_entries_size", "fragment_cache_entries_size",
]  # fmt: skip
POOL_PROCESSES = [
    "pool_pid", "start_time", "client_connection_count", "database", "username", "backend_connection_time",
    "pool_counter", "status",
]  # fmt: skip
POOL_POOLS = [
    "pool_pid", "start_time", "client_connection_count", "pool_id", "backend_id", "database", "username",
    "backend_connection_time", "client_connection_time", "client_disconnection_time", "client_idle_duration",
    "majorversion", "minorversion", "pool_counter", "pool_backendpid", "pool_connected", "status",
]  # fmt: skip
SINCE = "2026-11-20 17:10:00"


@dataclass
class FakeBackend:
    node_id: int
    hostname: str = "127.0.0.1"
    port: int = 25432
    role: str = "standby"
    status: str = "up"
    pg_status: str = "up"
    select_count: int = 0
    replication_delay: str = "0"


@dataclass
class FakeClient:
    """A session that somebody holds open: the child that serves it, and when it began."""

    pid: int
    began: str = SINCE
    username: str = "app"
    database: str = "shop"


def three_backends() -> list[FakeBackend]:
    return [FakeBackend(0, port=25432, role="primary"), FakeBackend(1, port=25433), FakeBackend(2, port=25434)]


def pool_nodes(backends: Sequence[FakeBackend], values: Mapping[str, str]) -> list[Row]:
    """values: backend_weightN as pgpool holds them."""
    weights = {node.node_id: float(values[f"backend_weight{node.node_id}"]) for node in backends}
    total = sum(weights.values())
    return [
        [
            str(node.node_id), node.hostname, str(node.port), node.status, node.pg_status,
            f"{weights[node.node_id] / total:.6f}" if total else "-nan",
            node.role, node.role, str(node.select_count), "true" if node is backends[0] else "false",
            node.replication_delay, "streaming" if node.role == "standby" else "",
            "async" if node.role == "standby" else "", SINCE,
        ]
        for node in backends
    ]  # fmt: skip


def backend_stats(backends: Sequence[FakeBackend]) -> list[Row]:
    return [
        [str(node.node_id), node.hostname, str(node.port), node.status, node.role, str(node.select_count), *["0"] * 8]
        for node in backends
    ]


def pool_cache(hits: int, misses: int) -> Row:
    return [str(hits), str(misses), "0.00", "131072", "1", "1", "219", "67108645", "0"]


def pool_processes(*, children: int, busy: int, sessions_ended: int, username: str, restarts: int) -> list[Row]:
    """All ended sessions are counted by the first child. restarts: how often other children took their place."""
    rows: list[Row] = []
    for number in range(children):
        ended = str(sessions_ended if number == 0 else 0)
        serving = (
            ["postgres", username, SINCE, "1", "Idle"] if number < busy else ["", "", "", "0", "Wait for connection"]
        )
        rows.append([str(1000 * (1 + restarts) + number), SINCE, ended, *serving])
    return rows


def pool_pools(backends: Sequence[FakeBackend], clients: Sequence[FakeClient]) -> list[Row]:
    """A row for every connection that a child holds, and those of one child that serves nobody."""
    held: list[Row] = [
        [
            str(client.pid), f"{SINCE} (5:00 before process restarting)", "0", "0", str(node.node_id), client.database,
            client.username, client.began, client.began, "", "0", "3", "0", "1", str(client.pid + node.node_id), "1",
            "Idle",
        ]
        for client in clients
        for node in backends
    ]  # fmt: skip
    return held + [
        ["999", SINCE, "0", "0", str(node.node_id), *[""] * 5, *["0"] * 6, "Wait for connection"] for node in backends
    ]
