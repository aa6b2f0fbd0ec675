"""What to change in the caches of a cluster: lines, files, commands, and drafts by the one door there is."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster, InstanceConfig, InstanceLatest, PgpoolInstance
from tests.clusters.callers_at_doors import browser
from tests.query_cache.conftest import RUNNING, SIZES
from tests.query_cache.test_cache_tables import surveyed

pytestmark = pytest.mark.django_db

CACHE = "/api/v1/clusters/orders/cache/"
PAGE = "/o/acme/clusters/orders/cache/"
DRAFT = "/o/acme/clusters/orders/draft/"
Count = Callable[..., None]


@pytest.fixture
def person(db: None) -> Client:
    """An operator, who is answered by REST as well."""
    return browser("operator")


def advice(person: Client) -> dict[str, dict[str, Any]]:
    return {one["key"]: one for one in person.get(CACHE).json()["advice"]}


def page_of(person: Client) -> str:
    return person.get(PAGE).content.decode()


def test_a_cache_that_costs_is_turned_off_by_a_line_in_every_file_and_a_restart(
    calibrated: BenchmarkRun, counted: Count, person: Client
) -> None:
    counted(hits=1500, selects=8500, reads=10_000)
    PgpoolInstance.objects.filter(name="pgpool-2").update(
        delivery_kind="local", delivery_path="/etc/pgpool2/pgpool.conf", delivery_target="/etc/pgpool2/pgpool.conf"
    )

    found = advice(person)["turn_off"]

    assert (found["parameter"], found["value"], found["needs_restart"]) == ("memory_cache_enabled", "off", True)
    [first, second] = found["steps"]
    assert (first["line"], first["file"]) == ("memory_cache_enabled = off", "")
    assert first["where"] == "its pgpool.conf on 127.0.0.1; Lifeguard does not know the path"
    assert first["command"].startswith("a restart by hand, on 127.0.0.1: its file is delivered by hand")
    assert (second["file"], second["where"]) == ("/etc/pgpool2/pgpool.conf", "on the machine of Lifeguard's workers")
    assert second["command"].endswith("no restart command is chosen for it in Settings")
    assert found["drafts"] == [{"pgpool": None, "parameter": "memory_cache_enabled", "value": "off"}]


def test_draft_it_puts_the_parameter_into_the_draft(calibrated: BenchmarkRun, counted: Count, person: Client) -> None:
    counted(hits=1500, selects=8500, reads=10_000)
    page = page_of(person)
    assert 'data-advice="turn_off"' in page
    assert f'action="{DRAFT}parameter/"' in page
    assert "Restart one after another" in page
    [wish] = advice(person)["turn_off"]["drafts"]

    answer = person.post(
        f"{DRAFT}parameter/",
        {"name": wish["parameter"], "value": wish["value"], "instance": wish["pgpool"] or ""},
    )

    assert answer["Location"].endswith("/clusters/orders/draft/")
    # These pgpools have no file to be written, which the page tells beside what is drafted.
    draft = person.get(DRAFT).content.decode()
    assert 'id="parameter-memory_cache_enabled"' in draft
    assert draft.count("no pgpool.conf was given for pgpool-1") == 2


def test_a_viewer_reads_the_words_and_drafts_nothing(calibrated: BenchmarkRun, counted: Count, person: Client) -> None:
    counted(hits=1500, selects=8500, reads=10_000)
    viewer = browser("viewer")

    page = page_of(viewer)

    assert "Turn it off: at this hit ratio" in page
    assert "memory_cache_enabled = off" in page
    assert "Drafting it needs the role operator; you have viewer access." in page
    assert "draft/parameter/" not in page
    assert set(advice(viewer)) == set(advice(person))


def test_an_observed_cluster_drafts_nothing(calibrated: BenchmarkRun, counted: Count, person: Client) -> None:
    counted(hits=1500, selects=8500, reads=10_000)
    Cluster.objects.update(is_observe_only=True)

    found = advice(person)["turn_off"]

    assert (found["drafts"], "observe only" in found["no_draft"]) == ([], True)
    assert "draft/parameter/" not in page_of(person)


def test_a_full_cache_gets_twice_the_memory_on_that_pgpool_alone(cluster: Cluster, person: Client) -> None:
    # 60 of 64 MiB: 93.75 %
    full = SIZES | {"used_bytes": 60 * 1024**2, "free_bytes": 4 * 1024**2, "used_hash_entries": 120_000}
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(cache_row=full)
    InstanceConfig.objects.update(running=RUNNING | {"memqcache_max_num_cache": "100000"})

    found = advice(person)

    # 120000 of 131072 entries are 91.6 %
    assert found["more_memory"]["drafts"] == [
        {"pgpool": "pgpool-2", "parameter": "memqcache_total_size", "value": "128MB"}
    ]
    assert "pgpool-2 is 94 % full" in found["more_memory"]["sentence"]
    assert found["more_memory"]["steps"][0]["line"] == "memqcache_total_size = '128MB'"
    assert found["more_entries"]["drafts"][0]["value"] == "200000"
    assert "Draft it on pgpool-2" in page_of(person)


def test_two_caches_are_told_of_memcached_whose_host_has_to_be_named(cluster: Cluster, person: Client) -> None:
    found = advice(person)

    assert found["memcached"]["asks"] == "memqcache_memcached_host"
    assert found["memcached"]["drafts"] == [{"pgpool": None, "parameter": "memqcache_method", "value": "memcached"}]
    assert found["expire"]["drafts"] == [{"pgpool": None, "parameter": "memqcache_expire", "value": "60"}]
    page = page_of(person)
    assert f'href="{DRAFT}?name=memqcache_memcached_host#add"' in page


def test_what_is_written_most_is_left_out_where_the_cache_does_not_pay(
    calibrated: BenchmarkRun, counted: Count, cluster: Cluster, person: Client
) -> None:
    counted(hits=1500, selects=8500, reads=10_000)
    surveyed(cluster, ("public", "stock", 41.2), ("public", "orders", 6.8), ("public", "prices", 0.0))
    InstanceConfig.objects.update(running=RUNNING | {"cache_unsafe_memqcache_table_list": "orders,public.orders"})

    found = advice(person)["leave_out"]

    assert "public.stock (41.2 rows a second)." in found["sentence"]
    assert not found["needs_restart"]
    assert found["drafts"] == [
        {"pgpool": None, "parameter": "cache_unsafe_memqcache_table_list", "value": "stock,public[.]stock"}
    ]
    assert found["steps"][0]["line"] == "cache_unsafe_memqcache_table_list = 'stock,public[.]stock'"
    assert found["steps"][0]["command"] == "pgpool reload"


def test_a_cluster_whose_settings_nobody_read_gets_no_advice(cluster: Cluster, person: Client) -> None:
    InstanceConfig.objects.update(running={})

    assert advice(person) == {}
    assert "That is known once a pgpool has shown its settings." in page_of(person)
