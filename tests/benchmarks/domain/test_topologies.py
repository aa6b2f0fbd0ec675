"""Topologies of a cluster: which there are, what they are called, and how clients are spread over them."""

import pytest

from apps.benchmarks.domain.topologies import Server, address_of, find, of_cluster, place_of, shares

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
        ("commit:off", True, 1),
        ("commit:local", True, 1),
        ("commit:remote_write", True, 1),
        ("commit:on", True, 1),
        ("commit:remote_apply", True, 1),
    ]
    assert [one.key for one in found if one.is_through_pgpool] == ["pgpool:pgpool-1", "pgpool:pgpool-2", "pgpools"]


def test_one_of_a_kind_is_not_offered_as_all_of_them() -> None:
    found = of_cluster(primary=None, standbys=STANDBYS[:1], pgpools=PGPOOLS[:1])

    assert [one.key for one in found] == ["standby:1", "pgpool:pgpool-1"]


def test_a_kind_alone_means_its_first() -> None:
    offered = of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS)

    found = [find(key, offered) for key in ("pgpool", "standby", "primary", "x")]

    assert [one and one.key for one in found] == ["pgpool:pgpool-1", "standby:1", "primary", None]


def test_a_level_of_commit_is_what_sessions_begin_with() -> None:
    found = find("commit:remote_apply", of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS))
    plain = find("primary", of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS))

    assert found is not None
    assert plain is not None
    assert found.label == "primary direct, synchronous_commit = remote_apply"
    assert (found.session_options, plain.session_options) == ("-c synchronous_commit=remote_apply", "")


@pytest.mark.parametrize(
    ("has_synchronous", "as_local"),
    [(True, []), (None, []), (False, ["commit:remote_write", "commit:on", "commit:remote_apply"])],
)
def test_levels_that_wait_for_nobody_are_told_as_local(has_synchronous: bool | None, as_local: list[str]) -> None:
    offered = of_cluster(primary=PRIMARY, standbys=STANDBYS, pgpools=PGPOOLS, has_synchronous=has_synchronous)

    assert [one.key for one in offered if one.note] == as_local


@pytest.mark.parametrize(
    ("clients", "servers", "expected"), [(6, 3, (2, 2, 2)), (7, 3, (3, 2, 2)), (3, 3, (1, 1, 1)), (5, 1, (5,))]
)
def test_clients_are_spread_evenly(clients: int, servers: int, expected: tuple[int, ...]) -> None:
    assert shares(clients, servers) == expected


@pytest.mark.parametrize(
    ("place", "address"), [("db-1:5432", ("db-1", 5432)), ("[2001:db8::5]:6432", ("2001:db8::5", 6432))]
)
def test_a_place_is_read_as_it_is_written(place: str, address: tuple[str, int]) -> None:
    assert address_of(place) == address
    assert place_of(*address) == place


@pytest.mark.parametrize("place", ["db-1", "db-1:", ":5432", "::1:5432", "[db-1]:5432", "[]:5432", "db-1:x", ""])
def test_what_could_be_another_place_is_none(place: str) -> None:
    with pytest.raises(ValueError, match=r"is no host:port; .* as \[::1\]:5432"):
        address_of(place)
