"""The page on which an admin allows load on a cluster."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.models import Cluster
from tests.benchmarks.scene import SECRET
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/benchmarks/allow/"
Browsers = Callable[..., Client]


def filled(**changes: Any) -> dict[str, Any]:
    usual = {
        "is_on": "on", "database": "bench", "username": "loader", "password": "pw-of-loader", "most_clients": 20,
        "most_duration_s": 300, "most_lag_s": "2.5", "most_failed_percent": "5", "queue": "bench-eu-1a",
    }  # fmt: skip
    return {**usual, **changes}


def test_an_admin_allows_it_for_the_first_time(cluster: Cluster, client_for: Browsers) -> None:
    BenchmarkAccess.objects.all().delete()
    admin = client_for("admin")
    assert "Orders may not be put under load." in text_of(admin.get(PAGE))

    answer = admin.post(PAGE, filled())

    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    row = BenchmarkAccess.objects.get()
    assert (row.is_on, row.database, row.username, row.password) == (True, "bench", "loader", "pw-of-loader")
    assert (row.most_clients, row.most_duration_s, row.most_lag_s, row.queue) == (20, 300, 2.5, "bench-eu-1a")
    assert row.most_failed_share == 0.05
    shown = admin.get(PAGE).content.decode()
    assert "pw-of-loader" not in shown
    assert 'value="loader"' in shown
    assert 'name="most_failed_percent" value="5.0"' in shown
    entry = AuditEntry.objects.get(action="benchmarks.access.change")
    assert "pw-of-loader" not in f"{entry.before} {entry.after}"


def test_an_empty_password_stays_and_an_empty_lag_is_not_watched(cluster: Cluster, client_for: Browsers) -> None:
    answer = client_for("admin").post(PAGE, filled(username="app", password="", most_lag_s="", is_on=""))

    assert answer.status_code == 303
    row = BenchmarkAccess.objects.get()
    assert (row.password, row.most_lag_s, row.is_on) == (SECRET, None, False)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"username": "postgres", "password": ""}, "password", "Is needed with another username"),
        ({"database": ""}, "database", "required"),
        ({"most_clients": 0}, "most_clients", "greater than or equal to 1"),
        ({"most_duration_s": 604_801}, "most_duration_s", "less than or equal to 604800"),
        ({"most_lag_s": "0"}, "most_lag_s", "0.1"),
        ({"most_failed_percent": "101"}, "most_failed_percent", "less than or equal to 100"),
        ({"queue": "poll"}, "queue", "must be bench, or bench-"),
    ],
)
def test_what_cannot_be_is_refused_beside_its_field(
    cluster: Cluster, client_for: Browsers, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = client_for("admin").post(PAGE, filled(**changes))

    assert answer.status_code == 422
    assert words in problem_beside(answer, field)
    assert "pw-of-loader" not in answer.content.decode()
    assert BenchmarkAccess.objects.get().username == "app"


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_read_it_and_change_nothing(cluster: Cluster, client_for: Browsers, role: str) -> None:
    browser = client_for(role)

    told = text_of(browser.get(PAGE))

    assert "Orders may be put under load." in told
    assert f"You have {role} access" in told
    assert SECRET not in told
    assert browser.post(PAGE, filled()).status_code == 403
    assert BenchmarkAccess.objects.get().username == "app"


def test_another_organisation_finds_no_such_page(
    cluster: Cluster, other_organisation: Organisation, client_for: Browsers
) -> None:
    stranger = client_for("admin", of=other_organisation)

    for address in (PAGE, "/o/rival/clusters/orders/benchmarks/allow/"):
        assert stranger.get(address).status_code == 404
        assert stranger.post(address, filled()).status_code == 404
    assert BenchmarkAccess.objects.get().username == "app"


def test_the_settings_of_the_cluster_and_the_list_of_runs_lead_there(cluster: Cluster, client_for: Browsers) -> None:
    viewer = client_for("viewer")

    assert PAGE in viewer.get("/o/acme/clusters/orders/settings/").content.decode()
    assert PAGE in viewer.get("/o/acme/benchmarks/").content.decode()
