"""Pages of endpoints: registered, tried, changed and removed by hand."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client

from apps.benchmarks.models import BenchmarkAccess, BenchmarkCampaign, BenchmarkEndpoint
from apps.clusters.models import Cluster
from tests.benchmarks.other_database import leading_to
from tests.benchmarks.scene import made_run
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/benchmarks/endpoints/"
ALLOW = "/o/acme/clusters/orders/benchmarks/allow/"
Browsers = Callable[..., Client]


def filled(**changes: Any) -> dict[str, Any]:
    usual = {"name": "bouncer-1", "host": "127.0.0.1", "port": 6432, "kind": "pooler", "takes_writes": "on"}
    return {**usual, **changes}


def added(cluster: Cluster, **changes: Any) -> BenchmarkEndpoint:
    facts = {"name": "bouncer-1", "host": "127.0.0.1", "port": 6432, **changes}
    return BenchmarkEndpoint.objects.create(cluster=cluster, **facts)


def said(answer: Any) -> str:
    return " ".join(str(one) for one in get_messages(answer.wsgi_request))


def test_one_is_registered_and_offered_to_whoever_starts_something(cluster: Cluster, client_for: Browsers) -> None:
    admin = client_for("admin")
    empty = text_of(admin.get(PAGE))
    assert "No endpoint before Orders yet." in empty
    assert "where these are not those of Orders, the run is refused, and a router’s are told with it." in empty

    answer = admin.post(PAGE, filled(name="PgBouncer on bouncer-1", most_sessions=50))

    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    row = BenchmarkEndpoint.objects.get()
    assert (row.name, row.most_sessions, row.takes_writes, row.stands_before_pgpools) == (
        "PgBouncer on bouncer-1", 50, True, False,
    )  # fmt: skip
    told = text_of(admin.get(PAGE))
    assert "1 endpoint before Orders." in told
    assert "PgBouncer on bouncer-1" in told
    assert "1 endpoint" in text_of(admin.get(ALLOW))
    for form in ("new/", "comparisons/new/", "campaigns/new/"):
        shown = text_of(admin.get(f"/o/acme/benchmarks/{form}?cluster=orders"))
        assert "Endpoint PgBouncer on bouncer-1 (pooler, 127.0.0.1:6432) at most 50 clients" in shown, form


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "pgpool-1"}, "name", "is a server of Orders already"),
        ({"host": "/tmp"}, "host", "Must be one name or address"),
        ({"host": "169.254.169.254"}, "host", "never contacted"),
        ({"port": 9001}, "host", "pgpool-1"),
        ({"port": 70000}, "port", "65535"),
        ({"most_sessions": 0}, "most_sessions", "1"),
    ],
)
def test_what_cannot_be_is_marked_where_it_was_typed(
    cluster: Cluster, client_for: Browsers, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = client_for("admin").post(PAGE, filled(**changes))

    assert answer.status_code == 422
    assert words in problem_beside(answer, field)
    assert not BenchmarkEndpoint.objects.exists()


def test_it_is_changed_under_its_name(cluster: Cluster, client_for: Browsers) -> None:
    address = f"{PAGE}{added(cluster).pk}/"
    admin = client_for("admin")
    shown = admin.get(address).content.decode()
    assert 'value="6432"' in shown

    refused = admin.post(address, filled(host="0.0.0.0"))  # noqa: S104
    answer = admin.post(address, filled(port=6433, takes_writes=""))

    assert (refused.status_code, answer.status_code) == (422, 303)
    row = BenchmarkEndpoint.objects.get()
    assert (row.name, row.host, row.port, row.takes_writes) == ("bouncer-1", "127.0.0.1", 6433, False)
    assert "reads only" in text_of(admin.get(PAGE))


def test_removing_says_first_what_waits_for_it(cluster: Cluster, client_for: Browsers) -> None:
    address = f"{PAGE}{added(cluster).pk}/remove/"
    admin = client_for("admin")
    assert "will fail" not in text_of(admin.get(address))
    made_run(cluster, topology="endpoint:bouncer-1")
    BenchmarkCampaign.objects.create(
        cluster=cluster, name="nightly", arms=[{"topology": "endpoint:bouncer-1"}, {"topology": "primary"}],
        repetitions=2, cron="0 2 * * *", window_min=60, budget_min=60, requested_by_name="Ann",
    )  # fmt: skip

    asked = text_of(admin.get(address))
    answer = admin.post(address)

    assert "1 run that waits for it will fail, and says why." in asked
    assert "Rounds of nightly will fail" in asked
    assert answer.status_code == 303
    assert not BenchmarkEndpoint.objects.exists()
    assert "through bouncer-1" in text_of(admin.get("/o/acme/benchmarks/"))
    assert admin.get(address).status_code == 404


def test_trying_says_what_is_there_or_why_nothing_and_what_mends_it(cluster: Cluster, client_for: Browsers) -> None:
    place = connection.settings_dict
    BenchmarkAccess.objects.update(username=place["USER"], password=place["PASSWORD"], database=place["NAME"])
    there = added(cluster, host=place["HOST"], port=place["PORT"])
    nobody = added(cluster, name="nobody", port=1)
    operator = client_for("operator")

    unknown = said(operator.post(f"{PAGE}{there.pk}/try/"))
    cluster.backends.filter(node_id=0).update(hostname=place["HOST"], port=place["PORT"])
    answers = [operator.post(f"{PAGE}{one.pk}/try/") for one in (there, nobody)]
    behind = added(cluster, name="behind", host=place["HOST"], port=place["PORT"], stands_before_pgpools=True)
    sent_anywhere = said(operator.post(f"{PAGE}{behind.pk}/try/"))
    with leading_to("postgres") as port:
        wrong, router = (added(cluster, name=kind, port=port, kind=kind) for kind in ("pooler", "router"))
        pooler_said, both_said = [said(operator.post(f"{PAGE}{one.pk}/try/")) for one in (wrong, router)]
    BenchmarkAccess.objects.update(is_on=False)
    not_allowed = operator.post(f"{PAGE}{there.pk}/try/")

    assert [one.status_code for one in (*answers, not_allowed)] == [303, 303, 303]
    assert "bouncer-1 let a session in within" in said(answers[0])
    assert said(answers[0]).endswith(", the primary.")
    assert "behind let a session in within" in sent_anywhere
    assert ", the primary" not in sent_anywhere.partition("behind let a session in within")[2]
    assert "Nobody knows whether it leads to the servers of Orders: 127.0.0.1:5000: " in unknown
    # What was said stays until a page shows it.
    assert [one.count("leads to another database: postgres at ") for one in (pooler_said, both_said)] == [1, 2]
    assert [one.count("Runs through it are refused") for one in (pooler_said, both_said)] == [1, 1]
    assert "nobody gave no session." in said(answers[1])
    assert "may not be put under load" in said(not_allowed)
    assert "Try it" not in text_of(operator.get(PAGE))


def test_who_may_not_change_them_reads_them(cluster: Cluster, client_for: Browsers) -> None:
    pk = added(cluster).pk
    viewer, operator = client_for("viewer"), client_for("operator")

    shown = viewer.get(PAGE)

    assert "bouncer-1" in text_of(shown)
    assert "Register it" not in text_of(shown)
    assert "Try it" not in text_of(shown)
    assert "Try it" in text_of(operator.get(PAGE))
    refused = [
        operator.post(PAGE, filled(name="b")), operator.get(f"{PAGE}{pk}/"), operator.post(f"{PAGE}{pk}/", filled()),
        operator.post(f"{PAGE}{pk}/remove/"), viewer.post(f"{PAGE}{pk}/try/"),
    ]  # fmt: skip
    assert [one.status_code for one in refused] == [403] * 5
    assert BenchmarkEndpoint.objects.get().port == 6432
