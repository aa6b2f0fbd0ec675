"""Every address there is keeps strangers out: one sweep over all of them, also those that are yet to be written."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, PgpoolInstance

METHODS = ["get", "post", "put", "patch", "delete"]
FILLED = {
    "<slug:organisation>": "acme",
    "<slug:slug>": "orders",
    "<str:name>": "pgpool-1",
    "<int:pk>": "1",
    "<int:number>": "1",
    "<int:token_id>": "1",
    "<int:node_id>": "0",
    "<int:operation_id>": "1",
}


def addresses(prefix: str) -> list[str]:
    """Every address below a prefix, its parameters filled in."""
    found = []
    for route in _routes("", get_resolver().url_patterns):
        if route.startswith(prefix):
            for parameter, value in FILLED.items():
                route = route.replace(parameter, value)
            assert "<" not in route, f"say in FILLED what to put into {route}"
            found.append(f"/{route}")
    return found


def _routes(before: str, patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from _routes(before + str(each.pattern), each.url_patterns)
        else:
            yield before + str(each.pattern)


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    made = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="lifeguard", password="s3cret"
    )
    PgpoolInstance.objects.create(cluster=made, name="pgpool-1", host="127.0.0.1", port=1)
    return made


def test_pages_send_strangers_to_sign_in(cluster):
    pages = addresses("o/<slug:organisation>/")

    assert len(pages) >= 8
    for address in pages:
        for method in ("get", "post"):
            answer = getattr(Client(), method)(address)
            assert answer.status_code in {302, 405}, (method, address)
            if answer.status_code == 302:
                assert answer["Location"].startswith("/accounts/login/?next="), (method, address)


def test_a_page_takes_no_method_that_it_does_not_know(cluster, client_for):
    browser = client_for("admin")

    for address in ["/", "/healthz", "/readyz", *addresses("o/<slug:organisation>/")]:
        for method in ("put", "patch", "delete"):
            assert getattr(browser, method)(address).status_code == 405, (method, address)
    assert Cluster.objects.filter(pk=cluster.pk).exists()


def test_what_only_shows_something_takes_no_form(cluster, client_for):
    browser = client_for("admin")
    forms = ("register/", "weights/", "rollback/", "cancel/", "create/", "revoke/", "remove/", "name/", "places/")
    forms += ("credentials/", "pgpools/", "test/", "pgpool/", "preview/", "pgpools/1/", "pause/", "resume/")
    forms += ("stop/", "allow/", "observe/", "import/", "survey/", "adopt/", "revert/", "each/")
    forms += ("forget/", "apply/", "dismiss/", "give/")
    forms += ("restarts/start/", "benchmarks/new/", "comparisons/new/", "campaigns/new/", "outlook/", "begin/")
    forms += ("benchmarks/endpoints/", "endpoints/1/", "try/", "benchmarks/imports/", "comparisons/pick/")
    forms += ("attach/", "detach/", "drain/", "go-on/", "clusters/orders/cache/")
    forms += ("draft/parameter/", "draft/drop/", "discard/", "roll-out/", "looked-at/", "functions/draft/", "redraft/")

    shown = [address for address in addresses("o/<slug:organisation>/") if not address.endswith(forms)]
    assert len(shown) >= 12
    for address in shown:
        assert browser.post(address).status_code == 405, address


def test_pages_are_not_there_for_another_organisation(cluster, other_organisation, client_for):
    browser = client_for("admin", of=other_organisation)

    for address in addresses("o/<slug:organisation>/"):
        for method in ("get", "post"):
            answer = getattr(browser, method)(address)
            assert answer.status_code in {404, 405}, (method, address)
    cluster.refresh_from_db()


def test_the_interface_answers_nobody_who_is_not_signed_in(cluster):
    for address in addresses("api/v1/"):
        if address == "/api/v1/schema/":
            continue
        for method in METHODS:
            answer = getattr(APIClient(), method)(address)
            assert answer.status_code == 401, (method, address)
            assert answer["Content-Type"] == "application/problem+json", (method, address)


def test_the_interface_shows_nothing_of_another_organisation(cluster, other_organisation, api_client):
    script = api_client("admin", of=other_organisation)
    of_one = [address for address in addresses("api/v1/") if "/orders/" in address or "/rollouts/" in address]

    assert len(of_one) >= 8
    for address in of_one:
        for method in METHODS:
            answer = getattr(script, method)(address, {} if method != "get" else None, format="json")
            # A body that is odd may be refused before the cluster is looked for.
            assert answer.status_code in {400, 404, 405}, (method, address, answer.content)
            assert b"s3cret" not in answer.content
    cluster.refresh_from_db()


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_a_read_token_writes_nothing(cluster, api_client, role):
    script = api_client(role, scope="read")

    for address in addresses("api/v1/clusters/"):
        for method in ("put", "patch", "delete"):
            answer = getattr(script, method)(address, {}, format="json")
            assert answer.status_code in {403, 405}, (method, address, answer.content)
    cluster.refresh_from_db()


def test_a_password_is_never_shown(cluster, api_client, client_for):
    script, browser = api_client("admin"), client_for("admin")

    for address in addresses("api/v1/clusters/"):
        assert b"s3cret" not in script.get(address).content, address
    for address in addresses("o/<slug:organisation>/clusters/"):
        assert b"s3cret" not in browser.get(address).content, address
