"""Transactions that PostgreSQL counted, held against those that a load tells."""

from collections.abc import Mapping
from typing import Any

import pytest

from apps.benchmarks.domain import counters_check
from apps.benchmarks.domain.counters_check import Counted
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS

PRIMARY = Server("pg1", "10.0.0.1", 5432)
PGPOOL = Server("pgpool-1", "10.0.0.4", 9999, is_pgpool=True)
POOLER = Server("bouncer-1", "10.0.0.5", 6432, is_endpoint=True)


def wish(server: Server = PRIMARY, workload: str = "pgbench-select-only", **parameters: Any) -> Wish:
    """Of 10 clients and 60 s."""
    topology = Topology("one", "one", (server,), takes_writes=True)
    return Wish(
        WORKLOADS[workload], topology, clients=10, threads=1, duration_s=60, warm_up_s=0, parameters=parameters
    )  # fmt: skip


def found(wish: Wish, counted: int, told: int = 10_000, **facts: Any) -> tuple[bool, str]:
    facts = {"failed": 0, "servers": 1, "cache": None, **facts}
    answer = counters_check.finding(wish, counted=counted, told=told, **facts)
    assert answer is not None
    assert answer["check"] == "counters_disagree"
    return answer["ok"], answer["sentence"]


@pytest.mark.parametrize(
    ("server", "counted", "ok"),
    [
        (PRIMARY, 9_700, True),  # 10,000 (1 - 0.03)
        (PRIMARY, 9_699, False),
        (PGPOOL, 8_750, True),  # 10,000 (1 - 0.1 - 1.5 / 60)
        (PGPOOL, 8_749, False),
        (POOLER, 8_750, True),
        (POOLER, 8_749, False),
    ],
)
def test_fewer_than_the_load_tells_is_a_finding_where_no_session_can_still_owe_them(
    server: Server, counted: int, ok: bool
) -> None:
    assert found(wish(server), counted)[0] is ok


def test_what_may_be_owed_is_told_and_no_more() -> None:
    agreed = "PostgreSQL counted 9,699 transactions meanwhile, this load 10,000."
    assert found(wish(PGPOOL), 9_699) == (
        True,
        f"{agreed} Sessions that are kept may owe those of their latest second.",
    )
    assert found(wish(PGPOOL), 9_700)[1].endswith("this load 10,000.")


def test_what_is_known_of_the_cause_is_told() -> None:
    straight = found(wish(), 8_120)[1]
    cached = found(wish(PGPOOL), 8_120, cache=(1_900, 8_100))[1]
    uncached = found(wish(PGPOOL), 8_120, cache=(0, 8_100))[1]
    pooled = found(wish(POOLER), 8_120, cache=(1_900, 8_100))[1]

    begin = "PostgreSQL counted 8,120 of 10,000 transactions: the rest "
    assert straight == f"{begin}never reached it, or went to another server or database."
    # 1,900 / (1,900 + 8,100)
    said = "was answered by a query cache (that of the pgpools had 1,900 hits meanwhile, a hit ratio of 19 %)"
    assert cached == f"{begin}{said}, or never committed."
    unknown = f"{begin}was answered by a query cache, went to another server, or never committed."
    assert (uncached, pooled) == (unknown, unknown)


@pytest.mark.parametrize(
    ("asked", "counted", "facts", "ok"),
    [
        # 10,000 (1 + 0.1 + 1 / 60) + 5 x 60 + 20 x 10 = 11,666.7
        (wish(), 11_666, {}, True),
        (wish(), 11_667, {}, False),
        (wish(), 11_667, {"servers": 2}, True),
        (wish(), 11_667, {"failed": 1}, True),
        (wish(), 11_667, {"follows_kept": True}, True),
        (wish(PGPOOL), 20_000, {}, True),  # BEGIN goes to two servers
        (wish(POOLER), 20_000, {}, True),
        (wish(reconnect=True), 20_000, {}, True),  # so is each session
        (wish(workload="sysbench-read-only", skip_trx=True), 140_000, {}, True),
        (wish(workload="sysbench-read-only", skip_trx=False), 140_000, {}, False),
    ],
)
def test_many_more_are_a_finding_where_one_of_the_load_is_one_of_the_server(
    asked: Wish, counted: int, facts: Mapping[str, Any], ok: bool
) -> None:
    told = found(asked, counted, **facts)

    assert told[0] is ok
    assert ("others were at work, or sessions of a pool" in told[1]) is not ok


def test_of_few_transactions_and_of_loads_that_count_otherwise_nothing_is_said() -> None:
    assert counters_check.finding(wish(), counted=0, told=999, failed=0, servers=1, cache=None) is None
    assert found(wish(), 0, told=1000)[0] is False
    checked = {key for key in WORKLOADS if counters_check.is_checked(wish(workload=key))}
    assert set(WORKLOADS) - checked == {"pgbench-scripts", "pubsub", "query-cache"}


@pytest.mark.parametrize(
    ("after", "grown"),
    [
        ({"a": Counted(15, "x"), "b": Counted(27, "y")}, 12),  # 5 + 7
        ({"a": Counted(15, "x"), "b": Counted(27, "z")}, None),
        ({"a": Counted(15, "x"), "b": Counted(19, "y")}, None),
        ({"a": Counted(15, "x")}, None),
        ({}, None),
    ],
)
def test_servers_count_together_and_one_that_began_anew_leaves_nothing(
    after: Mapping[str, Counted], grown: int | None
) -> None:
    assert counters_check.grown({"a": Counted(10, "x"), "b": Counted(20, "y")}, after) == grown
    assert counters_check.grown({}, {}) is None


@pytest.mark.parametrize(
    ("after", "moved"),
    [
        ({"pgpool-1": (30, 50), "pgpool-2": (5, 5)}, (25, 45)),  # 20 + 5, 40 + 5
        ({"pgpool-1": (9, 50)}, None),
        ({"pgpool-1": (None, None)}, None),
        ({"pgpool-3": (1, 1)}, None),
    ],
)
def test_query_caches_count_together(
    after: Mapping[str, tuple[int | None, int | None]], moved: tuple[int, int] | None
) -> None:
    assert counters_check.cache_moved({"pgpool-1": (10, 10), "pgpool-2": (0, 0)}, after) == moved
