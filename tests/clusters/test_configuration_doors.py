"""The parameters of a cluster by page and by REST, and what new values would do; no secret is shown."""

from typing import Any

import pytest
from django.urls import reverse

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, InstanceConfig, PgpoolInstance
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.domain.malformed import BASE
from tests.clusters.seen_cluster import NOW, register

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/parameters/"
VALIDATE = "/api/v1/clusters/orders/validate/"
PAGE = "/o/acme/clusters/orders/configuration/"
PROGRAM = "failover_command"
BACKEND_2 = "backend_hostname2 = 'pg2.example'\nbackend_port2 = 5432\nbackend_weight2 = 1\n"
FILE = f"{BASE}{BACKEND_2}failover_command = 'x --dsn postgres://u:hunter2@h/d'\nnonsense = 1\n"


@pytest.fixture
def cluster(db: None) -> Cluster:
    found = register(Organisation.objects.create(slug="acme", name="Acme"))
    first, second = found.instances.order_by("name")
    see(first, FILE, running={"num_init_children": "16", "sr_check_password": "*****"})
    see(second, FILE.replace("delay_threshold = 0", "delay_threshold = 10MB"))
    return found


def see(instance: PgpoolInstance, text: str, running: dict[str, str] | None = None) -> None:
    deliver(instance)
    InstanceConfig.objects.create(
        instance=instance, file_text=text, file_sha256="0" * 64, looked_at=NOW, running=running or {}, running_at=NOW
    )


def deliver(instance: PgpoolInstance) -> None:
    path = f"/srv/{instance.name}/pgpool.conf"
    PgpoolInstance.objects.filter(pk=instance.pk).update(
        delivery_kind="local", delivery_path=path, delivery_target=path
    )


def by_name(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200
    return {one["name"]: one for one in answer.json()["results"]}


def test_every_parameter_is_listed_with_its_value_on_each_pgpool(cluster: Cluster) -> None:
    answer = script("viewer").get(REST)

    found = by_name(answer)
    threshold = found["delay_threshold"]
    assert [value["effective"] for value in threshold["values"]] == ["0", "10MB"]
    assert (threshold["differs"], threshold["context"], threshold["unit"]) == (True, "reload", "bytes")
    assert threshold["values"][1]["in_words"] == "10\u00a0MB"
    assert (found["num_init_children"]["values"][0]["running"], found["num_init_children"]["context"]) == (
        "16",
        "restart",
    )
    assert [value["is_waiting"] for value in found["num_init_children"]["values"]] == [True, None]
    assert found["log_connections"]["values"][0]["file"] is None
    assert found["log_connections"]["values"][0]["effective"] == found["log_connections"]["default"] == "off"
    assert found["nonsense"]["context"] is None
    assert "lose sight" in found["port"]["out_of_reach"]
    assert found["failover_command"]["needs_admin"]
    assert "hunter2" not in answer.content.decode()
    assert found["sr_check_password"]["values"][0]["file"] == "*****"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("show=differs", {"delay_threshold"}),
        ("show=waiting", {"num_init_children"}),
        ("q=delay+threshold&show=changed", {"delay_threshold"}),
        ("q=prefer_lower", {"prefer_lower_delay_standby"}),
        ("group=unknown", {"nonsense"}),
        ("group=nothing", set()),
        ("q=%00%ff", set()),
    ],
)
def test_the_list_can_be_narrowed(cluster: Cluster, query: str, names: set[str]) -> None:
    assert by_name(script("viewer").get(f"{REST}?{query}")).keys() == names


def test_pgpools_that_were_not_read_say_so(db: None) -> None:
    cluster = register(Organisation.objects.create(slug="acme", name="Acme"), pgpools=3)
    observed, broken, unread = cluster.instances.order_by("name")
    deliver(unread)
    InstanceConfig.objects.create(instance=observed, running={"max_pool": "7"}, running_at=NOW)
    see(broken, "!!\n")

    answer = script("viewer").get(REST)

    reasons = [each["reason"] for each in answer.json()["pgpools"]]
    assert [word in reason for word, reason in zip(["Observed only", "line 1", "not read yet"], reasons, strict=True)]
    assert [value["effective"] for value in by_name(answer)["max_pool"]["values"]] == ["7", None, None]


