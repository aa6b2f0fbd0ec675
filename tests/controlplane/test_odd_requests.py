"""Addresses and figures that nobody means: refused in words or taken for nothing, never a failure of Lifeguard."""

import sys
from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster
from tests.clusters.seen_cluster import poll, register
from tests.controlplane.test_every_address import METHODS, addresses

pytestmark = pytest.mark.django_db

# More digits than Python turns into a number at once.
ENDLESS = "9" * 5000
BEYOND_BIGINT = "9" * 30
# What JSON, an address or a form can say, and no database keeps.
HALF_A_CHARACTER = r"\ud800"
BROKEN_IN_ADDRESSES = ["%ED%A0%80", "%00", "%ff"]
QUERY = [
    "action",
    "at",
    "before",
    "end",
    "instance",
    "lag",
    "limit",
    "metric",
    "organisation",
    "points",
    "q",
    "start",
    "target",
]
QUERY += ["view", "weight_0", "window", "window_s"]
FORM = [
    "az",
    "base",
    "delivery_path",
    "do",
    "host",
    "instance",
    "life_days",
    "name",
    "note",
    "password",
    "pcp_user",
    "port",
]
FORM += [
    "instance",
    "scope",
    "slug",
    "sslmode",
    "username",
    "weight_0",
    "weight_1",
    "weight_2",
    "pgpools-0-host",
    "confirm",
]


@pytest.fixture
def orders(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("series/?metric=probe_ms&end=0001-01-01T00:30:00Z", "end"),
        ("series/?metric=probe_ms&start=9999-12-31T23:59:59-10:00", "start"),
        ("series/?metric=probe_ms&start=nan", "start"),
        ("series/?metric=probe_ms&start=2026-11-21T14:30:00", "start"),
        ("series/?metric=%00", "metric"),
        ("series/", "metric"),
        ("series/?metric=probe_ms&start=2026-11-21T14:30:00Z&end=2026-11-21T14:30:00Z", "start"),
        ("series/?metric=probe_ms&start=2026-11-21T14:30:00Z&end=2026-11-21T13:30:00Z", "start"),
        ("series/?metric=probe_ms&start=2026-01-01T00:00:00Z&end=2026-02-02T00:00:00Z", "start"),
        ("series/?metric=probe_ms&start=2095-01-01T00:00:00Z&end=2095-01-02T00:00:00Z", "start"),
        ("series/?metric=probe_ms&start=1795000000000", "start"),  # milliseconds
        ("series/?metric=probe_ms&points=0", "points"),
        ("series/?metric=probe_ms&points=1", "points"),
        ("series/?metric=probe_ms&points=1000000000", "points"),
        ("series/?metric=probe_ms&points=12.5", "points"),
        ("distribution/?window_s=0000000000000000300999", "window_s"),
        (f"events/?before={ENDLESS}", "before"),
        (f"revisions/?before={BEYOND_BIGINT}", "before"),
    ],
)
def test_an_odd_parameter_is_refused_by_name(
    api_client: Callable[..., APIClient], orders: Cluster, address: str, field: str
) -> None:
    answer = api_client("viewer").get(f"/api/v1/clusters/{orders.slug}/{address}")

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert len(answer.json()["detail"]) < 300


@pytest.mark.parametrize(
    "address",
    [
        "clusters/?organisation=%00",
        "clusters/orders/pgpools/%00/",
        f"rollouts/{BEYOND_BIGINT}/",
        f"rollouts/{ENDLESS}/",
        f"tokens/{BEYOND_BIGINT}/",
    ],
)
def test_what_cannot_be_is_not_there(api_client: Callable[..., APIClient], orders: Cluster, address: str) -> None:
    ask = api_client("admin").delete if "pgpools" in address else api_client("admin").get

    assert ask(f"/api/v1/{address}").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"weights": {"0": 0, ENDLESS: 1}}, "weights"),
        ({"select_counts": {"0": 0, ENDLESS: 100}}, f"select_counts.{ENDLESS[:40]}"),
        ({"select_counts": {"0": 1, "00": 5, "1": 100}}, "select_counts.00"),
        ({"sessions": "nan"}, "sessions"),
    ],
)
def test_odd_figures_are_refused_by_name(
    api_client: Callable[..., APIClient], body: dict[str, object], field: str
) -> None:
    whole = {"weights": {"0": 0, "1": 1}, "select_counts": {"0": 0, "1": 100}, "sessions": 10}

    answer = api_client("viewer").post("/api/v1/calculators/routing-verdict/", whole | body)

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]


