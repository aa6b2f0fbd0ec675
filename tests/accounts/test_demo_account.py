"""The demo's people: made once, found again, mended when something is gone."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts import tokens
from apps.accounts.demo import TOKEN_LIFETIME, DemoAccount, ensure_demo
from apps.accounts.models import ApiToken, Membership, Organisation

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def demo(*, password: str = "correct horse battery", known_token: str = "", now: datetime = NOW) -> DemoAccount:
    return ensure_demo(
        organisation="demo", email="demo@lifeguard.example", password=password, known_token=known_token, now=now
    )


def test_the_administrator_can_sign_in_with_the_password() -> None:
    account = demo()

    assert Client().login(email="demo@lifeguard.example", password="correct horse battery")
    assert Membership.objects.get(user=account.user).role == "admin"


def test_asking_again_changes_nothing_while_the_token_is_good() -> None:
    first = demo()

    second = demo(known_token=first.api_token, now=NOW + timedelta(days=30))

    assert second.api_token == first.api_token
    assert second.user == first.user
    assert (Organisation.objects.count(), ApiToken.objects.count()) == (1, 1)


@pytest.mark.parametrize("fate", ["lost", "revoked", "expired"])
def test_a_token_that_is_not_good_any_more_is_replaced(fate: str) -> None:
    first = demo()
    row = ApiToken.objects.get()
    if fate == "revoked":
        ApiToken.objects.update(revoked_at=NOW)
    later = NOW + TOKEN_LIFETIME + timedelta(days=1) if fate == "expired" else NOW

    second = demo(known_token="" if fate == "lost" else first.api_token, now=later)

    assert second.api_token != first.api_token
    good = ApiToken.objects.get(revoked_at=None)
    assert good.digest == tokens.digest(second.api_token)
    assert good.pk != row.pk


def test_a_changed_password_counts_from_then_on() -> None:
    demo()

    demo(password="another horse battery")

    assert not Client().login(email="demo@lifeguard.example", password="correct horse battery")
    assert Client().login(email="demo@lifeguard.example", password="another horse battery")


def test_the_command_takes_and_gives_json_and_its_link_leads_in(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    wanted = {"organisation": "demo", "email": "demo@lifeguard.example", "password": "correct horse", "api_token": ""}
    monkeypatch.setattr("sys.stdin", StringIO(json.dumps(wanted)))
    printed = StringIO()

    call_command("create_demo", stdout=printed)

    answer = json.loads(printed.getvalue())
    assert answer["api_token"].startswith(tokens.PREFIX)
    assert client.post(answer["sign_in_path"]).status_code == 303
    assert "_auth_user_id" in client.session
