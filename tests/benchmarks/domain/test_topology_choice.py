"""Where a load can go, and how many clients fit there."""

import pytest

from apps.benchmarks.domain.run_wish import Limits, Room
from apps.benchmarks.domain.topologies import Server, Topology, of_cluster
from apps.benchmarks.domain.topology_choice import choices, most_clients
from apps.benchmarks.domain.workloads import WORKLOADS

PRIMARY = Server("db0", "10.0.0.1", 5432)
STANDBY = Server("db1", "10.0.0.2", 5432)
POOLS = [Server(f"pgpool-{number}", "10.0.0.3", 9000 + number, is_pgpool=True) for number in (1, 2)]
OFFERED = of_cluster(primary=PRIMARY, standbys=[(1, STANDBY)], pgpools=POOLS)
READS, WRITES = WORKLOADS["pgbench-select-only"], WORKLOADS["pgbench-tpcb-like"]


def topology(key: str) -> Topology:
    return next(one for one in OFFERED if one.key == key)


@pytest.mark.parametrize(
    ("key", "rooms", "most"),
    [
        ("primary", {}, 50),
        ("primary", {"db0": Room(limit=20, used=5)}, 15),
        ("pgpool:pgpool-1", {"pgpool-1": Room(limit=32, used=4, kept=2)}, 26),  # 2 are kept
        ("pgpool:pgpool-1", {"pgpool-1": Room(limit=4, used=4, kept=2)}, 0),
        ("pgpools", {"pgpool-1": Room(limit=10), "pgpool-2": Room(limit=7)}, 15),  # 8 and 7: the first has one more
        ("pgpools", {"pgpool-1": Room(limit=10)}, 20),  # nobody knows what the other one has
    ],
)
def test_as_many_clients_as_the_fullest_server_leaves(key: str, rooms: dict[str, Room], most: int) -> None:
    assert most_clients(topology(key), Limits(most_clients=50, most_duration_s=60, rooms=rooms)) == most


def test_what_writes_cannot_go_to_a_standby() -> None:
    limits = Limits(most_clients=50, most_duration_s=60)

    found = {one.topology.key: one.why_not for one in choices(OFFERED, workload=WRITES, limits=limits)}

    assert found.pop("standby:1") == "takes no writes, and this workload writes"
    assert set(found.values()) == {""}
    assert {one.why_not for one in choices(OFFERED, workload=READS, limits=limits)} == {""}


def test_what_a_level_of_commit_is_worth_is_said_to_what_writes() -> None:
    limits = Limits(most_clients=50, most_duration_s=60)
    offered = of_cluster(primary=PRIMARY, standbys=[(1, STANDBY)], pgpools=POOLS, has_synchronous=False)

    writing = {one.topology.key: one.words for one in choices(offered, workload=WRITES, limits=limits)}
    reading = {one.topology.key: one.words for one in choices(offered, workload=READS, limits=limits)}

    as_local = "at most 50 clients; no standby is synchronous now, so this waits for no more than local does"
    assert (writing["commit:local"], writing["commit:on"]) == ("at most 50 clients", as_local)
    assert "commit:off" not in reading


def test_where_no_session_is_free_nothing_can_go() -> None:
    limits = Limits(most_clients=50, most_duration_s=60, rooms={"pgpool-1": Room(limit=3, used=2, kept=2)})

    found = {one.topology.key: one.words for one in choices(OFFERED, workload=READS, limits=limits)}

    assert found["pgpool:pgpool-1"] == "no session is free there now"
    assert found["pgpools"] == "no session is free there now"
    assert found["pgpool:pgpool-2"] == "at most 50 clients"