@pytest.mark.parametrize(
    "address",
    [
        f"rollouts/?before={ENDLESS}",
        f"clusters/orders/events/?before={BEYOND_BIGINT}",
        f"clusters/orders/?window={ENDLESS}",
        f"clusters/orders/weights/?weight_{ENDLESS}=1",
        "settings/audit/?action=%00",
        "?view=%00",
    ],
)
def test_a_page_takes_an_odd_parameter_for_none(
    client_for: Callable[..., Client], orders: Cluster, address: str
) -> None:
    assert client_for("admin").get(f"/o/acme/{address}").status_code == 200


def test_a_page_of_the_audit_trail_that_no_page_named_is_not_there(client_for: Callable[..., Client]) -> None:
    assert client_for("admin").get(f"/o/acme/settings/audit/?before={ENDLESS}").status_code == 404


@pytest.mark.parametrize(
    ("door", "body", "field"),
    [
        ("put clusters/orders/weights/", r'{"\ud800": 1}', r"\ud800"),
        ("put clusters/orders/weights/", r'{"weights": {"\ud800": 1}}', r"weights.\ud800"),
        ("put clusters/orders/weights/", r'{"weights": {"0": "a\udfff"}}', "weights.0"),
        ("put clusters/orders/weights/", r'{"per_instance": {"\ud800": {"0": 1}}}', r"per_instance.\ud800"),
        ("put clusters/orders/weights/", r'{"base": "\ud800"}', "base"),
        ("put clusters/orders/weights/", r'{"weights": {"0": 1}, "note": "a\u0000b"}', "note"),
        ("post calculators/routing-verdict/", r'{"select_counts": {"\ud800": 1}}', r"select_counts.\ud800"),
        ("post clusters/", r'{"pgpools": [{"host": "a"}, {"host": "\ud800"}]}', "pgpools.1.host"),
        ("post clusters/", r'{"a\u0000": 1}', r"a\u0000"),
        ("post clusters/", r'"\ud800"', "body"),
    ],
)
def test_a_text_that_no_database_keeps_is_refused_by_its_field(
    api_client: Callable[..., APIClient], orders: Cluster, door: str, body: str, field: str
) -> None:
    method, address = door.split()

    answer = api_client("admin").generic(method, f"/api/v1/{address}", body, content_type="application/json")

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_both_halves_of_a_character_are_one(api_client: Callable[..., APIClient], orders: Cluster) -> None:
    body = r'{"name": "Orders \ud83d\udc18"}'

    answer = api_client("admin").generic("PATCH", "/api/v1/clusters/orders/", body, content_type="application/json")

    assert (answer.status_code, answer.json()["name"]) == (200, "Orders \N{ELEPHANT}")


def test_no_door_fails_on_half_a_character(api_client: Callable[..., APIClient], orders: Cluster) -> None:
    script, body = api_client("admin"), f'{{"{HALF_A_CHARACTER}": "{HALF_A_CHARACTER}"}}'

    for address in addresses("api/v1/"):
        for method in METHODS[1:]:
            answer = script.generic(method, address, body, content_type="application/json")
            assert answer.status_code < 500, (method, address)


@pytest.mark.parametrize("broken", BROKEN_IN_ADDRESSES)
def test_no_address_fails_on_what_is_no_text(
    api_client: Callable[..., APIClient], client_for: Callable[..., Client], orders: Cluster, broken: str
) -> None:
    query = "&".join(f"{name}={broken}" for name in QUERY)
    askers = {"api/v1/": api_client("admin"), "o/<slug:organisation>/": client_for("admin")}

    for prefix, asker in askers.items():
        for address in addresses(prefix):
            assert asker.get(f"{address}?{query}").status_code < 500, address
            for word in ("orders", "pgpool-1", "acme"):
                odd = address.replace(f"/{word}/", f"/{broken}/")
                assert odd == address or asker.get(odd).status_code in {404, 405}, odd


@pytest.mark.parametrize("broken", BROKEN_IN_ADDRESSES)
def test_no_form_fails_on_what_is_no_text(client_for: Callable[..., Client], orders: Cluster, broken: str) -> None:
    browser, form = client_for("admin"), "&".join(f"{name}={broken}" for name in FORM)

    for address in addresses("o/<slug:organisation>/"):
        answer = browser.post(address, form, content_type="application/x-www-form-urlencoded")
        assert answer.status_code < 500, address


def test_a_body_at_the_very_limit_of_what_can_be_read_is_refused(
    orders: Cluster, api_client: Callable[..., APIClient]
) -> None:
    """Some frames below the limit it could be read, and its refusal could not be put into words any more."""
    script = api_client("admin")
    limit = sys.getrecursionlimit()

    for depth in range(limit - 120, limit - 80):
        body = f'{{"weights": {"[" * depth}{"]" * depth}}}'
        answer = script.put(f"/api/v1/clusters/{orders.slug}/weights/", body, content_type="application/json")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), depth
