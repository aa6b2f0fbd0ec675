"""What a signed-in person is answered stays in no cache; what anybody may have keeps its own rules."""

from collections.abc import Callable

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import Organisation

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/", 302),
        ("/o/acme/", 200),
        ("/o/acme/clusters/nowhere/", 404),
        ("/o/rival/", 404),
        ("/api/v1/clusters/", 200),
        ("/api/v1/clusters/nowhere/", 404),
    ],
)
def test_a_signed_in_person_is_answered_past_every_cache(
    client_for: Callable[..., Client], address: str, status: int
) -> None:
    answer = client_for("viewer").get(address)

    assert answer.status_code == status
    assert answer["Cache-Control"] == "private, no-store"


def test_a_token_is_answered_past_every_cache(api_client: Callable[..., APIClient]) -> None:
    assert api_client("viewer").get("/api/v1/clusters/")["Cache-Control"] == "private, no-store"


def test_the_page_to_sign_in_is_not_kept_either(organisation: Organisation) -> None:
    answer = Client().get("/accounts/login/")

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


def test_who_is_not_signed_in_gets_nothing_that_would_have_to_be_hidden() -> None:
    answer = Client().get("/healthz")

    assert answer.status_code == 200
    assert not answer.has_header("Cache-Control")


def test_files_of_the_front_end_keep_their_own_rules(client_for: Callable[..., Client]) -> None:
    assert finders.find("manifest.json"), "the front end is built"

    answer = client_for("viewer").get("/static/manifest.json")

    assert answer.status_code == 200
    assert "no-store" not in answer["Cache-Control"]