def test_the_page_shows_one_value_where_all_agree_and_each_where_they_differ(cluster: Cluster) -> None:
    page = browser("viewer").get(PAGE).content.decode()

    row = page[page.index('<tr id="delay_threshold"') :].partition("</tr>")[0]
    assert all(words in row for words in ("pgpool-1", "pgpool-2", "10MB", "differs between pgpools"))
    assert "runs <code>16</code>" in page
    assert "hunter2" not in page
    assert 'href="#max_pool"' in page


def test_the_page_offers_only_the_changes_that_this_person_can_draft(cluster: Cluster) -> None:
    offered = {role: browser(role) for role in ("viewer", "operator", "admin")}

    def links(role: str) -> list[bool]:
        page = offered[role].get(PAGE).content.decode()
        return [f">{words}</a>" in page for words in ("Change max_pool", "Change the weights", f"Change {PROGRAM}")]

    assert links("viewer") == [False, False, False]
    assert links("operator") == [True, True, False]
    assert links("admin") == [True, True, True]
    Cluster.objects.filter(pk=cluster.pk).update(is_observe_only=True)
    assert links("admin") == [False, False, False]


def test_the_page_hides_what_the_words_do_not_find(cluster: Cluster) -> None:
    page = browser("viewer").get(f"{PAGE}?q=prefer_lower_delay").content.decode()

    assert '<tr id="max_pool"' in page
    assert "1 of " in page
    assert page.count(" hidden>") > 100


@pytest.mark.parametrize("address", [PAGE, reverse("cluster-configuration-now", args=["acme", "orders"])])
def test_strangers_see_nothing(cluster: Cluster, address: str) -> None:
    assert browser("admin", "rival").get(address).status_code == 404
    assert script("admin", organisation="rival2").get(REST).status_code == 404
    assert script("admin", organisation="rival3").post(VALIDATE, {"parameters": {}}, format="json").status_code == 404


@pytest.mark.parametrize(
    ("parameters", "ok", "severity", "words"),
    [
        ({"delay_threshold": "1000"}, True, None, ""),
        ({"delay_threshold": -5}, False, "error", "out of range"),
        ({"delay_treshold": "1"}, False, "error", "no parameter"),
        ({"num_init_children": "40"}, True, "note", "restart"),
        ({"failover_command": "/bin/sh"}, False, "error", "admin"),
        ({"sr_check_password": "hunter\n3"}, False, "error", "no pgpool.conf can hold"),
        ({"a": [1]}, False, "error", "no text"),
        ([1], False, "error", "no object"),
        ("x" * 5000, False, "error", "no object"),
        (None, False, "error", "no object"),
        ({"backend_weight7": 1}, False, "error", "no backend 7"),
    ],
)
def test_what_new_values_would_do_is_said_beforehand(
    cluster: Cluster, parameters: Any, ok: bool, severity: str | None, words: str
) -> None:
    answer = script("viewer", scope="read").post(VALIDATE, {"parameters": parameters}, format="json")

    assert answer.status_code in {200, 400}
    if parameters is None:
        assert answer.status_code == 400
        return
    body = answer.json()
    assert body["ok"] is ok
    assert "hunter" not in str(body)
    # The name that no pgpool knows stood there before.
    own = [one for one in body["findings"] if one["parameter"] != "nonsense"]
    assert [one["severity"] for one in own] == ([severity] if severity else [])
    assert all(words in one["message"] for one in own)


def test_files_that_cannot_be_read_now_count_as_they_were_seen(cluster: Cluster) -> None:
    wish = {"parameters": {"delay_threshold": "soon"}, "base": "live"}

    body = script("operator").post(VALIDATE, wish, format="json").json()

    assert [one["parameter"] for one in body["findings"] if one["severity"] == "error"] == ["delay_threshold"]


def test_effects_say_what_brings_a_value_in(cluster: Cluster) -> None:
    wish = {"delay_threshold": "1", "max_pool": "2", "client_idle_limit": None, "nonsense": "1"}

    body = script("operator").post(VALIDATE, {"parameters": wish}, format="json").json()

    assert body["effects"] == {"delay_threshold": "reload", "max_pool": "restart", "client_idle_limit": "session"}


def test_a_finding_names_the_pgpools_it_is_about(cluster: Cluster) -> None:
    cluster.instances.filter(name="pgpool-2").update(version="4.6.1")

    body = script("operator").post(VALIDATE, {"parameters": {"log_backend_messages": "terse"}}, format="json").json()

    assert not body["ok"]
    assert body["findings"][0]["message"].startswith("pgpool-1: log_backend_messages")
