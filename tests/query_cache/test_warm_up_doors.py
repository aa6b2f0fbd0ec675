"""How long a cache takes to warm up, by REST and in its panel: where the figures come from, and what is refused."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone
from django.utils.html import escape

from apps.benchmarks.models import BenchmarkRun
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import Cluster, InstanceConfig
from tests.clusters.callers_at_doors import browser, script
from tests.query_cache.conftest import RUNNING, calibration, result_of
from tests.query_cache.domain.test_break_even import KEY_LOOK_UP

pytestmark = pytest.mark.django_db

API = "/api/v1/clusters/orders/cache/warm-up/"
PAGE = "/o/acme/clusters/orders/cache/"
PANEL = f"{PAGE}warm-up/"
ASKED = {"keys": 50_000, "per_s": 420}
SENTENCE = (
    "At 420 cacheable reads/s over 50,000 keys the cache pays again 1 min after a restart; SHOW pool_cache shows that "
    "ratio only after 2 min 12 s."
)
ENTRIES = "as many entries as the cache of pgpool-1 had in the last 15 min at most, a lower bound"


def grew(cluster: Cluster, pgpool: str, *, hits: int, selects: int, reads: int, entries: int = 77) -> None:
    """Between two polls of the latest minute, ten seconds apart. entries: at the first; a write drops them all."""
    instance, at = cluster.instances.get(name=pgpool), timezone.now() - dt.timedelta(seconds=40)
    for step in (0, 1):
        now = at + dt.timedelta(seconds=10 * step)
        sample = InstanceSampleRow(instance.pk, now, True, cache_entry_count=entries * (1 - step))
        sample = sample._replace(cache_hit_count=hits * step, cache_miss_count=selects * step)
        append(instances=[sample], nodes=[NodeSampleRow(instance.pk, 0, now, reads * step)])


def asked(**query: Any) -> dict[str, Any]:
    answer = script("viewer").get(API, query)
    assert answer.status_code == 200, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def said(address: str, **query: Any) -> str:
    return browser("operator").get(address, query).content.decode().replace("\u00a0", " ")


def test_keys_and_rate_that_are_asked_for(calibrated: BenchmarkRun) -> None:
    found = asked(**ASKED)

    assert (found["keys"], found["keys_from"], found["per_s"], found["per_s_from"]) == (50_000, "given", 420, "given")
    assert found["sentence"].replace("\u00a0", " ") == SENTENCE
    assert found["reaches_after_low_s"] < found["reaches_after_s"] == pytest.approx(60, abs=0.5)
    assert (
        found["reaches_after_s"] < found["reaches_after_high_s"] < found["shown_after_s"] == pytest.approx(132, abs=1)
    )
    assert found["warm_after_s"] == pytest.approx(548.2, abs=0.1)  # ln 100 · 50,000 / 420
    assert found["lost"]["mean_cost"] == pytest.approx(1.21, abs=0.01)
    assert (found["points"][0]["at_s"], len(found["points"])) == (0, 50)
    assert found["points"][-1]["operating_hit_ratio"] == pytest.approx(0.99)
    assert found["between_writes"] is None


def test_a_table_that_is_written_now_and_then(calibrated: BenchmarkRun) -> None:
    found = asked(**ASKED, write_every_s=30)["between_writes"]

    assert (found["write_every_s"], found["reads"], found["state"]) == (30, 12_600, "costs")
    assert found["mean_operating_hit_ratio"] == pytest.approx(0.116, abs=0.001)
    assert found["at_random_hit_ratio"] == pytest.approx(12_600 / 62_600)
    low, middle, high = (found[f"pays_from_every_{end}s"] for end in ("low_", "", "high_"))
    assert low < middle < high
    assert middle == pytest.approx(132, abs=1)
    assert found["pays_from_random_every_s"] == pytest.approx(78, abs=1)


def test_what_is_left_out_is_measured_at_the_busiest_pgpool(calibrated: BenchmarkRun, cluster: Cluster) -> None:
    grew(cluster, "pgpool-1", hits=800, selects=200, reads=200, entries=5000)
    grew(cluster, "pgpool-2", hits=3000, selects=1200, reads=1200)

    found = asked()

    assert (found["cache"], found["per_s"]) == ("pgpool-2", 420)
    assert found["per_s_from"] == (
        "what the cache of pgpool-2 was asked in the last 15 min; it is the busiest of 2 caches, and each warms up by "
        "itself"
    )
    assert found["keys"] == 5000
    assert found["keys_from"] == ENTRIES


def test_memcached_is_one_cache_for_all_and_tells_no_entries(cluster: Cluster) -> None:
    InstanceConfig.objects.update(running=RUNNING | {"memqcache_method": "memcached"})
    run = calibration(cluster, state="done", result=result_of(KEY_LOOK_UP, "memcached"))
    grew(cluster, "pgpool-1", hits=800, selects=200, reads=200, entries=0)
    grew(cluster, "pgpool-2", hits=3000, selects=1200, reads=1200, entries=0)

    found = asked()

    assert (found["cache"], found["storage"], found["per_s"]) == ("memcached localhost:11211", "memcached", 520)
    assert found["per_s_from"] == "what 2 pgpools asked memcached localhost:11211 in the last 15 min"
    assert (found["keys"], found["keys_from"]) == (
        100_000, f"the key space of the latest calibration, run #{run.pk}"
    )  # fmt: skip
    assert "after memcached was emptied" in found["sentence"]


def test_memcached_of_two_hosts_is_two_caches(cluster: Cluster) -> None:
    InstanceConfig.objects.update(running=RUNNING | {"memqcache_method": "memcached"})
    cluster.instances.filter(name="pgpool-2").update(host="127.0.0.2")
    grew(cluster, "pgpool-1", hits=800, selects=200, reads=200)

    found = asked()

    assert (found["per_s"], found["per_s_from"].partition("; ")[2]) == (
        100, "it is the busiest of 2 caches, and each warms up by itself"
    )  # fmt: skip


@pytest.mark.parametrize(("reads", "words"), [(0, "no cacheable reads"), (90, "90 cacheable reads")])
def test_without_traffic_there_is_no_time(calibrated: BenchmarkRun, cluster: Cluster, reads: int, words: str) -> None:
    grew(cluster, "pgpool-1", hits=reads, selects=0, reads=0)

    found = asked()

    assert (found["per_s"], found["points"], found["reaches_after_s"], found["lost"]) == (None, [], None, None)
    assert found["per_s_from"] == f"{words} were counted in the last 15 min, too few for a rate"
    assert found["sentence"].endswith("say how many SELECTs per second there are.")
    panel = said(PANEL)
    assert "which is not known: say how many SELECTs per second there are." in panel
    assert f"No rate: {words} were counted in the last 15 min, too few for a rate." in panel
    assert "<warm-up-chart" not in panel


def test_before_a_calibration_it_is_a_curve_without_a_break_even(cluster: Cluster) -> None:
    found = asked(per_s=1000)

    assert (found["break_even"], found["reaches_after_s"], found["shown_after_s"]) == (None, None, None)
    assert len(found["points"]) == 50
    assert (found["keys"], found["keys_from"]) == (
        100_000, "a guess, since no pgpool has told of entries and nothing was calibrated"
    )  # fmt: skip
    assert "nobody has measured here yet: a calibration tells" in said(PANEL, per_s=1000)


def test_a_cache_that_is_off_is_told_of_as_if_it_were_on(calibrated: BenchmarkRun, cluster: Cluster) -> None:
    InstanceConfig.objects.update(running=RUNNING | {"memory_cache_enabled": "off"})
    grew(cluster, "pgpool-1", hits=0, selects=0, reads=4200)

    found = asked(keys=50_000)

    assert (found["is_on"], found["per_s"]) == (False, 420)
    assert found["per_s_from"].startswith(
        "the reads of pgpool-1 that backends got in the last 15 min, cacheable or not"
    )
    assert found["sentence"].startswith("Were the cache on: at 420 cacheable reads/s over 50,000 keys the cache pays 1")


def test_a_cluster_without_pgpools_is_told_of_what_was_asked_for(cluster: Cluster) -> None:
    cluster.instances.all().delete()

    found = asked(**ASKED)

    assert (found["cache"], found["is_on"], found["storage"]) == ("", None, "shmem")
    assert found["sentence"].startswith("At 420 cacheable reads/s over 50,000 keys half of the reads are hits")
    assert "no cacheable reads were counted in the last 15 min" in said(PANEL)


REFUSED = [
    ({"keys": "0"}, "keys", "'0' is not possible; expected a whole number from 1 to 1,000,000,000,000."),
    ({"keys": "1.5"}, "keys", "'1.5' is not possible; expected a whole number"),
    ({"keys": "many"}, "keys", "'many' is not possible; expected a whole number"),
    ({"per_s": "0"}, "per_s", "'0' is not possible; expected a number from 0.001 to 1,000,000,000."),
    ({"per_s": "nan"}, "per_s", "'nan' is not possible"),
    ({"per_s": "-1"}, "per_s", "'-1' is not possible"),
    ({"write_every_s": "1e99"}, "write_every_s", "'1e99' is not possible; expected a number from 0.001 to"),
]


@pytest.mark.parametrize(("query", "field", "words"), REFUSED)
def test_what_is_refused_is_named(calibrated: BenchmarkRun, query: dict[str, str], field: str, words: str) -> None:
    answer = script("viewer").get(API, query)

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert error["reason"].startswith(words)


@pytest.mark.parametrize("address", [PAGE, PANEL])
@pytest.mark.parametrize(("query", "field", "words"), REFUSED[:1])
def test_what_is_refused_is_told_beside_its_field(
    calibrated: BenchmarkRun, address: str, query: dict[str, str], field: str, words: str
) -> None:
    answer = browser("viewer").get(address, query)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert f'<span class="wrong" id="id_{field}_error" role="alert">{escape(words)}' in page
    assert "Nothing was worked out: look at what is marked below." in page
    assert "<warm-up-chart" not in page


@pytest.mark.parametrize("address", [PAGE, PANEL])
def test_the_panel_can_be_linked_to_with_its_figures(calibrated: BenchmarkRun, address: str) -> None:
    page = said(address, **ASKED, write_every_s=30)

    assert SENTENCE in page
    assert 'data-between="costs"' in page
    assert "it costs there, and the table belongs on cache_unsafe_memqcache_table_list." in page
    assert 'name="keys" value="50000"' in page
    assert "cache/warm-up/?organisation=acme&amp;keys=50000&amp;per_s=420.0&amp;write_every_s=30.0" in page


def test_the_page_says_where_figures_come_from_that_nobody_typed(calibrated: BenchmarkRun, cluster: Cluster) -> None:
    grew(cluster, "pgpool-1", hits=7100, selects=2900, reads=2900)

    page = said(PAGE)

    assert f"77 keys: {ENTRIES}." in page
    assert "1,000 reads/s: what the cache of pgpool-1 was asked in the last 15 min; it is the busiest of 2" in page
    assert "At 1,000 cacheable reads/s over 77 keys the cache pays again 0.04 s after a restart" in page


def test_the_address_of_the_browser_becomes_that_of_the_page(calibrated: BenchmarkRun) -> None:
    client = browser("viewer")

    answer = client.get(PANEL, {"keys": "500", "per_s": "", "axis": "cumulative"})

    assert answer["HX-Replace-Url"] == f"{PAGE}?axis=cumulative&keys=500"
    assert client.get(PANEL)["HX-Replace-Url"] == PAGE
    assert '<input type="hidden" name="axis" value="cumulative">' in answer.content.decode()


def test_strangers_see_nothing(cluster: Cluster) -> None:
    assert script("operator", organisation="umbrella").get(API, ASKED).status_code == 404
    assert browser("operator", organisation="other").get(PANEL).status_code == 404
