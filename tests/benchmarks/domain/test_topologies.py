"""Topologies of a cluster: which there are, what they are called, and how clients are spread over them."""

import pytest

from apps.benchmarks.domain.topologies import Server, find, of_cluster, shares

PRIMARY = Server("pg1", "10.0.0.1", 5432)
STANDBYS = [(1, Server("pg2", "10.0.0.2", 5432)), (2, Server("pg3", "10.0.0.3", 5432))]
PGPOOLS = [Server("pgpool-1", "10.0.1.1", 9999, is_pgpool=True), Server("pgpool-2", "10.0.1.2", 9999, is_pgpool=True)]


def test_a_cluster_offers_each_server_and_all_of_a_kind() -> None:
    found = of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS)

    assert [(one.key, one.takes_writes, len(one.servers)) for one in found] == [
        ("primary", True, 1),
        ("standby:1", False, 1),
        ("standby:2", False, 1),
        ("standbys", False, 2),
        ("pgpool:pgpool-1", True, 1),
        ("pgpool:pgpool-2", True, 1),
        ("pgpools", True, 2),
    ]
    assert [one.key for one in found if one.is_through_pgpool] == ["pgpool:pgpool-1", "pgpool:pgpool-2", "pgpools"]


def test_one_of_a_kind_is_not_offered_as_all_of_them() -> None:
    found = of_cluster(primary=None, standbys=STANDBYS[:1], pgpools=PGPOOLS[:1])

    assert [one.key for one in found] == ["standby:1", "pgpool:pgpool-1"]


def test_a_kind_alone_means_its_first() -> None:
    offered = of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS)

    found = [find(key, offered) for key in ("pgpool", "standby", "primary", "x")]

    assert [one and one.key for one in found] == ["pgpool:pgpool-1", "standby:1", "primary", None]


@pytest.mark.parametrize(
    ("clients", "servers", "expected"), [(6, 3, (2, 2, 2)), (7, 3, (3, 2, 2)), (3, 3, (1, 1, 1)), (5, 1, (5,))]
)
def test_clients_are_spread_evenly(clients: int, servers: int, expected: tuple[int, ...]) -> None:
    assert shares(clients, servers) == expected
