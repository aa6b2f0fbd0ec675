"""Endpoints as topologies: what they are called, and what their sessions can be told."""

import pytest

from apps.benchmarks.domain.comparison_plan import place_words
from apps.benchmarks.domain.endpoints import Endpoint, is_another_topology, is_endpoint, topology
from apps.benchmarks.domain.environment_words import facts, goes_past_pgpools, hit_ratio, reads
from apps.benchmarks.domain.run_words import topology_words
from apps.benchmarks.domain.topologies import PGPOOL, Server, of_cluster


@pytest.mark.parametrize(
    ("kind", "behind", "label", "passes_options", "is_through_pgpool"),
    [
        ("pooler", 0, "endpoint bouncer-1 (pooler, 10.0.0.5:6432)", False, False),
        ("router", 0, "endpoint bouncer-1 (router, 10.0.0.5:6432)", False, False),
        ("balancer", 3, "endpoint bouncer-1 (balancer before 3 pgpools, 10.0.0.5:6432)", True, True),
        ("balancer", 1, "endpoint bouncer-1 (balancer before 1 pgpool, 10.0.0.5:6432)", True, True),
        ("pooler", 2, "endpoint bouncer-1 (pooler before 2 pgpools, 10.0.0.5:6432)", False, True),
    ],
)
def test_an_endpoint_says_what_it_is_and_what_is_behind_it(
    kind: str, behind: int, label: str, passes_options: bool, is_through_pgpool: bool
) -> None:
    found = topology(Endpoint("bouncer-1", "10.0.0.5", 6432, kind, takes_writes=False, pgpools_behind=behind))

    assert (found.key, found.label, found.takes_writes) == ("endpoint:bouncer-1", label, False)
    assert (found.is_direct, found.is_through_pgpool) == (False, is_through_pgpool)
    assert found.servers == (found.endpoint,)
    assert found.servers[0].passes_options is passes_options
    assert found.servers[0].keeps_statements is (kind != "pooler")


def test_what_another_topology_is_called_is_no_name() -> None:
    servers = [Server(f"one-{number}", "10.0.0.1", 5000 + number) for number in range(3)]
    offered = of_cluster(primary=servers[0], standbys=[(1, servers[1]), (2, servers[2])], pgpools=servers)

    # What stands in brackets names servers, and those are refused as such; nobody can type a sign of equality.
    labels = [one.label.partition(" (")[0] for one in offered if not one.commit_level]
    arms = [place_words(one.key) for one in offered if not one.commit_level and not one.key.startswith(f"{PGPOOL}:")]
    for name in [*(one.key for one in offered), *labels, *arms, "pgpool", "standby", "ALL  pgpools"]:
        assert is_another_topology(name), name
    for name in ("bouncer-1", "HAProxy before all pgpools", "primary-bouncer", "pgpool-9", "lb: all"):
        assert not is_another_topology(name), name


def test_its_name_is_what_people_read_of_arms_and_runs() -> None:
    key = "endpoint:PgBouncer on bouncer-1"

    assert (place_words(key), topology_words(key)) == ("PgBouncer on bouncer-1", "through PgBouncer on bouncer-1")
    assert [is_endpoint(one) for one in (key, "pgpool:endpoint", "primary")] == [True, False, False]


@pytest.mark.parametrize(
    ("key", "through", "is_past"),
    [
        ("endpoint:bouncer-1", False, True),
        ("endpoint:lb", True, False),
        ("pgpools", True, False),
        ("primary", None, False),
    ],
)
def test_reads_that_pgpools_counted_are_not_shown_as_those_of_a_run_past_them(
    key: str, through: bool | None, is_past: bool
) -> None:
    topology_of_it = {"key": key, "label": "as it was", **({} if through is None else {"is_through_pgpool": through})}
    counted = {"cache": {"pgpool-1": [10, 0]}}
    environment = {
        "topology": topology_of_it, "reads": {"1": 30, "2": 10}, "counters_before": counted,
        "counters_after": {"cache": {"pgpool-1": [13, 1]}},
    }  # fmt: skip

    assert goes_past_pgpools(environment) is is_past
    assert [one.count for one in reads(environment, {})] == ([] if is_past else [30, 10])
    assert hit_ratio(environment) == (None if is_past else 0.75)  # 3 of 4
    assert (("Endpoint", "as it was") in facts(environment)) is is_endpoint(key)
