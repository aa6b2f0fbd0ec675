"""Rows of SHOW as real pgpools of several versions printed them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from apps.clusters.domain import show_rows

CAPTURED = Path(__file__).parents[2] / "captured"
VERSIONS = ["pgpool-4.3.5", "pgpool-4.6.1"]


def captured_rows(version: str, command: str) -> list[dict[str, str | None]]:
    """The last result set of a captured psql table, as psycopg would deliver it."""
    lines = (CAPTURED / version / f"{command}.txt").read_text().splitlines()
    header_at = max(at for at, line in enumerate(lines) if line.startswith("-") and "+" in line) - 1
    header = [name.strip() for name in lines[header_at].split("|")]
    body = [line for line in lines[header_at + 2 :] if "|" in line]
    return [dict(zip(header, (cell.strip() for cell in line.split("|")), strict=True)) for line in body]


@pytest.mark.parametrize("version", VERSIONS)
def test_pool_nodes_of_a_real_pgpool_are_read(version: str) -> None:
    nodes = show_rows.parse_pool_nodes(captured_rows(version, "show_pool_nodes"))

    assert [node.node_id for node in nodes] == [0, 1, 2]
    assert [node.role for node in nodes] == ["primary", "standby", "standby"]
    assert nodes[0].replication_state is None
    assert nodes[1].replication_state == "streaming"
    assert nodes[0].load_balance_node is True
    assert nodes[1].load_balance_node is False


def test_pool_nodes_keep_every_value_of_the_row() -> None:
    standby = show_rows.parse_pool_nodes(captured_rows("pgpool-4.3.5", "show_pool_nodes"))[1]

    assert standby == show_rows.PoolNode(
        node_id=1,
        hostname="127.0.0.1",
        port=25433,
        status="up",
        pg_status="up",
        lb_weight=0.333333,
        role="standby",
        pg_role="standby",
        select_count=0,
        load_balance_node=False,
        replication_delay_bytes=8839176,
        replication_delay_s=None,
        replication_state="streaming",
        replication_sync_state="async",
        last_status_change="2026-11-20 17:10:00",
    )


def node_row(**changes: str | None) -> dict[str, str | None]:
    row = captured_rows("pgpool-4.3.5", "show_pool_nodes")[1]
    return {name: value for name, value in (row | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("text", "delay_bytes", "delay_s"),
    [("0", 0, None), ("34819552", 34819552, None), ("0.500000 second", None, 0.5), ("12.25 seconds", None, 12.25)],
)
def test_a_delay_is_bytes_unless_it_says_seconds(text: str, delay_bytes: int | None, delay_s: float | None) -> None:
    node = show_rows.parse_pool_nodes([node_row(replication_delay=text)])[0]

    assert (node.replication_delay_bytes, node.replication_delay_s) == (delay_bytes, delay_s)


def test_the_weight_of_a_cluster_without_weights_is_unknown() -> None:
    assert show_rows.parse_pool_nodes([node_row(lb_weight="-nan")])[0].lb_weight is None


def test_the_columns_of_3_7_are_enough() -> None:
    row = node_row(
        pg_status=None,
        pg_role=None,
        replication_state=None,
        replication_sync_state=None,
        last_status_change=None,
    )

    node = show_rows.parse_pool_nodes([row])[0]

    assert node.pg_status is None
    assert node.last_status_change is None


@pytest.mark.parametrize(("column", "value"), [("node_id", "x"), ("port", None), ("replication_delay", "a second")])
def test_an_unreadable_column_is_named(column: str, value: str | None) -> None:
    with pytest.raises(show_rows.ShowRowError) as caught:
        show_rows.parse_pool_nodes([node_row(**{column: value})])

    assert (caught.value.column, caught.value.value) == (column, value)
    assert column in str(caught.value)


@pytest.mark.parametrize(("version", "other_counts"), [("pgpool-4.3.5", [10, 1, 4]), ("pgpool-4.6.1", [11, 1, 3])])
def test_backend_stats_of_a_real_pgpool_are_read(version: str, other_counts: Sequence[int]) -> None:
    stats = show_rows.parse_backend_stats(captured_rows(version, "show_pool_backend_stats"))

    assert [row.other_count for row in stats] == other_counts
    assert [row.select_count for row in stats] == [0, 0, 0]


def test_the_misses_of_the_cache_are_num_selects() -> None:
    row = captured_rows("pgpool-4.3.5", "show_pool_cache")[0]

    cache = show_rows.parse_pool_cache([row | {"num_cache_hits": "7", "num_selects": "3"}])

    assert (cache.hit_count, cache.miss_count) == (7, 3)


def test_a_cache_without_its_row_is_refused() -> None:
    with pytest.raises(show_rows.ShowRowError):
        show_rows.parse_pool_cache([])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_one_busy_child_is_the_one_that_asked(version: str) -> None:
    processes = show_rows.parse_pool_processes(captured_rows(version, "show_pool_processes"))

    assert sum(process.is_in_use for process in processes) == 1
    assert all(process.started.count(":") == 2 for process in processes)
    assert all(process.client_connection_count is not None for process in processes)


def test_before_4_3_a_child_with_a_database_is_in_use() -> None:
    row = {"pool_pid": "7", "start_time": "2026-11-20 17:10:00", "database": "shop", "username": "app"}

    process = show_rows.parse_pool_processes([row])[0]

    assert process.is_in_use
    assert process.client_connection_count is None


@pytest.mark.parametrize(("version", "number"), [("pgpool-4.3.5", "4.3.5"), ("pgpool-4.6.1", "4.6.1")])
def test_the_version_is_the_number_before_the_star_name(version: str, number: str) -> None:
    rows = (CAPTURED / version / "show_pool_version.At.txt").read_text().splitlines()

    assert show_rows.parse_pool_version(rows[-1]) == number


@pytest.mark.parametrize("version", VERSIONS)
def test_show_all_holds_every_parameter(version: str) -> None:
    parameters = show_rows.parse_show_all(captured_rows(version, "pgpool_show_all"))

    assert parameters["backend_weight0"].isdigit()
    assert parameters["sr_check_password"] == "*****"
    assert len(parameters) > 190
